"""Characters that a tokenizer's normalization turns into others, such as ½ into 1/2."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_MOST = 5  # characters named as examples


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The number of rewritten texts, and the most frequent changes of a character."""

    count: int
    examples: list[tuple[str, str]]

    def __str__(self) -> str:
        """Return the examples as words: `½ becomes 1/2`."""
        return ", ".join(
            f"{_visibly(old)} becomes {_visibly(new)}" if new else f"{_visibly(old)} goes"
            for old, new in self.examples
        )


def rewrites(normalize: Callable[[str], str], text: str) -> bool:
    """Return True if normalization changes more than spaces and the composition of characters."""
    normalized = normalize(text)
    return normalized != text and _seen(normalized) != _seen(text)


def rewritten(texts: Iterable[str], normalize: Callable[[str], str]) -> Rewritten:
    """Count the texts that are rewritten, and name the most frequent of their characters.

    If only a sequence of characters changes, the text is counted, but no character is named.
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
                # Between letters, because normalization may strip a character at an end.
                normalized = normalize(f"a{character}a").strip()
                changed = rewrites(normalize, f"a{character}a")
                becomes[character] = normalized[1:-1] if changed else None
            counts[character] += becomes[character] is not None
    named = [character for character, times in counts.most_common(_MOST) if times]
    return Rewritten(count, [(character, becomes[character] or "") for character in named])


def _seen(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _visibly(text: str) -> str:
    """Return a text as it is, or as code points if it is invisible."""
    if text.isprintable() and text.strip() and not unicodedata.combining(text[0]):
        return text
    return " ".join(f"U+{ord(character):04X}" for character in text)
