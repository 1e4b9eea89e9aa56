"""Codes of HTML become characters, but not where a sentence speaks of them."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.html_codes import decoded, has_broken_codes, has_codes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stone &amp; tile", "stone & tile"),
        ("Texas A&amp;M", "Texas A&M"),
        ("&quot;Well&quot;, he said &#8211; &#x27;no&#X27;", "\"Well\", he said – 'no'"),
        ("&amp;amp;lt;b&amp;amp;gt;", "<b>"),
        ("caf&eacute; &#150; na&iuml;ve", "café – naïve"),
        ("one&#10;two&NewLine;three", "one two three"),
        ("AT&T; R&D; ?a=1&copy=2 &notit;", "AT&T; R&D; ?a=1&copy=2 &notit;"),
        ("&#0; &#xD800;", "&#0; &#xD800;"),
        ("use &#x27;[]&#x27;, (&#x27;:&#x27;) or &quot;,&quot;.", "use '[]', (':') or \",\"."),
        ("a&nbsp;b", "a\u00a0b"),
        ("H&amp;amp, R Block", "H&, R Block"),
        ("R&amp D, Q&amp;amp", "R& D, Q&"),
        ("?a=1&amp=2, &ampere, x&amp;lt y", "?a=1&amp=2, &ampere, x&lt y"),
    ],
)  # fmt: skip
def test_codes_become_characters(text: str, expected: str) -> None:
    for other in ("", text):
        assert decoded(text, other) == expected
        assert has_codes(text, other) == (text != expected)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("'&amp;', '&lt;' and '&gt;' are unescaped", "'&amp;', '&lt;' 및 '&gt;'는"),
        ("(e.g. &gt;, &#62;, &#x3e;) in the string", "(예를 들어, &gt;, &#62;, &#x3e;)를"),
        ("&gt; is &#62;, and &#x3E;; hence", "&gt;는 &#62;이고, &#x3E;입니다"),
        ("'&quot;' is a quote", "'&quot;' ist ein Zeichen"),
        ("&gt;는 &#62;이고, &#x3E;입니다", "&gt; is &#62;, and &#x3E;; hence"),
        ("write `&amp;` for it", ""),
        ("&lt; is the code of <", ""),
    ],
)
def test_a_sentence_about_codes_keeps_them(text: str, other: str) -> None:
    assert decoded(text, other) == text


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("Jeans & amp", True),
        ("tea & amp ; milk", True),
        ("tea &amp ; milk", True),
        ("a &lt b", True),
        ("it&#39s", True),
        ("it&#39 s", True),
        ("tea &amp; milk", False),
        ("songs #1 & #12", False),
        ("Tom & Jerry & amply", False),
        ("?a=1&lt=2&gt-x=3", False),
        ("int& lt_x", False),
        ("plain", False),
    ],
)
def test_codes_that_may_be_broken(text: str, is_broken: bool) -> None:
    assert has_broken_codes(text) == is_broken
    assert not is_broken or decoded(text) == text


def test_only_the_levels_that_were_added_are_undone_where_tags_stand() -> None:
    assert decoded("a &amp;lt; b") == "a < b"
    assert decoded("<b>&amp;lt;</b>") == "<b>&lt;</b>"


@given(
    st.text(st.characters(exclude_categories=["C", "Z"]), max_size=30).filter(
        lambda t: "&" not in t
    )
)
def test_what_was_escaped_is_had_back(text: str) -> None:
    assert decoded(html.escape(text)) == text
    assert decoded(html.escape(html.escape(text))) == text


@given(
    st.text(st.sampled_from("&;ampltgt#x3< ',a"), max_size=30),
    st.text(st.sampled_from("&lt;"), max_size=9),
)
def test_there_is_nothing_left_to_decode(text: str, other: str) -> None:
    assert not has_codes(decoded(text, other), other)
