"""Decode HTML's codes for characters, such as `&amp;` for &."""

import html
import re
from html.entities import html5

# `&amp` counts without its semicolon, but not as a parameter of an address (`?a=1&amp=2`) or as the
# beginning of a word.
_CODE = re.compile(
    r"&(?:(?:[A-Za-z][A-Za-z\d]{1,30}|#\d{2,7}|#[xX][\dA-Fa-f]{2,6});"
    r"|amp(?![A-Za-z\d_=;-]| ;))"
)
_MAYBE_CODE = re.compile(
    r"&(?: ?(?:amp|lt|gt|quot|apos|nbsp)(?![A-Za-z\d_=-])|#\d{2,7}|#[xX][\dA-Fa-f]{2,6})(?: ?;)?"
)
_TAG_ENDS = frozenset("<>")
_MOST_LEVELS = 4  # text that seems to be escaped more often was not escaped at all
# A sentence may be about a code that one of these sets off: '&lt;' or (e.g. &gt;).
_MARKS = frozenset("'\"`«»„“”‘’「」『』")
_SET_OFF = _MARKS | frozenset("()[],")
_QUOTES = frozenset("'\"")
_BEFORE, _AFTER = frozenset(" \t\u00a0"), frozenset(" \t\u00a0.;:")


def decoded(text: str, other: str = "") -> str:
    """Return a text with characters in place of their codes, level by level.

    `&amp;amp;` and `&amp;amp` are `&`, escaped twice. A code stays if the sentence is about it.
    This holds for codes of `<` and `>` if the text also has the raw character, and for any code in
    `backticks`. It also holds for codes that both sides have, if quotes, brackets or commas set one
    of them off on either side. A line end becomes a space.

    Args:
        text: The side that may have codes.
        other: The other side of the pair.
    """
    if "&" not in text:
        return text
    for _ in range(_MOST_LEVELS):
        fresh = _decoded_once(text, other)
        if fresh == text:
            break
        text = fresh
    return text


def has_codes(text: str, other: str = "") -> bool:
    """Return True if `decoded` would change the text."""
    return decoded(text, other) != text


def has_broken_codes(text: str) -> bool:
    """Return True if a text has what seems to be a damaged code, such as `& amp` or `&lt`.

    It is not decoded, because it may be right, as in `guitar & amp`.
    """
    if "&" not in text:
        return False
    return any(not _CODE.fullmatch(code[0]) for code in _MAYBE_CODE.finditer(text))


def _decoded_once(text: str, other: str) -> str:
    mentioned = _mentioned(text, other)
    return _CODE.sub(lambda code: code[0] if code.span() in mentioned else _of(code[0]), text)


def _of(code: str) -> str:
    """Return the character of a code, or the code itself if it has none."""
    if code[1] != "#":
        return html5.get(code[1:], code).replace("\n", " ")
    character = html.unescape(code)  # knows the numbers that mean Windows-1252
    if character in ("\n", "\r"):
        return " "
    is_text = character.isprintable() or character.isspace() or character in "\u00ad\u200b\ufeff"
    return character if character and character != "\ufffd" and is_text else code


def _mentioned(text: str, other: str) -> set[tuple[int, int]]:
    """Return the places of the codes that the sentence is about."""
    raw = {end for end in _TAG_ENDS if end in text}
    codes = list(_CODE.finditer(text))
    shared = {code.span() for code in codes if code[0] in other}
    is_about_codes = any(_is_set_off(text, *span) for span in shared) or any(
        _is_set_off(other, *code.span()) for code in _CODE.finditer(other) if code[0] in text
    )
    places = shared if is_about_codes else set()
    for code in codes:
        start, end = code.span()
        is_in_backticks = text.count("`", 0, start) % 2 == 1 and "`" in text[end:]
        if is_in_backticks or _of(code[0]) in raw:
            places.add((start, end))
    return places


def _is_set_off(text: str, start: int, end: int) -> bool:
    """Return True if quotes, brackets or commas enclose a code, and no word touches it.

    Quotes usually touch brackets and commas, so the code of a quote must be within quotes.
    """
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    if _of(text[start:end]) in _QUOTES:
        return before in _MARKS and after in _MARKS
    is_marked = before in _SET_OFF or after in _SET_OFF
    return is_marked and before in _SET_OFF | _BEFORE and after in _SET_OFF | _AFTER
