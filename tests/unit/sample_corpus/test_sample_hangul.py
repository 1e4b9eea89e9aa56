"""Syllable arithmetic: composing and decomposing are inverse to each other."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sample_corpus import hangul

SYLLABLES = st.integers(0xAC00, 0xD7A3).map(chr)


@given(SYLLABLES)
def test_composing_the_letters_of_a_syllable_gives_it_back(syllable: str) -> None:
    assert hangul.compose(*hangul.decompose(syllable)) == syllable


@given(SYLLABLES)
def test_a_syllable_has_a_final_exactly_if_unicode_takes_it_into_three_parts(syllable: str) -> None:
    parts = unicodedata.normalize("NFD", syllable)
    assert (len(parts) == 3) == bool(hangul.final_of(syllable))


@given(SYLLABLES, st.sampled_from(hangul.FINALS))
def test_replacing_the_final_changes_nothing_else(syllable: str, final: str) -> None:
    before, after = hangul.decompose(syllable), hangul.decompose(hangul.with_final(syllable, final))
    assert after == (before.initial, before.vowel, final)


@pytest.mark.parametrize(
    ("syllable", "letters"),
    [("가", ("ㄱ", "ㅏ", "")), ("힣", ("ㅎ", "ㅣ", "ㅎ")), ("닭", ("ㄷ", "ㅏ", "ㄺ")),
     ("왔", ("ㅇ", "ㅘ", "ㅆ"))],
)  # fmt: skip
def test_known_syllables_have_their_letters(syllable: str, letters: tuple[str, str, str]) -> None:
    assert hangul.decompose(syllable) == letters


@pytest.mark.parametrize("character", ["a", "ㄱ", "", "가나", " "])
def test_what_is_not_one_syllable_is_refused(character: str) -> None:
    assert not hangul.is_syllable(character)
    with pytest.raises(ValueError, match="not one composed Hangul syllable"):
        hangul.decompose(character)
