"""Compare a bundle in Keras with the same bundle in PyTorch, on real sentences.

    KERAS_BACKEND=jax python benchmarks/keras_equality.py runs/demo \
        runs/demo-text/test_unseen.ko runs/demo-text/test_unseen.en

It prints the largest difference of the logits at real target positions, how many greedy
translations are the same, and whether the weights that come back are the same bytes and translate
to the same text.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch

import headway
from headway.bundle import Bundle, load_bundle
from headway.data.batching import collate
from headway.data.cleaning import EncodedPair
from headway.data.corpus import read_pairs
from headway.interop.keras import from_bundle, greedy_decode, to_bundle
from headway.interop.keras.backend import keras
from headway.saved_bundle import find_bundle

BATCH = 50


def compare_forward(
    bundle: Bundle, model: keras.Model, pairs: list[EncodedPair]
) -> tuple[float, int]:
    """Return the largest difference of logits, and how many greedy translations are the same."""
    translator = headway.Translator(bundle)
    extra = bundle.decoding.max_extra_pieces
    largest, same = 0.0, 0
    pairs = sorted(pairs, key=lambda pair: len(pair.source_ids))
    for start in range(0, len(pairs), BATCH):
        group = pairs[start : start + BATCH]
        batch = collate(group)
        source, target = batch.source_ids.numpy(), batch.target_ids.numpy()
        with torch.inference_mode():
            ours = bundle.model(batch.source_ids, batch.target_ids).numpy()
        theirs = np.asarray(model.predict_on_batch([source, target]))
        largest = max(largest, float(abs(ours - theirs)[target != bundle.config.pad_id].max()))
        limits = [len(pair.source_ids) + extra for pair in group]
        decoded = greedy_decode(model, source, limits)
        expected = translator.translate(
            [bundle.source_tokenizer.decode(pair.source_ids) for pair in group], beam_size=1
        )
        same += sum(
            tuple(bundle.target_tokenizer.pieces(ids)) == translation.pieces
            for ids, translation in zip(decoded, expected, strict=True)
        )
    return largest, same


def compare_back(path: Path, model: keras.Model, sources: list[str]) -> tuple[bool, bool]:
    """Return True, True if the weights that come back are the same bytes and translate the same."""
    with tempfile.TemporaryDirectory() as place:
        back = Path(place) / "back"
        to_bundle(model, back)
        files = (folder / "model.safetensors" for folder in (find_bundle(path), back))
        byte_identical = len({file.read_bytes() for file in files}) == 1
        texts = [
            [translation.text for translation in headway.load(bundle).translate(sources)]
            for bundle in (path, back)
        ]
    return byte_identical, texts[0] == texts[1]


def main() -> None:
    """Read the arguments, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args()

    bundle = load_bundle(arguments.bundle)
    texts = read_pairs(arguments.source, arguments.target)[: arguments.sentences]
    pairs = [
        EncodedPair(
            bundle.source_tokenizer.encode(text.source),
            bundle.target_tokenizer.encode(text.target),
            line,
        )
        for line, text in enumerate(texts, start=1)
    ]
    model = from_bundle(bundle)
    largest, same = compare_forward(bundle, model, pairs)
    byte_identical, same_text = compare_back(arguments.bundle, model, [t.source for t in texts])

    print(
        json.dumps(
            {
                "backend": keras.backend.backend(),
                "sentences": len(pairs),
                "largest_difference": largest,
                "same_greedy_translations": same,
                "byte_identical": byte_identical,
                "same_text": same_text,
            }
        )
    )


if __name__ == "__main__":
    main()
