"""Numbers, web and email addresses, and markup, which a translation keeps as they are."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from headway.data.html_codes import decoded

_PAGE = re.compile(r"(?:https?|ftp)://[!-~]+|\bwww\.[!-~]+", re.IGNORECASE)
_MAIL = re.compile(r"[A-Za-z\d._%+-]+@[A-Za-z\d-]+(?:\.[A-Za-z\d-]+)+")
_TAG = re.compile(r"<(/?[A-Za-z][^\s/>]*)[^>]*>")
_BEHIND = ".,;:!?'\"`*_~|\\<>]}"  # punctuation of the sentence if it follows an address
# A number may have separators of thousands and decimals; a plain space separates thousands only.
_NUMBER = re.compile(
    r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,'\u2019\u066b\u066c\u00a0\u2009\u202f]\d+)*"
)
_RUN = re.compile(r"\d+")
_SEPARATORS = re.compile(r"\D")
# Ideographs and syllables that multiply the number before them: 3만 is 30,000.
_FACTORS = frozenset("십백천만억조十百千万萬亿億兆")
_WRITTEN_OUT = 31  # up to here a number is often a word, a day, or a month
_THOUSAND = 3  # from this many zeros on, a side may have a word for them, such as million


class _Number(NamedTuple):
    """A number of a text."""

    values: frozenset[Decimal | str]
    """Its possible meanings: 1.500 is fifteen hundred or one and a half."""
    has_factor: bool
    """A character such as 만 follows it."""


def has_other_numbers(source: str, target: str) -> bool:
    """Return True if two sides have numbers that cannot be the same.

    `1,000.5`, `1.000,5` and `1 000,5` are the same, and so are digits of other scripts. A number
    on one side alone counts from 32 on, or with decimals: smaller ones may be words on the other
    side, or the name of a month. `3만`, `3 million` and `3,000,000` may be the same, too. An HTML
    code, such as `&#97;`, counts as its character.
    """
    source, target = decoded(source, target), decoded(target, source)
    if not (any(map(str.isdecimal, source)) or any(map(str.isdecimal, target))):
        return False
    sides = [_with_ascii_digits(_without_addresses(text)) for text in (source, target)]
    if _parts(sides[0]) == _parts(sides[1]):
        return False
    first, second = (list(_numbers(text)) for text in sides)
    _take_out_partners(first, second)
    if first and second:
        return True
    return any(_is_written_in_digits(number) for number in first or second)


def has_other_addresses(source: str, target: str) -> bool:
    """Return True if a web or email address is on one side only."""
    return addresses(source) != addresses(target)


def has_other_markup(source: str, target: str) -> bool:
    """Return True if two sides do not have the same tags, such as `<b>` and `</b>`.

    Only their names and numbers are compared: attributes, capitals and order may differ. An HTML
    code, such as `&lt;`, counts as its character.
    """
    return _tag_names(decoded(source, target)) != _tag_names(decoded(target, source))


def _tag_names(text: str) -> Counter[str]:
    return Counter(name.lower() for name in _TAG.findall(text)) if "<" in text else Counter()


def addresses(text: str) -> frozenset[str]:
    """Return the web and email addresses, without the punctuation behind them.

    In lower case, without `http://` and `https://`, and without a slash at the end.
    """
    if not _may_have_addresses(text):
        return frozenset()
    pages = (_trimmed(match[0]) for match in _PAGE.finditer(text))
    mails = (match[0].lower() for match in _MAIL.finditer(_PAGE.sub(" ", text)))
    return frozenset((*pages, *mails))


def _may_have_addresses(text: str) -> bool:
    """Return False for most lines quickly, because a search for addresses takes longer."""
    return "@" in text or "://" in text or "www." in text.lower()


def _trimmed(page: str) -> str:
    before = ""
    while page != before:
        before, page = page, page.rstrip(_BEHIND)
        if page.endswith(")") and page.count("(") < page.count(")"):
            page = page[:-1]
    return re.sub("^https?://", "", page.lower()).rstrip("/")


def _without_addresses(text: str) -> str:
    return _MAIL.sub(" ", _PAGE.sub(" ", text)) if _may_have_addresses(text) else text


def _with_ascii_digits(text: str) -> str:
    """Return a text with 0 to 9 in place of the digits of other scripts."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in text
    )


def _parts(text: str) -> Counter[str]:
    """Count the numbers of a text, each part of a date or of thousands by itself."""
    parts: Counter[str] = Counter()
    for match in _NUMBER.finditer(text):
        runs = _RUN.findall(match[0])
        # The zeros of 1.05 say more than those of 12.05.2020.
        parts.update(runs if len(runs) == 2 else [run.lstrip("0") for run in runs])
    return parts


def _numbers(text: str) -> Iterator[_Number]:
    for match in _NUMBER.finditer(text):
        follows = text[match.end() : match.end() + 1]
        yield _Number(frozenset(_values(match[0])), follows in _FACTORS)


def _values(number: str) -> Iterator[Decimal | str]:
    """Yield the possible meanings of a number: values, and its parts as of a date or version."""
    parts, separators = _RUN.findall(number), _SEPARATORS.findall(number)
    if len(parts) == 1:
        yield Decimal(number)
        return
    if all(len(part) <= 3 for part in parts[1:-1]) and len(parts[-1]) == 3:  # 2 in India
        yield Decimal("".join(parts))
    if len(parts) == 2 or separators[-1] not in separators[:-1]:
        yield Decimal("".join(parts[:-1]) + "." + parts[-1])
    yield ".".join(parts)


def _take_out_partners(first: list[_Number], second: list[_Number]) -> None:
    """Remove from both lists the numbers that may be the same, two by two."""
    for is_partner in (_is_same, _is_power_of_ten_away):
        for number in tuple(first):
            partner = next(
                (candidate for candidate in second if is_partner(number, candidate)), None
            )
            if partner is not None:
                first.remove(number)
                second.remove(partner)


def _is_same(first: _Number, second: _Number) -> bool:
    return bool(first.values & second.values) and first.has_factor == second.has_factor


def _is_power_of_ten_away(first: _Number, second: _Number) -> bool:
    """Return True if a word or a character on one side may replace zeros on the other."""
    smallest = 0 if first.has_factor or second.has_factor else _THOUSAND
    return any(
        abs(a.adjusted() - b.adjusted()) >= smallest
        and a.normalize().as_tuple().digits == b.normalize().as_tuple().digits
        for a in first.values
        if isinstance(a, Decimal)
        for b in second.values
        if isinstance(b, Decimal)
    )


def _is_written_in_digits(number: _Number) -> bool:
    """Return True if a number is not written as a word."""
    values = [value for value in number.values if isinstance(value, Decimal)]
    is_small = any(value <= _WRITTEN_OUT and value == value.to_integral() for value in values)
    return not (is_small or number.has_factor)
