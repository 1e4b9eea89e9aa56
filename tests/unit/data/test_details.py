"""Numbers and addresses of two sides: different ones are told from other spellings."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.details import (
    addresses,
    has_other_addresses,
    has_other_markup,
    has_other_numbers,
)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("1,000.5 metres", "1.000,5 Meter"),
        ("1,234,567", "1 234 567"),
        ("1'000 Franken", "1\u202f000 francs"),
        ("10,00,000 rupees", "1,000,000 Rupien"),
        ("50%", "50 Prozent"),
        ("2.50", "2,5"),
        ("on 12.05.2020", "2020년 5월 12일"),  # the parts are compared
        ("May 5, 2020", "2020년 5월 5일"),
        ("three apples", "사과 3개"),
        ("3 million", "3,000,000"),
        ("3.5 million", "350만"),
        ("30,000 won", "3만 원"),
        ("30,000", "３万"),
        ("١٢٣٤", "1234"),
        ("Room 007", "Zimmer 007"),
        ("no number", "kein Zahlwort"),
        ("see http://a.org/2020", "siehe hier"),  # a matter of addresses
        ("10 or 20", "20 oder 10"),
    ],
)
def test_the_same_numbers_are_the_same(source: str, target: str) -> None:
    assert not has_other_numbers(source, target)
    assert not has_other_numbers(target, source)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("in 1998", "1989년에"),
        ("in 1998", "damals"),
        ("1.5", "15"),
        ("1.05", "1.5"),
        ("3.10", "3.1.0"),
        ("10 men", "100 Männer"),
        ("a default value of 0", "기본값 1"),
        ("melts at 1,051°C", "1,050°C"),
        ("2.7", "zwei"),
        ("2 of 2.7", "2"),
        ("10 20", "10 21"),
    ],
)
def test_other_numbers_are_other_ones(source: str, target: str) -> None:
    assert has_other_numbers(source, target)
    assert has_other_numbers(target, source)


@given(st.decimals(0, 10**9, places=2), st.decimals(0, 10**9, places=2))
def test_numbers_are_compared_by_value_whatever_their_separators(one: Decimal, two: Decimal):
    english = f"{one:,}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert not has_other_numbers(english, german)
    differ_by_zeros = one.normalize().as_tuple().digits == two.normalize().as_tuple().digits
    if one != two and not differ_by_zeros:
        assert has_other_numbers(f"{one}", f"{two}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://Example.com/a_b/.", {"example.com/a_b"}),
        ("(http://example.com/a_(b))", {"example.com/a_(b)"}),
        ("https://example.com/에서", {"example.com"}),
        ("www.example.com, or Me.Too@a-b.co.uk!", {"www.example.com", "me.too@a-b.co.uk"}),
        ("ftp://u@h.org/x", {"ftp://u@h.org/x"}),
        ("5 @ 3 :// wwwhat", set()),
    ],
)  # fmt: skip
def test_addresses_are_found_without_what_is_around_them(text: str, expected: set[str]) -> None:
    assert addresses(text) == expected


def test_addresses_of_one_side_alone_are_a_difference() -> None:
    assert has_other_addresses("at https://a.org/x", "bei https://a.org/y")
    assert has_other_addresses("ask me@a.org", "frag mich")
    assert not has_other_addresses("at http://a.org/", "bei https://A.org")


def test_a_code_of_html_is_its_character_and_no_number() -> None:
    assert not has_other_numbers("Send &#97; voucher", "Stuur een voucher")
    assert not has_other_numbers("It&#39;s 40", "Het is 40")
    assert has_other_numbers("It&#39;s 40", "Het is 50")
    assert not has_other_numbers("&#52;0 lines", "40 regels")


@pytest.mark.parametrize(
    ("source", "target", "differ"),
    [
        ("<b>Bold</b>", "Fett", True),
        ("&lt;b&gt;Bold&lt;/b&gt;", "Fett", True),
        ("&lt;b&gt;Bold&lt;/b&gt;", "<b>Fett</b>", False),
        ("<b>One</b> <b>two</b>", "<b>Eins</b> zwei", True),
        ("<b>Bold</b>", "<b>Fett<b>", True),
        ('<a href="/en">One</a> <I>two</I><br>', '<i>Zwei</i> <a href="/de">eins</a><br />', False),
        ("<p>One</p>", "<pre>Eins</pre>", True),
        ("a < b and c > d", "a ist kleiner als b", False),
        ("3 <4 or 5> 2, <3, ->", "drei", False),
    ],
)
def test_markup_differs_by_the_names_and_numbers_of_tags(
    source: str, target: str, differ: bool
) -> None:
    assert has_other_markup(source, target) is differ
    assert has_other_markup(target, source) is differ
