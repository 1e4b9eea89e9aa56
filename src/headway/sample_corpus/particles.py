"""Attach Korean particles in the form that the last syllable of a noun requires."""

from headway.sample_corpus.hangul import final_of

# The pronouns that fuse with the subject particle instead of taking it.
_SUBJECT_FORMS = {"저": "제가", "누구": "누가"}


def _by_final(noun: str, closed: str, opened: str) -> str:
    return noun + (closed if final_of(noun) else opened)


def topic(noun: str) -> str:
    """Attach the topic particle: 학생은, 의사는."""
    return _by_final(noun, "은", "는")


def subject(noun: str) -> str:
    """Attach the subject particle: 학생이, 의사가; 저 and 누구 become 제가 and 누가."""
    return _SUBJECT_FORMS.get(noun) or _by_final(noun, "이", "가")


def complement(noun: str) -> str:
    """Attach the particle of the complement of 아니다: 학생이 아닙니다, 의사가 아닙니다."""
    return _by_final(noun, "이", "가")


def object_(noun: str) -> str:
    """Attach the object particle: 책을, 사과를."""
    return _by_final(noun, "을", "를")


def with_(noun: str) -> str:
    """Attach the particle "and, with": 빵과, 우유와."""
    return _by_final(noun, "과", "와")


def by(noun: str) -> str:
    """Attach the particle of means: 펜으로, 버스로, and 지하철로 after a final ㄹ."""
    return noun + ("로" if final_of(noun) in ("", "ㄹ") else "으로")


def to_person(noun: str) -> str:
    """Attach the particle of the receiver: 학생에게; 저 becomes 저에게."""
    return noun + "에게"


def copula(noun: str) -> str:
    """Attach the polite present copula: 학생입니다, 의사입니다."""
    return noun + "입니다"


def copula_past(noun: str) -> str:
    """Attach the polite past copula, contracted after a vowel: 학생이었습니다, 의사였습니다."""
    return noun + ("이었습니다" if final_of(noun) else "였습니다")
