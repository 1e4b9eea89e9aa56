"""Sentences in capitals become sentences, and their translations capitals."""

import pytest

from headway.documents.capitals import as_sentence, in_capitals, is_in_capitals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DO NOT ENTER", True),
        ("DO NOT ENTER THE Room", False),
        ("NASA", False),
        ("NASA ESA", False),
        ("WARNUNG", False),
        ("NICHT ÖFFNEN! 24 V", True),
        ("문을 열지 마시오", False),
        ("", False),
        ("TBMM DÖNEMİ", False),
    ],
)
def test_capitals_are_two_words_or_more(text: str, expected: bool) -> None:
    assert is_in_capitals(text) is expected


def test_kept_text_says_nothing_about_capitals_and_is_not_changed() -> None:
    text = "SEE {name} AT www.example.com NOW"
    spans = [(4, 10), (14, 29)]
    assert is_in_capitals(text, spans)
    assert as_sentence(text, spans) == "See {name} at www.example.com now"
    assert in_capitals("See {name} at www.example.com now", spans) == text


def test_a_letter_that_becomes_two_is_no_error() -> None:
    assert in_capitals("große straße") == "GROSSE STRASSE"
