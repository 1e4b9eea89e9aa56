"""Flags of a translation: what a program may look at before it trusts the text."""

from collections.abc import Collection
from typing import Literal, get_args

Flag = Literal["split", "cut", "repeated", "copied", "low_confidence"]

FLAGS: tuple[Flag, ...] = get_args(Flag)


def flags_where(
    *, split: bool, cut: bool, repeated: bool, copied: bool, low_confidence: bool
) -> tuple[Flag, ...]:
    """Return the names of the flags that hold, in the order of `FLAGS`."""
    holds = (split, cut, repeated, copied, low_confidence)
    return tuple(flag for flag, does in zip(FLAGS, holds, strict=True) if does)


def is_copy(source: str, translation: str, tags: Collection[str]) -> bool:
    """Return True if the translation is the source, word for word, and has a letter.

    tags: those of the model, which may precede a source.
    """
    words = source.split()
    while words and words[0] in tags:
        del words[0]
    return words == translation.split() and any(map(str.isalpha, translation))
