"""Translate a file with a model's shortlist and without it, in turns.

    python benchmarks/shortlist_speed.py MODEL FILE [--sentences N] [--threads 1] [--rounds 5]

Prints target pieces in a second of processor time, which other programs hardly change, for greedy
search and a beam of 4, one sentence at a time and in batches, in each precision.
"""

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch

import headway
from headway.decoding.options import SearchOptions


def rate(
    translator: headway.Translator, lines: list[str], options: SearchOptions, alone: bool
) -> float:
    """Return target pieces in a second of processor time; the end symbol is a piece."""
    started = time.process_time()
    if alone:
        translations = [translator.translate(line, options=options) for line in lines]
    else:
        translations = translator.translate(lines, options=options)
    return sum(len(t.pieces) + 1 for t in translations) / (time.process_time() - started)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=50, help="sentences one at a time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--max-length", type=int, help="for models that do not end by themselves")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    lines = arguments.file.read_text(encoding="utf-8").split("\n")[: arguments.sentences]
    for precision in arguments.precision.split(","):
        translator = headway.load(arguments.model, "cpu", precision=precision)
        for beam in (1, 4):
            for alone in (True, False):
                options = SearchOptions(beam, max_length=arguments.max_length)
                text = lines[: arguments.alone] if alone else lines
                rates: dict[bool, list[float]] = {False: [], True: []}
                for turn in range(arguments.rounds + 1):
                    for restricted, measured in rates.items():
                        restricted_options = replace(options, shortlist=restricted)
                        measured.append(rate(translator, text, restricted_options, alone))
                        if not turn:
                            measured.clear()  # the first turn compiles and warms up
                without, within = (statistics.median(rates[key]) for key in (False, True))
                print(
                    f"{precision:<9} beam {beam} {'alone' if alone else 'batch'}: "
                    f"{without:8,.0f} without, {within:8,.0f} with ({within / without:.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
