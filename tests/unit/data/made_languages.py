"""Two languages in Latin letters, made up of syllables, and sentences of both."""

import random

from headway.data.corpus import Pair

NAMES = ["Zofia", "Brandt 12", "Rufino", "GNU", "O'Hara", "Mx-7"]
_ONSETS = (
    ("br", "sch", "t", "n", "w", "st", "h", "g", "k"),
    ("l", "qu", "t", "n", "c", "p", "d", "m"),
)
_ENDS = ("en", "ung", "er", "ig", "est", "au"), ("o", "ione", "are", "a", "ito", "esa")


def _words(language: int) -> list[str]:
    rng = random.Random(40 + language)
    words: dict[str, None] = {}
    while len(words) < 90:
        onset, end = rng.choice(_ONSETS[language]), rng.choice(_ENDS[language])
        words[onset + rng.choice("aeiou") * (rng.random() < 0.7) + rng.choice("lnrs") + end] = None
    return list(words)


def translations(count: int, seed: int = 0, least: int = 3) -> list[Pair]:
    """Return pairs of least to nine words; a name or a number stands in some of them, in both."""
    rng = random.Random(seed)
    vocabulary = list(zip(_words(0), _words(1), strict=True))
    pairs = []
    for _ in range(count):
        chosen = rng.choices(vocabulary, k=rng.randint(least, 9))
        source, target = [word for word, _ in chosen], [word for _, word in reversed(chosen)]
        if rng.random() < 0.3:
            name = rng.choice([*NAMES, str(rng.randint(1, 9999))])
            source.insert(1, name)
            target.append(name)
        pairs.append(Pair(f"{' '.join(source).capitalize()}.", f"{' '.join(target).capitalize()}."))
    return pairs


def exchanged(pair: Pair) -> Pair:
    """Return a pair with the sides of this one exchanged."""
    return Pair(pair.target, pair.source)
