"""Text of two sides that goes together by its lengths alone."""

import random

from headway.data.corpus import Pair


def sentences(count: int, seed: int = 0) -> list[Pair]:
    """Return pairs of very different lengths, the target about as long as the source."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        words = rng.randint(2, 30)
        target = max(1, words + rng.randint(-2, 2))
        pairs.append(Pair(" ".join(["wort"] * words) + f" {number}", "word " * target))
    return pairs
