"""Sentences longer than a model can take: cut where it hurts least, never silently."""

import re
from collections.abc import Sequence

from headway.errors import ConfigError

_SENTENCE_END = (".", "!", "?", "…", ";")  # where a space follows
_WIDE_SENTENCE_END = ("。", "！", "？")  # Chinese and Japanese put no space between sentences
_TAG = re.compile("<(?!unk>|0x[0-9A-F]{2}>).+>")  # but not what stands for a character


def split_long(ids: Sequence[int], pieces: Sequence[str], max_pieces: int) -> list[list[int]]:
    """Return the ids in parts of at most max_pieces; joined they are the ids again.

    Cuts after the last sentence end of a part, or else before its last word, or else anywhere;
    never in the first half, so that parts do not become many. No ids give no parts.
    """
    if max_pieces < 1:
        raise ConfigError(f"max_pieces is {max_pieces}, but must be at least 1.", "Raise it.")
    parts: list[list[int]] = []
    start = 0
    while start < len(ids):
        end = len(ids)
        if end - start > max_pieces:
            end = start + _cut(pieces[start : start + max_pieces + 1], max_pieces)
        parts.append(list(ids[start:end]))
        start = end
    return parts


def leading_tag(pieces: Sequence[str]) -> int:
    """Return how many pieces the tags take that a sentence begins with, such as `<2ko>`.

    A tag says something about all of a sentence, so each part of it needs the tag.
    """
    length = 0
    for place, piece in enumerate(pieces):
        text = piece.removeprefix("▁")
        if _TAG.fullmatch(text):
            length = place + 1
        elif text:
            break
    return length


def _cut(pieces: Sequence[str], max_pieces: int) -> int:
    """Return how many pieces the next part takes; `pieces` shows one beyond the longest part."""
    half = max_pieces // 2
    for end in range(max_pieces, half, -1):
        if _ends_sentence(pieces[end - 1], pieces[end]):
            return end
    for end in range(max_pieces, half, -1):
        if pieces[end].startswith("▁"):
            return end
    return max_pieces


def _ends_sentence(piece: str, following: str) -> bool:
    spaced = piece.endswith(_SENTENCE_END) and following.startswith("▁")
    return spaced or piece.endswith(_WIDE_SENTENCE_END)
