"""Particles follow the final consonant of the noun."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sample_corpus import particles as pt
from headway.sample_corpus.conjugation import Style
from headway.sample_corpus.hangul import final_of

NOUNS = st.text(st.integers(0xAC00, 0xD7A3).map(chr), min_size=1, max_size=5)
CLOSED_AND_OPEN = [
    (pt.topic, "은", "는"), (pt.complement, "이", "가"), (pt.object_, "을", "를"),
    (pt.with_, "과", "와"),
]  # fmt: skip


@pytest.mark.parametrize(("particle", "closed", "opened"), CLOSED_AND_OPEN)
@given(noun=NOUNS)
def test_the_particle_agrees_with_the_final_consonant(
    particle: Callable[[str], str], closed: str, opened: str, noun: str
) -> None:
    assert particle(noun) == noun + (closed if final_of(noun) else opened)


@given(NOUNS)
def test_means_take_the_short_form_after_vowels_and_after_rieul_only(noun: str) -> None:
    assert pt.by(noun).endswith("으로") == (final_of(noun) not in ("", "ㄹ")) or noun.endswith("으")
    assert pt.by(noun).removeprefix(noun) in ("로", "으로")


@given(NOUNS)
def test_the_past_copula_is_contracted_after_vowels_only(noun: str) -> None:
    rest = pt.copula_past(noun).removeprefix(noun)
    assert rest == ("이었습니다" if final_of(noun) else "였습니다")


@pytest.mark.parametrize(
    ("particle", "noun", "expected"),
    [
        (pt.topic, "학생", "학생은"), (pt.topic, "의사", "의사는"), (pt.topic, "저", "저는"),
        (pt.topic, "한별", "한별은"), (pt.topic, "이것", "이것은"),
        (pt.subject, "책", "책이"), (pt.subject, "사과", "사과가"), (pt.subject, "저", "제가"),
        (pt.subject, "누구", "누가"), (pt.subject, "우리", "우리가"), (pt.subject, "물", "물이"),
        (pt.complement, "경찰관", "경찰관이"), (pt.complement, "배우", "배우가"),
        (pt.object_, "빵", "빵을"), (pt.object_, "우유", "우유를"), (pt.object_, "연필", "연필을"),
        (pt.object_, "닭", "닭을"),
        (pt.with_, "빵", "빵과"), (pt.with_, "우유", "우유와"), (pt.with_, "칼", "칼과"),
        (pt.by, "버스", "버스로"), (pt.by, "지하철", "지하철로"), (pt.by, "볼펜", "볼펜으로"),
        (pt.by, "칼", "칼로"), (pt.by, "연필", "연필로"), (pt.by, "붓", "붓으로"),
        (pt.by, "배", "배로"), (pt.by, "트럭", "트럭으로"), (pt.by, "젓가락", "젓가락으로"),
        (pt.to_person, "학생", "학생에게"),
        (pt.copula, "학생", "학생입니다"), (pt.copula, "의사", "의사입니다"),
        (pt.copula_past, "학생", "학생이었습니다"), (pt.copula_past, "의사", "의사였습니다"),
        (pt.subject, "나", "내가"), (pt.subject, "너", "네가"), (pt.along, "친구", "친구랑"),
        (pt.along, "동생", "동생이랑"), (pt.called, "민수", "민수라고"),
        (pt.called, "지민", "지민이라고"), (pt.vocative, "민수", "민수야"),
        (pt.vocative, "지민", "지민아"),
    ],
)  # fmt: skip
def test_known_nouns_take_their_known_forms(
    particle: Callable[[str], str], noun: str, expected: str
) -> None:
    assert particle(noun) == expected


@pytest.mark.parametrize(
    ("style", "student", "doctor", "asked", "was", "is_not"),
    [
        ("formal", "학생입니다", "의사입니다", "의사입니까", "의사였습니다", "의사가 아닙니다"),
        ("polite", "학생이에요", "의사예요", "의사예요", "의사였어요", "의사가 아니에요"),
        ("plain", "학생이다", "의사다", "의사니", "의사였다", "의사가 아니다"),
        ("casual", "학생이야", "의사야", "의사야", "의사였어", "의사가 아니야"),
    ],
)
def test_the_copula_has_its_known_forms_in_each_style(
    style: Style, student: str, doctor: str, asked: str, was: str, is_not: str
) -> None:
    assert pt.copula("학생", style) == student
    assert pt.copula("의사", style) == doctor
    assert pt.copula_question("의사", style) == asked
    assert pt.copula_past("의사", style) == was
    assert pt.negative_copula("의사", style) == is_not
