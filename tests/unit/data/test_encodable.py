"""Words that are too long for SentencePiece are cut, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.encodable import encodable, trainable


def test_very_long_words_are_cut_for_every_kind() -> None:
    endless = "xyz" * 50_000
    cut = trainable(endless, is_whole=False)
    assert len(cut) == 150_014
    assert cut.replace(" ", "") == endless
    assert max(map(len, trainable(f"a {endless} b", is_whole=False).split())) == 10_000
    assert trainable("x" * 10_000, is_whole=False) == "x" * 10_000


@pytest.mark.parametrize("letter", ["x", "é", "가", "😀"])
def test_words_that_become_one_piece_are_cut_at_its_longest(letter: str) -> None:
    most = 7_996 // len(letter.encode())
    assert trainable(letter * most, is_whole=True) == letter * most
    cut = trainable(letter * (most + 1), is_whole=True)
    assert cut.replace(" ", "") == letter * (most + 1)
    assert max(len(word.encode()) for word in cut.split()) <= 7_996


@given(st.text(st.sampled_from("aé가ﷺ "), max_size=400), st.integers(1, 40), st.booleans())
def test_no_character_is_lost(text: str, times: int, is_whole: bool) -> None:
    long = encodable(text * times)
    assert trainable(long, is_whole=is_whole).replace(" ", "") == long.replace(" ", "")
