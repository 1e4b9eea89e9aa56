"""Text in capitals, which most models have hardly seen: translated as a sentence, written back."""

import re
from collections.abc import Sequence

from headway.documents.kept import Span

_FEWEST = 8
"""Letters; fewer may be an abbreviation, such as NASA."""
_WORD = re.compile(r"[^\W\d_]{2,}")


def is_in_capitals(text: str, kept_spans: Sequence[Span] = ()) -> bool:
    """Return True if all letters outside the kept stretches are capitals, in two words or more.

    Capitals that do not come back from small letters, as the İ of Turkish, do not count.

    >>> is_in_capitals("DO NOT ENTER"), is_in_capitals("NASA und ESA"), is_in_capitals("NASA")
    (True, False, False)
    """
    translatable = "".join(_between(text, kept_spans))
    is_long = (
        sum(map(str.isupper, translatable)) >= _FEWEST and len(_WORD.findall(translatable)) > 1
    )
    return is_long and translatable.isupper() and translatable.lower().upper() == translatable


def as_sentence(text: str, kept_spans: Sequence[Span] = ()) -> str:
    """Return text in capitals as a sentence: its first letter stays a capital.

    >>> as_sentence("DO NOT ENTER {ROOM}!", [(13, 19)])
    'Do not enter {ROOM}!'
    """
    stretches = _between(text, kept_spans)
    lowered = [stretch.lower() for stretch in stretches]
    first = next((n for n, stretch in enumerate(stretches) if _WORD.search(stretch)), None)
    if first is not None:
        place = next(n for n, letter in enumerate(stretches[first]) if letter.isalpha())
        low = lowered[first]
        lowered[first] = low[:place] + stretches[first][place] + low[place + 1 :]
    return _joined(lowered, text, kept_spans)


def in_capitals(text: str, kept_spans: Sequence[Span] = ()) -> str:
    """Return a text in capitals, except its kept stretches."""
    return _joined([stretch.upper() for stretch in _between(text, kept_spans)], text, kept_spans)


def _between(text: str, kept_spans: Sequence[Span]) -> list[str]:
    """Return the stretches before, between and after the kept ones."""
    bounds = [0, *(place for span in kept_spans for place in span), len(text)]
    return [text[bounds[n] : bounds[n + 1]] for n in range(0, len(bounds), 2)]


def _joined(between: Sequence[str], text: str, kept_spans: Sequence[Span]) -> str:
    written = [text[begin:end] for begin, end in kept_spans]
    pairs = zip(between, [*written, ""], strict=True)
    return "".join(part for pair in pairs for part in pair)
