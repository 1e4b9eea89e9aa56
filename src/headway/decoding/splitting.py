"""Sentences longer than a model can take: cut where it hurts least, never silently."""

import re
from collections.abc import Collection, Sequence
from itertools import accumulate

from headway.data.sentences import split_sentences
from headway.errors import ConfigError

_CLAUSE_END = (";", "…")  # where a space follows
_TAG = re.compile("<(?!unk>|0x[0-9A-F]{2}>).+>")  # but not what stands for a character


def split_long(
    ids: Sequence[int], pieces: Sequence[str], max_pieces: int, language: str = "en"
) -> list[list[int]]:
    """Return the ids in parts of at most max_pieces; joined they are the ids again.

    Cuts after the last sentence of a part, or else before its last word, or else anywhere; never in
    the first half, so that parts do not become many. No ids give no parts. language: a code, which
    says how sentences end (`headway.data.sentences`).
    """
    if max_pieces < 1:
        raise ConfigError(f"max_pieces is {max_pieces}, but must be at least 1.", "Raise it.")
    starts = sentence_starts(pieces, language) if len(ids) > max_pieces else ()
    parts: list[list[int]] = []
    start = 0
    while start < len(ids):
        end = len(ids)
        if end - start > max_pieces:
            end = _cut(pieces, start, start + max_pieces, starts)
        parts.append(list(ids[start:end]))
        start = end
    return parts


def sentence_starts(pieces: Sequence[str], language: str) -> set[int]:
    """Return the places of the pieces with which sentences begin, except the first one."""
    sentences = split_sentences("".join(pieces).replace("▁", " "), language)
    begins = accumulate(map(len, sentences), initial=0)
    ends = [begin + len(each.rstrip()) for begin, each in zip(begins, sentences[:-1], strict=False)]
    places: dict[int, int] = {}
    offset = 0
    for place, piece in enumerate(pieces):
        places[offset] = place
        offset += len(piece)
    return {places[end] for end in ends if end in places}


def leading_tag(pieces: Sequence[str], known: Collection[str] = ()) -> int:
    """Return how many pieces the tags take that a sentence begins with, such as `<2ko>`.

    A tag says something about all of a sentence, so each part of it needs the tag. known: tags
    that may have another form.
    """
    length = 0
    for place, piece in enumerate(pieces):
        text = piece.removeprefix("▁")
        if _TAG.fullmatch(text) or (text and text in known):
            length = place + 1
        elif text:
            break
    return length


def _cut(pieces: Sequence[str], start: int, most: int, starts: Collection[int]) -> int:
    """Return where the part ends that begins at `start`, at `most` at the latest."""
    places = range(most, start + (most - start) // 2, -1)
    for end in places:
        clause = pieces[end - 1].endswith(_CLAUSE_END) and pieces[end].startswith("▁")
        if end in starts or clause:
            return end
    return next((end for end in places if pieces[end].startswith("▁")), most)
