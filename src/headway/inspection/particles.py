"""Korean particles, which have one form after a consonant and another after a vowel."""

import re

_FORMS = {"을(를)": "을를", "은(는)": "은는", "이(가)": "이가", "(으)로": ("으로", "로")}
_BEHIND = re.compile(r"([가-힣0-9%])([”’»\"')\]]*)(을\(를\)|은\(는\)|이\(가\)|\(으\)로)")
_DIGITS = "영일이삼사오육칠팔구"
_RIEUL = 8  # which 로 follows like a vowel


def with_particles(text: str) -> str:
    """Choose the form of each particle that stands behind Hangul, a digit or a per cent sign.

    What other letters sound like is not known: behind them both forms stay.
    """
    return _BEHIND.sub(_chosen, text)


def _chosen(found: re.Match[str]) -> str:
    last, closing, both = found.groups()
    syllable = "트" if last == "%" else _DIGITS[int(last)] if last.isdigit() else last
    final = (ord(syllable) - ord("가")) % 28
    is_open = final == 0 or (both == "(으)로" and final == _RIEUL)
    return last + closing + _FORMS[both][is_open]
