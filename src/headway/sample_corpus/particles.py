"""Attach Korean particles in the form that the last syllable of a noun requires."""

from headway.sample_corpus.conjugation import Style
from headway.sample_corpus.hangul import final_of

# The pronouns that fuse with the subject particle instead of taking it.
_SUBJECT_FORMS = {"저": "제가", "나": "내가", "너": "네가", "누구": "누가"}
# The copula of each style: after a consonant, and after a vowel.
_COPULA: dict[Style, tuple[str, str]] = {
    "formal": ("입니다", "입니다"), "polite": ("이에요", "예요"), "plain": ("이다", "다"),
    "casual": ("이야", "야"),
}  # fmt: skip
_COPULA_QUESTION: dict[Style, tuple[str, str]] = {
    **_COPULA, "formal": ("입니까", "입니까"), "plain": ("이니", "니")
}  # fmt: skip
_PAST: dict[Style, str] = {"formal": "습니다", "polite": "어요", "plain": "다", "casual": "어"}
_NOT: dict[Style, str] = {
    "formal": "아닙니다", "polite": "아니에요", "plain": "아니다", "casual": "아니야",
}  # fmt: skip


def _by_final(noun: str, closed: str, opened: str) -> str:
    return noun + (closed if final_of(noun) else opened)


def topic(noun: str) -> str:
    """Attach the topic particle: 학생은, 의사는."""
    return _by_final(noun, "은", "는")


def subject(noun: str) -> str:
    """Attach the subject particle: 학생이, 의사가; 저, 나, 너 and 누구 become 제가, 내가, 네가, 누가."""
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


def along(noun: str) -> str:
    """Attach the spoken particle "with": 동생이랑, 친구랑."""
    return _by_final(noun, "이랑", "랑")


def called(name: str) -> str:
    """Attach the particle of 라고 합니다: 지민이라고, 민수라고."""
    return _by_final(name, "이라고", "라고")


def vocative(name: str) -> str:
    """Attach the particle that calls a friend: 민수야, 지민아."""
    return _by_final(name, "아", "야")


def by(noun: str) -> str:
    """Attach the particle of means: 펜으로, 버스로, and 지하철로 after a final ㄹ."""
    return noun + ("로" if final_of(noun) in ("", "ㄹ") else "으로")


def to_person(noun: str) -> str:
    """Attach the particle of the receiver: 학생에게; 저 becomes 저에게."""
    return noun + "에게"


def copula(noun: str, style: Style = "formal") -> str:
    """Attach the present copula: 학생입니다, 학생이에요, 의사예요, 학생이다, 학생이야."""
    return _by_final(noun, *_COPULA[style])


def copula_question(noun: str, style: Style = "formal") -> str:
    """Attach the copula of a question: 학생입니까, 학생이에요, 학생이니, 학생이야."""
    return _by_final(noun, *_COPULA_QUESTION[style])


def copula_past(noun: str, style: Style = "formal") -> str:
    """Attach the past copula, contracted after a vowel: 학생이었습니다, 의사였어요."""
    return _by_final(noun, "이었", "였") + _PAST[style]


def negative_copula(noun: str, style: Style = "formal") -> str:
    """Attach the negative copula: 학생이 아닙니다, 의사가 아니에요."""
    return f"{complement(noun)} {_NOT[style]}"
