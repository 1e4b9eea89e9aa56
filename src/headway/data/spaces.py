"""Spaces of other kinds than the plain one, and characters without width."""

import re

from headway.data.scripts import OTHER_SPACELESS

# Tabs, line ends within a line, and spaces of fixed widths. The ideographic space (U+3000) is how
# Chinese and Japanese write one, and stays.
_SPACE = re.compile("[\t\n\r\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f]")
# Word joiner, byte order mark, soft hyphen. The joiners U+200C and U+200D stay, because Persian,
# Indian scripts and emoji need them.
_INVISIBLE = re.compile("[\u2060\ufeff\u00ad]")
# Zero-width spaces, except a single one between two characters of Khmer, Burmese, Thai or Lao,
# where it is the usual mark between words.
_ZERO_WIDTHS = re.compile("\u200b\u200b+")
_ZERO_WIDTH = re.compile(f"(?<!{OTHER_SPACELESS})\u200b|\u200b(?!{OTHER_SPACELESS})")
_ODD = re.compile(f"{_SPACE.pattern}|{_INVISIBLE.pattern}|{_ZERO_WIDTH.pattern}|  ")
_SEVERAL = re.compile("  +")


def with_plain_spaces(text: str) -> str:
    """Return a text with single plain spaces only, and none around it.

    Tabs, no-break spaces and spaces of fixed widths become plain spaces. Invisible characters are
    removed: zero-width spaces, byte order marks, soft hyphens. A zero-width space between two
    characters of Khmer, Burmese, Thai or Lao stays, because it separates words.
    """
    if not has_odd_spaces(text):
        return text
    text = _ZERO_WIDTH.sub("", _ZERO_WIDTHS.sub("\u200b", _INVISIBLE.sub("", text)))
    return _SEVERAL.sub(" ", _SPACE.sub(" ", text)).strip()


def has_odd_spaces(text: str) -> bool:
    r"""Return True if `with_plain_spaces` would change the inside of a text.

    Spaces around the text do not count, nor does the `\r` of a Windows line end.
    """
    return _ODD.search(text.strip()) is not None
