"""How far BLEU and chrF move by chance when a few translations change, as they do in int8.

    python benchmarks/chance_in_scores.py MODEL SOURCE REFERENCE [--noise 1,2,3] [--draws 20]

Every weight is moved by a uniform draw from half a step of int8 below it to half a step above,
times the noise. This is the error of rounding to that step, but it differs in each draw, so no draw
is better than another. Everything else is float32. Prints how many translations change. Compared
with the unmoved weights, it also prints mean and standard deviation of the differences of scores,
and how often both scores are within 0.1.
"""

import argparse
import copy
import dataclasses
import statistics
from pathlib import Path

import torch
from torch import nn

import headway
from headway.bundle import Bundle, load_bundle
from headway.decoding.options import SearchOptions
from headway.evaluation.metrics import score_texts

_LEVELS = 127  # steps from 0 to the largest weight of an output
_CLOSE = 0.1


def moved(bundle: Bundle, noise: float, seed: int) -> Bundle:
    """Return the bundle with all matrices of its model moved by this draw."""
    generator = torch.Generator().manual_seed(seed)
    model = copy.deepcopy(bundle.model)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                step = layer.weight.abs().amax(dim=1, keepdim=True) / _LEVELS
                draw = torch.rand(layer.weight.shape, generator=generator) - 0.5
                layer.weight += noise * step * draw
    return dataclasses.replace(bundle, model=model)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--noise", default="1,2,3")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--tokenize", default="13a")
    parser.add_argument("--beam", default="1,4")
    parser.add_argument("--length-penalty", type=float, default=0.0)
    arguments = parser.parse_args()
    sources, references = (
        path.read_text(encoding="utf-8").splitlines()
        for path in (arguments.source, arguments.reference)
    )
    bundle = load_bundle(arguments.model)
    for beam in map(int, arguments.beam.split(",")):
        options = SearchOptions(beam, length_penalty=arguments.length_penalty)

        def run(bundle: Bundle, options: SearchOptions = options) -> tuple[list[str], list[float]]:
            translations = headway.Translator(bundle).translate(sources, options=options)
            texts = [translation.text for translation in translations]
            scores = score_texts(texts, references, ("bleu", "chrf"), arguments.tokenize)
            return texts, [score.value for score in scores]

        texts, scores = run(bundle)
        print(f"beam {beam}: BLEU {scores[0]:.2f}, chrF {scores[1]:.2f}", flush=True)
        for noise in map(float, arguments.noise.split(",")):
            changed, differences = [], []
            for seed in range(arguments.draws):
                moved_texts, moved_scores = run(moved(bundle, noise, seed))
                changed.append(sum(a != b for a, b in zip(texts, moved_texts, strict=True)))
                differences.append([b - a for a, b in zip(scores, moved_scores, strict=True)])
            close = sum(max(map(abs, draw)) <= _CLOSE for draw in differences)
            line = f"  noise {noise:g}: {statistics.mean(changed):.1f} changed"
            for name, values in zip(("BLEU", "chrF"), zip(*differences, strict=True), strict=True):
                mean, spread = statistics.mean(values), statistics.stdev(values)
                line += f"; {name} {mean:+.3f}, deviation {spread:.3f}"
            print(f"{line}; both within {_CLOSE}: {close} of {arguments.draws}", flush=True)


if __name__ == "__main__":
    main()
