"""Split sentences that are too long for a model, at the best places."""

import re
from collections.abc import Collection, Sequence
from itertools import accumulate

from headway.data.sentences import split_sentences
from headway.errors import ConfigError

_CLAUSE_END = (";", "…")  # where a space follows
_TAG = re.compile("<(?!unk>|0x[0-9A-F]{2}>).+>")  # except pieces that represent a character


def split_long(
    ids: Sequence[int], pieces: Sequence[str], max_pieces: int, language: str = "en"
) -> list[list[int]]:
    """Divide ids into parts of at most max_pieces; without ids there are no parts.

    A part ends after its last sentence, else before its last word, else anywhere, but never in its
    first half, which limits the number of parts. language: a code that decides where sentences end
    (`headway.data.sentences`).
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
    """Return the places of the pieces that begin sentences, except the first."""
    sentences = split_sentences("".join(pieces).replace("▁", " "), language)
    begins = accumulate(map(len, sentences), initial=0)
    before_last = zip(begins, sentences[:-1], strict=False)
    ends = [begin + len(sentence.rstrip()) for begin, sentence in before_last]
    places: dict[int, int] = {}
    offset = 0
    for place, piece in enumerate(pieces):
        places[offset] = place
        offset += len(piece)
    return {places[end] for end in ends if end in places}


def leading_tag(pieces: Sequence[str], tags: Collection[str] = ()) -> int:
    """Return the number of pieces of the tags that begin a sentence, such as `<2ko>`.

    A tag concerns the whole sentence, so every part of it needs the tag. tags: those that may have
    another form.
    """
    length = 0
    for place, piece in enumerate(pieces):
        text = piece.removeprefix("▁")
        if _TAG.fullmatch(text) or (text and text in tags):
            length = place + 1
        elif text:
            break
    return length


def _cut(pieces: Sequence[str], start: int, limit: int, starts: Collection[int]) -> int:
    """Return the end, at most `limit`, of the part that begins at `start`."""
    places = range(limit, start + (limit - start) // 2, -1)
    for end in places:
        clause = pieces[end - 1].endswith(_CLAUSE_END) and pieces[end].startswith("▁")
        if end in starts or clause:
            return end
    return next((end for end in places if pieces[end].startswith("▁")), limit)
