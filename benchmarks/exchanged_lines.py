"""How many exchanged lines of parallel text are named, and how many others are.

    python benchmarks/exchanged_lines.py train.en train.de --pairs 20000 --share 0.02

Lines are chosen by chance and their sides exchanged. Pairs whose sides have the same letters do not
count: exchanged or not, they are the same.
"""

import argparse
import random
import time

import numpy as np

from headway.data.corpus import Pair, read_parallel
from headway.data.two_languages import TwoLanguages


def main() -> None:
    """Print the figures of one text."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--share", type=float, default=0.02)
    options = parser.parse_args()
    pairs = read_parallel(options.source, options.target)[: options.pairs]
    chosen = random.Random(5).sample(range(len(pairs)), int(options.share * len(pairs)))
    for row in chosen:
        pairs[row] = Pair(pairs[row].target, pairs[row].source)
    differ = np.array([_letters(source) != _letters(target) for source, target in pairs])
    planted = np.zeros(len(pairs), dtype=bool)
    planted[chosen] = True

    start = time.process_time()
    languages = TwoLanguages.of(pairs)
    if languages is None:
        print("The sides are not two languages.")
        return
    judged = languages.judge(pairs)
    seconds = time.process_time() - start

    named, wrong = judged.exchanged, judged.wrong(0) | judged.wrong(1)
    exchanged = planted & differ
    print(f"{len(pairs):,} pairs, {exchanged.sum():,} exchanged, {seconds:.1f} s of one core")
    if exchanged.any():
        print(
            f"named: {named[exchanged].mean():.2%}; as one wrong side {wrong[exchanged].mean():.2%}"
        )
    print(f"others named exchanged: {(named & ~planted).mean():.3%} of all lines")
    print(f"others named as one wrong side: {(wrong & ~planted).mean():.3%}")


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.casefold()))


if __name__ == "__main__":
    main()
