"""Spaces become plain single ones; characters that carry meaning stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.spaces import has_odd_spaces, with_plain_spaces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u00a0b", "a b"),
        ("a\tb\u2003 c", "a b c"),
        ("dou  ble", "dou ble"),
        ("zero\u200bwidth, soft\u00adhyphen, \ufeffmark", "zerowidth, softhyphen, mark"),
        ("ខ្ញុំ\u200b\u200b\ufeff\u200bស្រឡាញ់", "ខ្ញុំ\u200bស្រឡាញ់"),
        ("ខ្ញុំ\u200b A\u200bក\u200b", "ខ្ញុំ Aក"),
        ("new\nline", "new line"),
        ("line\u2028end\x0bs\x85and\rmore", "line end s and more"),
        ("«\u202fBonjour\u00a0»", "« Bonjour »"),
    ],
)
def test_spaces_become_plain_ones(text: str, expected: str) -> None:
    assert has_odd_spaces(text)
    assert with_plain_spaces(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "東京\u3000大阪",
        "می\u200cخواهم",
        "👩\u200d🔬",
        "ខ្ញុំ\u200bស្រឡាញ់",
        "ဘာ\u200bသာ",
        " spaces around \r",
        "plain",
        "",
    ],
)
def test_meaningful_characters_stay(text: str) -> None:
    assert not has_odd_spaces(text)
    assert with_plain_spaces(text) == text


@given(st.text(st.sampled_from("aก \t\u00a0\u200b\u2009\u3000\u00ad"), max_size=12))
def test_nothing_odd_is_left_and_letters_stay(text: str) -> None:
    plain = with_plain_spaces(text)
    assert not has_odd_spaces(plain)
    assert [letter for letter in plain if letter.isalpha()] == [
        letter for letter in text if letter.isalpha()
    ]
    assert with_plain_spaces(plain) == plain
