"""Translate a file with a model's shortlist and without it, in turns.

    python benchmarks/shortlist_speed.py MODEL FILE [--sentences N] [--threads 1] [--rounds 5]

Prints target pieces of each in a second of processor time, which other work hardly changes, for
greedy search and a beam of 4, a sentence at a time and in batches, in the precisions named.
"""

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch

import headway
from headway.decoding.options import SearchOptions
from headway.decoding.translator import Translator


def rate(translator: Translator, lines: list[str], options: SearchOptions, alone: bool) -> float:
    """Return target pieces in a second of processor time; the end symbol is a piece."""
    started = time.process_time()
    if alone:
        found = [translator.translate(line, options=options) for line in lines]
    else:
        found = translator.translate(lines, options=options)
    return sum(len(t.pieces) + 1 for t in found) / (time.process_time() - started)


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
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    lines = given.file.read_text(encoding="utf-8").split("\n")[: given.sentences]
    for precision in given.precision.split(","):
        translator = headway.load(given.model, "cpu", precision=precision)
        for beam in (1, 4):
            for alone in (True, False):
                options = SearchOptions(beam, max_length=given.max_length)
                text = lines[: given.alone] if alone else lines
                rates: dict[bool, list[float]] = {False: [], True: []}
                for turn in range(given.rounds + 1):
                    for restricted, found in rates.items():
                        own = replace(options, shortlist=restricted)
                        found.append(rate(translator, text, own, alone))
                        if not turn:
                            found.clear()  # the first turn compiles and warms up
                without, within = (statistics.median(rates[key]) for key in (False, True))
                print(
                    f"{precision:<9} beam {beam} {'alone' if alone else 'batch'}: "
                    f"{without:8,.0f} without, {within:8,.0f} with ({within / without:.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
