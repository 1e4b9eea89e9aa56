"""Characters that a tokenizer's normalization turns into others, such as ½ into 1/2."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headway.counted import counted
from headway.data.composition import composed

_NAMED = 8  # characters


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The number of rewritten texts, and the changes of their characters."""

    count: int
    changes: list[tuple[str, str]]
    """Each character and its new text, the most frequent character first."""

    def __str__(self) -> str:
        """Return the changes as words: `½ becomes 1/2`."""
        return in_words(self.changes)


def rewrites(normalize: Callable[[str], str], text: str) -> bool:
    """Return True if normalization changes more than spaces and the composition of characters."""
    normalized = normalize(text)
    return normalized != text and _seen(normalized) != _seen(text)


def rewritten(texts: Iterable[str], normalize: Callable[[str], str]) -> Rewritten:
    """Count the texts that are rewritten, and return the changes of their characters.

    If only a sequence of characters changes, the text is counted, but no character is named.
    """
    changed = [text for text in texts if rewrites(normalize, text)]
    return Rewritten(len(changed), changes(changed, normalize))


def changes(texts: Iterable[str], normalize: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return each character that is rewritten and its new text, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text))
    new = {}
    for character in counts:
        # Between letters, because normalization may strip a character at an end.
        inside = f"a{character}a"
        if rewrites(normalize, inside):
            new[character] = normalize(inside).strip()[1:-1]
    ordered = sorted(new, key=lambda character: (-counts[character], character))
    return [(character, new[character]) for character in ordered]


def in_words(changed: Sequence[tuple[str, str]]) -> str:
    """Return changes of characters as words: `½ becomes 1/2`."""
    words = [
        f"{_visibly(old)} becomes {_visibly(new)}" if new else f"{_visibly(old)} goes"
        for old, new in changed[:_NAMED]
    ]
    more = len(changed) - _NAMED
    return ", ".join(words + [f"and {counted(more, 'more character')}"] * (more > 0))


def _seen(text: str) -> str:
    return " ".join(composed(text).split())


def _visibly(text: str) -> str:
    """Return a text as it is, or as code points if it is invisible."""
    if text.isprintable() and text.strip() and not unicodedata.combining(text[0]):
        return text
    return " ".join(f"U+{ord(character):04X}" for character in text)
