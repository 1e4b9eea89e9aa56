"""Korean particles, which have one form after a consonant and another after a vowel."""

import re

_FORMS = {"을(를)": "을를", "은(는)": "은는", "이(가)": "이가", "(으)로": ("으로", "로")}
_BEHIND = re.compile(r"([가-힣0-9%])([”’»\"')\]]*)(을\(를\)|은\(는\)|이\(가\)|\(으\)로)")
_DIGITS = "영일이삼사오육칠팔구"
_RIEUL = 8  # the final consonant that 로 follows as it follows a vowel


def with_particles(text: str) -> str:
    """Choose the form of each particle that follows Hangul, a digit or a per cent sign.

    After other letters both forms stay, because their sound is not known.
    """
    return _BEHIND.sub(_chosen, text)


def _chosen(match: re.Match[str]) -> str:
    last, closing, particle = match.groups()
    syllable = "트" if last == "%" else _DIGITS[int(last)] if last.isdigit() else last
    final = (ord(syllable) - ord("가")) % 28
    is_open = final == 0 or (particle == "(으)로" and final == _RIEUL)
    return last + closing + _FORMS[particle][is_open]
