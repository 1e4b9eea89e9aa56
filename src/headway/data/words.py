"""Map each piece of a text to its word."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from headway.data.tokenizer import UNK_ID, Tokenizer

_SPACE = "▁".encode()


def number_words(tokenizer: Tokenizer, text: str | Iterable[int]) -> list[int | None]:
    """Return for each piece of a text, or of ids, the number of its word, counted from 0.

    Spaces separate words, in `tokenizer.normalize(text)` or in `decode(ids)`. A piece belongs to
    the word that it begins in, or else to the next word; after the last word it has None.
    """
    written = tokenizer.written(text)
    ends = [match.end() for match in _words(written)]
    numbers: list[int | None] = []
    begin = 0
    for piece in written:
        number = bisect_right(ends, begin)
        numbers.append(number if number < len(ends) else None)
        begin += len(piece)
    return numbers


def words_of(tokenizer: Tokenizer, text: str | Iterable[int]) -> list[str]:
    """Return the words that `number_words` numbers, with ⁇ for unknown characters of ids."""
    if isinstance(text, str):
        return [match[0].decode() for match in _words(tokenizer.written(text))]
    ids = list(text)
    written = [
        "⁇".encode() if i == UNK_ID else piece
        for i, piece in zip(ids, tokenizer.written(ids), strict=True)
    ]
    return [match[0].decode(errors="replace") for match in _words(written)]


def _words(written: Iterable[bytes]) -> Iterator[re.Match[bytes]]:
    """Yield the words in the bytes of pieces, with their positions in all bytes together."""
    # Blanks as long as the characters they replace, so that positions stay the same.
    joined = b"".join(written).replace(_SPACE, b" " * len(_SPACE)).replace(b"\n", b" ")
    return re.finditer(rb"[^ ]+", joined)
