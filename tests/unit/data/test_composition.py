"""Text is in form NFC or not, and two texts differ in form only where a character does."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.composition import composed, differ_in_form, is_decomposed
from headway.data.corpus import Pair
from headway.data.pair_rules import digests

# As read, and in form NFC.
FORMS = [
    ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
    ("fu\u0308r", "für"),
    ("tie\u0302\u0301ng Vie\u0323\u0302t", "tiếng Việt"),
    ("\u0958", "\u0915\u093c"),  # Hindi: Unicode never composes this letter
    ("\u212bngstr\u00f6m", "Ångström"),
]
LETTERS = st.text(st.sampled_from("uü\u0308한\u1112\u1161\u11ab\u0958\u0915\u093c ½"), max_size=8)


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_languages_have_one_form(text: str, expected: str) -> None:
    assert (is_decomposed(text), is_decomposed(expected)) == (True, False)
    assert composed(text) == composed(expected) == expected
    assert differ_in_form([text], [expected])
    assert differ_in_form([expected, "plain"], ["plain", text])
    assert not differ_in_form([text], [text])
    assert not differ_in_form([expected], [expected])
    assert not differ_in_form([text], ["none of these letters"])


@pytest.mark.parametrize("text", ["½", "ﬁ", "²", "Ａ", "\u00a0", "ſ"])
def test_characters_that_only_resemble_others_stay(text: str) -> None:
    assert composed(text) == text


@given(LETTERS, LETTERS)
def test_texts_of_one_form_do_not_differ(first: str, second: str) -> None:
    for form in ("NFC", "NFD"):
        texts = [unicodedata.normalize(form, text) for text in (first, second)]
        assert not differ_in_form(texts[:1], texts[1:])


@given(LETTERS, LETTERS)
def test_pairs_that_look_the_same_compare_as_the_same(source: str, target: str) -> None:
    pair = Pair(source, target)
    others = [
        Pair(*(unicodedata.normalize(form, side) for side in pair)) for form in ("NFC", "NFD")
    ]
    assert {other.comparable() for other in others} == {pair.comparable()}
    assert len(set(digests([pair, *others]).tolist())) == 1
