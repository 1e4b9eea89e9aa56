"""Addresses, placeholders and tags are found; the marks of the sentence around them are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.documents.kept import has_letters, kept_spans, occurrences


def kept(text: str, *literals: str) -> list[str]:
    return [text[start:end] for start, end in kept_spans(text, literals)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://example.com/a?b=1&c=2#d.", ["https://example.com/a?b=1&c=2#d"]),
        ("(at www.example.com/x_(1))", ["www.example.com/x_(1)"]),
        ("https://example.com에서 봅니다", ["https://example.com"]),
        ("Write to a.b+c@example.co.uk, please", ["a.b+c@example.co.uk"]),
        ("Hello {name}, {0} of {{ total }} in ${HOME} %{x}",
         ["{name}", "{0}", "{{ total }}", "${HOME}", "%{x}"]),
        ("{count, plural, one {# file} other {{n} files}} left",
         ["{count, plural, one {# file} other {{n} files}}"]),
        ("%1$s has %d of %(total)s, %5.2f%%", ["%1$s", "%d", "%(total)s", "%5.2f", "%%"]),
        ("100% sure, 5%d, 50%", []),
        ("%dpx wide", ["%d"]),
        ('Click <x id="1"/>here<b class="a>b">now</b><!-- c -->',
         ['<x id="1"/>', '<b class="a>b">', "</b>", "<!-- c -->"]),
        ("1 < 2 and 3 > 2", []),
        (":smile: at 10:30:45, a::b::c", [":smile:"]),
        ("AT&amp;T &#233; &copy A&B;", ["&amp;", "&#233;"]),
    ],
)  # fmt: skip
def test_what_is_kept(text: str, expected: list[str]) -> None:
    assert kept(text) == expected


def test_own_texts_are_whole_words_and_come_first() -> None:
    assert kept("Headway, Headways, Head and a.b", "Head", "Headway", "a.b") == [
        "Headway", "Head", "a.b",
    ]  # fmt: skip
    assert kept("Headway를 씁니다", "Headway") == ["Headway"]


def test_occurrences_do_not_share_characters() -> None:
    assert occurrences("%s and %s {a{b}} {b}", ["%s", "{b}", "{a{b}}"]) == [
        (0, 2, "%s"), (7, 9, "%s"), (10, 16, "{a{b}}"), (17, 20, "{b}"),
    ]  # fmt: skip


def test_letters_within_kept_text_do_not_count() -> None:
    text = "{name}: 1 "
    assert not has_letters(text, kept_spans(text))
    assert has_letters(text + "개", kept_spans(text))


@given(st.lists(st.sampled_from([*"<>/a {}%dsS@.:&;-!#1(", "www.", "https://"]), max_size=12))
def test_text_without_the_mark_of_a_pattern_is_searched_no_further(units: list[str]) -> None:
    """A literal that does not occur changes nothing, but turns the look at the marks off."""
    text = "".join(units)
    assert kept_spans(text) == kept_spans(text, ["absent"])


@pytest.mark.parametrize(
    "unit", ["{", "{a", "<!--", "<a ", "a@", "%0", "&a", ":a", "http://x)", "a"]
)
def test_a_search_takes_time_in_proportion_to_the_text(unit: str) -> None:
    """A pattern that takes quadratic time would take an hour here."""
    text = unit * (400_000 // len(unit))
    assert all(end > start for start, end in kept_spans(text))
