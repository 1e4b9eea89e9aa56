"""Laws of documents, for translators that change, drop, double and invent text."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.documents.fake import ALL, finish, reverse, same, split, upper
from turbohtml import TokenType, tokenize

from headway.documents import TextSentence, steps_of_text
from headway.documents.kept import kept_spans

WORDS = ["one", "Two.", "tree", "É", "가나", "x,", "42", "A&amp;B", "&nbsp;", "&copy;", " ", "\n  "]
KEPT = ["{name}", "%1$s", "https://example.com/a?b", "a@example.com", ":smile:", "${x}"]
TAGS = ["<b>", "</b>", "<p>", "</p>", "<i x='1'>", "</i>", "<img>", "<br>", "<code>", "</code>",
        "<!-- c -->", "</>", "<", "&", "<div translate=no>", "</div>", "<pre>", "</pre>", "<a",
        "<script>", "</script>", "\0", "\r\n", "<![CDATA[", "]]>", "<textarea>", "</textarea>",
        "<title>", "</title>", "<span class=notranslate>", "</span>", "<x/>"]  # fmt: skip
soup = st.lists(st.sampled_from(WORDS + KEPT + TAGS), max_size=25).map("".join)


@given(soup)
@settings(deadline=None)
def test_identity_gives_the_same_page(page: str) -> None:
    assert finish(steps_of_text(page, "html", split), same)[0].content == page


def tags(page: str) -> list[str]:
    return [
        token.source or ""
        for token in tokenize(page, resolve_references=False, capture_source=True)
        if token.type in (TokenType.START_TAG, TokenType.END_TAG, TokenType.COMMENT)
    ]


@given(soup, st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_any_page_keeps_its_tags(page: str, name: str) -> None:
    """Tags that a translator invents are escaped, so that they are none."""
    text = finish(steps_of_text(page, "html", split), ALL[name])[0].content
    assert Counter(tags(text)) == Counter(tags(page))


@given(soup, st.sampled_from(["upper_unaligned", "twice", "nothing"]))
@settings(deadline=None)
def test_blocks_keep_their_order(page: str, name: str) -> None:
    blocks = [tag for tag in tags(page) if tag[:2] not in ("<b", "<i", "<!", "<x", "<s", "<c")]
    text = finish(steps_of_text(page, "html", split), ALL[name])[0].content
    inline = ("<b", "<i", "<!", "<x", "<s", "<c", "</b", "</i", "</s", "</c")
    outer = [tag for tag in tags(text) if not tag.startswith(inline)]
    assert outer == [tag for tag in blocks if not tag.startswith(inline)]


inline = st.recursive(
    st.sampled_from([*WORDS, *KEPT, "<img>"]),
    lambda inner: st.tuples(
        st.sampled_from(["b", "i", "a", "code", "span"]), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)
blocks = st.lists(
    st.tuples(st.sampled_from(["p", "div", "h1"]), st.lists(inline, max_size=6)), max_size=4
)


def written(node: object, number: list[int]) -> str:
    """Write a node with a number for each element."""
    if isinstance(node, str):
        return node
    name, children = node  # type: ignore[misc]
    number[0] += 1
    own = number[0]
    inner = " ".join(written(child, number) for child in children)
    return f'<{name} id="{own}">{inner}</{name}>'


def parents(page: str) -> dict[str, str]:
    """Return the parent of each numbered element."""
    inside, found = [""], {}
    for token in tokenize(page):
        if token.type == TokenType.START_TAG and token.tag != "img":
            name = token.attr("id") or ""
            assert name not in found
            found[name] = inside[-1]
            inside.append(name)
        elif token.type == TokenType.END_TAG:
            inside.pop()
    return found


@given(blocks, st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_a_well_formed_page_keeps_its_nesting(page: list[object], name: str) -> None:
    number = [0]
    source = "\n".join(written(block, number) for block in page)
    text = finish(steps_of_text(source, "html", split), ALL[name])[0].content
    assert parents(text) == parents(source)
    assert text.count("<img>") == source.count("<img>")


@given(blocks, st.sampled_from(["upper", "upper_unaligned", "nothing"]))
@settings(deadline=None)
def test_what_has_been_translated_stays(page: list[object], name: str) -> None:
    source = "\n".join(written(block, [0]) for block in page)
    once = finish(steps_of_text(source, "html", split), ALL[name])[0].content
    assert finish(steps_of_text(once, "html", split), ALL[name])[0].content == once


lines = st.lists(
    st.tuples(
        st.sampled_from(["", "  ", "\t", "\u3000"]),
        st.lists(st.sampled_from(["one", "Two.", "tree", "가나.", *KEPT]), max_size=6),
        st.sampled_from(["", " ", "\t "]),
        st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028", "\x0c"]),
    ),
    max_size=6,
)


@given(lines, st.sampled_from(["same", "upper", "upper_unaligned", "reverse", "nothing"]))
@settings(deadline=None)
def test_lines_keep_what_is_around_them_and_what_is_kept(
    parts: list[tuple[str, list[str], str, str]], name: str
) -> None:
    texts = [" ".join(words) for _, words, _, _ in parts]
    source = "".join(f"{b}{t}{a}{e}" for (b, _, a, e), t in zip(parts, texts, strict=True))
    text = finish(steps_of_text(source, "text", split), ALL[name])[0].content
    for old, new in zip(source.splitlines(), text.splitlines(), strict=True):
        if new.strip() and name != "nothing":
            assert new[: len(new) - len(new.lstrip())] == old[: len(old) - len(old.lstrip())]
        kept = Counter(old[start:end] for start, end in kept_spans(old))
        assert kept == Counter(new[start:end] for start, end in kept_spans(new))
    if name == "same":
        assert text == source


@pytest.mark.parametrize("translate", [upper, reverse])
def test_a_long_paragraph_with_many_elements_takes_seconds(translate: object) -> None:
    page = "".join(f"word <b>{n} bold</b> <img> https://example.com/{n} " for n in range(800))
    text = finish(steps_of_text(page, "html", split), translate)[0].content  # type: ignore[arg-type]
    assert Counter(tags(text)) == Counter(tags(page))


@pytest.mark.parametrize(
    "unit", ["<", "<b>", "<b>x", "<div>", "</x>", "<div></x>x", "&amp;", "<!--", "<sup>x"]
)
def test_a_page_of_one_thing_takes_time_in_proportion(unit: str) -> None:
    """What takes quadratic time would take hours here."""
    page = "<i>" + unit * (200_000 // len(unit))
    assert finish(steps_of_text(page, "html", list_of_one), same)[0].content == page


def list_of_one(text: str) -> list[TextSentence]:
    """Take a text as one sentence, because it is none."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return [TextSentence(start, end, text[start:end], None)]
