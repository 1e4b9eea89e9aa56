"""UTF-8 that was decoded as another encoding, such as `Ã©` for é, and its repair."""

import re

# The second and later bytes of a character in UTF-8, decoded as Latin-1 or Windows-1252.
_BYTES = (
    "[\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc"
    "\u2013-\u203a\u20ac\u2122]"
)
# Two characters in a row, of two to four bytes. A single one may be right, as in «aquí…» or „Maß“.
_SIGN = re.compile(
    f"[\u00c2\u00c3][\u0080-\u00bf]|\u00e2[\u0080\u20ac]|\u00f0{_BYTES}{{3}}"
    f"|(?:[\u00c2-\u00df]{_BYTES}|[\u00e0-\u00ef]{_BYTES}{{2}}){{2}}"
)


def is_mojibake(text: str) -> bool:
    """Return True if `undone` would restore at least a part of a text."""
    return not text.isascii() and undone(text) != text


def is_broken_mojibake(text: str) -> bool:
    """Return True if a text looks like UTF-8 decoded as another encoding, but stays as it is.

    A part of it was lost, or the restored text would be no more plausible.
    """
    return _SIGN.search(text) is not None and undone(text) == text


def undone(text: str) -> str:
    """Return a text as it was before the wrong decoding, as far as that is certain.

    The library ftfy decides: it changes a text only if the result is far more plausible.
    """
    import ftfy
    import ftfy.badness

    return ftfy.fix_encoding(text) if ftfy.badness.is_bad(text) else text
