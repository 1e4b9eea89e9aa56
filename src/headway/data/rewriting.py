"""Which characters of text its tokenizer's normalization turns into others, as ½ into 1/2."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_MOST = 5  # characters that are named


@dataclass(frozen=True, slots=True)
class Rewritten:
    """How many texts are rewritten, and what the most frequent characters of them become."""

    count: int
    examples: list[tuple[str, str]]

    def __str__(self) -> str:
        """Return the examples as words: `½ becomes 1/2`."""
        return ", ".join(
            f"{_visibly(one)} becomes {_visibly(other)}" if other else f"{_visibly(one)} goes"
            for one, other in self.examples
        )


def rewrites(normalize: Callable[[str], str], text: str) -> bool:
    """Return True if more changes than spaces and the way in which characters are composed."""
    normalized = normalize(text)
    return normalized != text and _seen(normalized) != _seen(text)


def rewritten(texts: Iterable[str], normalize: Callable[[str], str]) -> Rewritten:
    """Count the texts that are rewritten, and name the characters that most of them have.

    Text that changes by its sequence of characters alone is counted, and not named.
    """
    becomes: dict[str, str | None] = {}
    counts: Counter[str] = Counter()
    count = 0
    for text in texts:
        if not rewrites(normalize, text):
            continue
        count += 1
        for character in sorted(set(text)):
            if character not in becomes:
                # Between letters, because what stands at an end may be taken for a space.
                other = normalize(f"a{character}a").strip()
                changed = rewrites(normalize, f"a{character}a")
                becomes[character] = other[1:-1] if changed else None
            counts[character] += becomes[character] is not None
    named = [character for character, times in counts.most_common(_MOST) if times]
    return Rewritten(count, [(character, becomes[character] or "") for character in named])


def _seen(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _visibly(text: str) -> str:
    """Return a text as it is, or as code points where there is nothing to be seen."""
    if text.isprintable() and text.strip() and not unicodedata.combining(text[0]):
        return text
    return " ".join(f"U+{ord(character):04X}" for character in text)
