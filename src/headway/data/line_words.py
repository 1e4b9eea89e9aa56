"""Divide a line of any script into words, without a tokenizer."""

import unicodedata

_UNSPACED = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def words(text: str) -> list[str]:
    """Return the words of a line, without case, each once.

    In scripts without spaces between words, each character counts as a word.
    """
    return list(dict.fromkeys(text.casefold().translate(_SEPARATED).split()))


class _Separated(dict[int, str]):
    """Characters, with spaces for those that are in no word."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character)[0] not in "LMN":  # letters, marks and numbers
            self[code] = " "
        elif unicodedata.name(character, "").startswith(_UNSPACED):
            self[code] = f" {character} "
        else:
            self[code] = character
        return self[code]


_SEPARATED = _Separated()
