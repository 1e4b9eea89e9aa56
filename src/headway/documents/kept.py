"""Find text that a translation must have exactly as it is: addresses, placeholders, tags."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

Span = tuple[int, int]
"""The first character of a stretch of text, and the one after its last."""

# Only characters of ASCII: in 'https://example.com에서' a particle follows the address.
_ADDRESS = r"(?:(?:https?|ftps?|file|ssh|git)://|mailto:|www\.)[\w\-.~:/?#\[\]@!$&'()*+,;=%]+"
_EMAIL = r"(?<![\w.+\-])[\w.+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"
_TAG = r"</?[A-Za-z](?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>|<!--[^<>]*-->"
_BRACES = r"[$#%]?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"  # also plurals of ICU, which nest
_NAMED = r"%\(\w+\)[#0\- +]{0,5}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]"
_PRINTF = (
    r"(?<![\w%])%(?:\d{1,4}\$)?[#0\-+']{0,5}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?"
    r"(?:hh|h|ll|l|q|j|z|t|L)?[diouxXeEfFgGaAcspSC@](?![A-Za-z])|%%"
)
_PRINTF_BEFORE_UNIT = r"(?<![\w%])%[ds](?=[A-Za-z])"  # %dpx
_EMOJI = r"(?<![\w:]):(?=[0-9_+\-]*[a-z])[a-z0-9_+\-]+:(?![\w:])"
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,8}|#[xX][0-9A-Fa-f]{1,6});"
# No pattern can match one text in two ways: a search takes time in proportion to the text.
_PATTERNS = (
    _TAG, _NAMED, _BRACES, _ADDRESS, _EMAIL, _PRINTF, _PRINTF_BEFORE_UNIT, _EMOJI, _ENTITY,
)  # fmt: skip
_FIRST_MARKS = re.compile(r"[<%{@:&]|www\.")  # each pattern has one; most text has none
_AFTER_ADDRESS = ".,;:!?'*"
_BRACKETS = {")": "(", "]": "["}


def kept_spans(text: str, literals: Sequence[str] = ()) -> list[Span]:
    """Return the stretches of a text that are kept, in order and without overlap.

    literals: more texts that are kept wherever they occur as whole words.

    >>> text = "Mail {name} at a.b@example.com, or see https://example.com/x_(1)."
    >>> [text[begin:end] for begin, end in kept_spans(text)]
    ['{name}', 'a.b@example.com', 'https://example.com/x_(1)']
    """
    if not literals and not _FIRST_MARKS.search(text):
        return []
    spans = []
    for match in _pattern(tuple(literals)).finditer(text):
        begin, end = match.span()
        if match.lastgroup == "address":
            end = _end_of_address(text, begin, end)
        spans.append((begin, end))
    return spans


def kept_texts(text: str, spans: Iterable[Span]) -> Counter[str]:
    """Return how often each kept text occurs in the text."""
    return Counter(text[begin:end] for begin, end in spans)


def occurrences(text: str, kept: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return where texts occur as whole words, longest first, in order and without overlap."""
    taken: list[tuple[int, int, str]] = []
    for word in sorted(set(kept), key=lambda word: (-len(word), word)):
        for match in re.finditer(_as_whole(word), text):
            begin, end = match.span()
            if all(end <= first or last <= begin for first, last, _ in taken):
                taken.append((begin, end, word))
    return sorted(taken)


def has_letters(text: str, spans: Iterable[Span] = ()) -> bool:
    """Return True if a text has a letter outside these stretches, so that it can be translated."""
    begin = 0
    for start, end in spans:
        if any(map(str.isalpha, text[begin:start])):
            return True
        begin = end
    return any(map(str.isalpha, text[begin:]))


@lru_cache(64)
def _pattern(literals: tuple[str, ...]) -> re.Pattern[str]:
    sorted_literals = sorted(filter(str.strip, literals), key=lambda text: (-len(text), text))
    patterns = [*map(_as_whole, sorted_literals), *_PATTERNS]
    named = [f"(?P<address>{p})" if p is _ADDRESS else p for p in patterns]
    return re.compile("|".join(named), re.ASCII | re.DOTALL)


def _as_whole(text: str) -> str:
    """Return a pattern of a text that is not part of a longer word of ASCII."""
    before = "(?<![A-Za-z0-9_])" if re.match("[A-Za-z0-9_]", text) else ""
    after = "(?![A-Za-z0-9_])" if re.search("[A-Za-z0-9_]$", text) else ""
    return before + re.escape(text) + after


def _end_of_address(text: str, begin: int, end: int) -> int:
    """Return the end of an address without the marks of the sentence around it."""
    unopened = {
        last: text.count(last, begin, end) - text.count(first, begin, end)
        for last, first in _BRACKETS.items()
    }
    while end > begin:
        last = text[end - 1]
        if unopened.get(last, 0) > 0:
            unopened[last] -= 1
        elif last not in _AFTER_ADDRESS:
            break
        end -= 1
    return end
