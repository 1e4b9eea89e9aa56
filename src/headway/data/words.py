"""Which word each piece of a text belongs to."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from headway.data.tokenizer import UNK_ID, Tokenizer

_SPACE = "▁".encode()


def number_words(tokenizer: Tokenizer, text: str | Iterable[int]) -> list[int | None]:
    """Return for each piece of a text, or of ids, the number of its word, counted from 0.

    Words are what stands between spaces in `tokenizer.normalize(text)`, or in `decode(ids)`. A
    piece belongs to the word in which it begins or which comes next; None where none does.
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
    """Return the words that `number_words` numbers, unknown characters of ids as ⁇."""
    if isinstance(text, str):
        return [match[0].decode() for match in _words(tokenizer.written(text))]
    ids = list(text)
    written = [
        "⁇".encode() if i == UNK_ID else piece
        for i, piece in zip(ids, tokenizer.written(ids), strict=True)
    ]
    return [match[0].decode(errors="replace") for match in _words(written)]


def _words(written: Iterable[bytes]) -> Iterator[re.Match[bytes]]:
    """Yield the words of what pieces write, at the places that they have there."""
    # Blanks as long as what they stand for, so that places stay the same.
    joined = b"".join(written).replace(_SPACE, b" " * len(_SPACE)).replace(b"\n", b" ")
    return re.finditer(rb"[^ ]+", joined)
