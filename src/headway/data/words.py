"""Which word each piece of a text belongs to."""

import re
from bisect import bisect_right
from collections.abc import Iterable

from headway.data.tokenizer import Tokenizer

_SPACE = "▁".encode()


def number_words(tokenizer: Tokenizer, text: str | Iterable[int]) -> list[int | None]:
    """Return for each piece of a text, or of ids, the number of its word, counted from 0.

    Words are what stands between spaces in `tokenizer.normalize(text)`, or in `decode(ids)`. A
    piece belongs to the word in which it begins or which comes next; None where none does.
    """
    written = tokenizer.written(text)
    # Blanks as long as what they stand for, so that places stay the same.
    joined = b"".join(written).replace(_SPACE, b" " * len(_SPACE)).replace(b"\n", b" ")
    ends = [match.end() for match in re.finditer(rb"[^ ]+", joined)]
    numbers: list[int | None] = []
    begin = 0
    for piece in written:
        number = bisect_right(ends, begin)
        numbers.append(number if number < len(ends) else None)
        begin += len(piece)
    return numbers
