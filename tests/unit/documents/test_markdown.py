"""Markdown: prose changes, and its structure does not."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.unit.documents.fake import ALL, finish, reverse, same, split, upper

from headway.documents import steps_of_text
from headway.documents.markdown import is_hidden
from headway.documents.passage import Passage, Piece

PAGE = """\
---
title: Not this
---
# A *b **c*** `d` title #

Hello [e *link*](f "t") <http://x.org> ![i](j) \\* &amp; k\\
next line  
m ~~n~~ {ref}`foo` [shortcut] here[^1] and 1. x
- soft
> quoted text
> goes **on here**

|a|b \\| c|
|-|-|
|d *x*|`e` is|

1. item one

   para two

<div>Some <b>html</b></div>

    code block
:::{note}
Within a note
:::
(target)=
```py
code
```
[shortcut]: http://y.org
[^1]: Note text.

Setext
======
"""


def translated(text: str, translate: object) -> str:
    return finish(steps_of_text(text, "md", split), translate)[0].content  # type: ignore[arg-type]


def structure(text: str) -> tuple[list[str], Counter[str]]:
    """Return the blocks in their order, and the markup within them."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    markup = Counter(
        f"{child.type} {child.attrs} {child.content if child.type == 'code_inline' else ''}"
        for token in tokens
        for child in token.children or []
        if child.type not in ("text", "softbreak")
    )
    code = {"fence", "code_block"}
    return [f"{t.type} {t.tag} {t.content if t.type in code else ''}" for t in tokens], markup


def test_a_page_that_is_translated_into_itself_is_the_same() -> None:
    for ends in ("\n", "\r\n"):
        page = PAGE.replace("\n", ends)
        assert translated(page, same) == page


@pytest.mark.parametrize("name", ["upper", "upper_unaligned", "reverse"])
def test_the_structure_stays(name: str) -> None:
    text = translated(PAGE, ALL[name])
    assert structure(text) == structure(PAGE)
    assert "title: Not this" in text
    assert "{ref}`foo`" in text
    assert "[shortcut] " in text
    assert "[^1]: " in text
    assert ":::{note}\n" in text
    assert "\n(target)=\n" in text


def test_prose_is_translated() -> None:
    text = translated(PAGE, upper)
    assert "# A *B **C*** `d` TITLE #" in text
    assert 'HELLO [E *LINK*](f "t") <http://x.org> ![i](j) \\* & K\\\nNEXT LINE  \n' in text
    assert "|D *X*|`e` IS|" in text
    assert "<div>SOME <b>HTML</b></div>" in text
    assert "> QUOTED TEXT\n> GOES **ON HERE**" in text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one 1. two", "two 1\\. one"),
        ("*one* two - three", "three - two *one*"),
        ("one # two", "two # one"),
        ("three `two` one", "one `two` three"),
    ],
)
def test_words_in_another_order_are_no_other_block(source: str, expected: str) -> None:
    text = translated(source, reverse)
    assert structure(text) == structure(source)
    assert text.replace("\\", "") == expected.replace("\\", "")


def test_characters_of_markup_in_new_text_are_escaped() -> None:
    from headway.documents import Answer

    new = "- a *b* _c_ d_e `f` [g](h) <i> ~~j~~ &amp; \\ 1 < 2"
    text = translated("word", lambda wish: Answer(new))
    assert structure(text) == structure("word")
    (block,) = [t for t in MarkdownIt("commonmark").parse(text) if t.type == "inline"]
    assert "".join(child.content for child in block.children or []) == new


pieces = st.lists(
    st.sampled_from([
        "one", "Two.", "가나", "*a b*", "**c**", "`x`", "[d e](u)", "{n}", "\n", "&amp;", 
        "<b>f</b>",
        "\\*", "![i](j)", "https://a.org", "_", "[", "~~g~~", "|",
    ]),
    min_size=1,
    max_size=8,
).map(" ".join)  # fmt: skip
marks = st.sampled_from(["", "# ", "> ", "- ", "1. "])


@given(st.lists(st.tuples(marks, pieces), min_size=1, max_size=4), st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_any_text_keeps_blocks_and_code(blocks: list[tuple[str, str]], name: str) -> None:
    source = "\n\n".join(mark + text for mark, text in blocks)
    text = translated(source, ALL[name])
    if name == "same":
        assert text == source
    old, new = structure(source), structure(text)
    assert [block for block in old[0] if "html" not in block] == [
        block for block in new[0] if "html" not in block
    ]
    for kind in ("code_inline", "image", "html_inline", "link_open"):
        count = [sum(n for m, n in each[1].items() if m.startswith(kind)) for each in (old, new)]
        assert count[0] == count[1], kind


def test_too_few_words_leave_out_lines_and_emphasis() -> None:
    from headway.documents import Answer

    assert translated("one two\nthree *four*\nfive\n", lambda wish: Answer("a b")) == "a\n*b*\n"
    assert translated("**one** `x`\n", lambda wish: Answer("x")) == "`x`\n"


def emphasis_in(text: str) -> int:
    markup = structure(text)[1].items()
    return sum(count for name, count in markup if name.startswith(("em_o", "strong_o", "s_o")))


beside = st.sampled_from(["", "a", "가 ", "は", "5", "(", "、", ".", " ", "€", "[x](y)"])
within = st.sampled_from(["a", "は", "(a)", "「a」", "€5", "a.", "`x`", "[x](y)", "`x`は"])


def test_emphasis_directly_beside_other_emphasis_stays() -> None:
    text = "*a***b** ~~c~~~~d~~ *e*__f__\n"
    assert translated(text, same) == text
    assert structure(translated(text, upper)) == structure(text)


@given(beside, st.sampled_from(["*", "_", "**", "__", "~~"]), within, beside)
def test_emphasis_is_seen_beside_any_text(before: str, mark: str, inner: str, after: str) -> None:
    passage = Passage("", is_hidden=is_hidden)
    text = passage.joined([
        Piece(before), Piece(mark, opens=True), Piece(inner), Piece(mark, closes=True),
        Piece(after),
    ])  # fmt: skip
    assert emphasis_in(text) == 1


@given(within, st.sampled_from(["*", "**", "~~"]), within, st.sampled_from(["", "a"]))
def test_emphasis_is_seen_beside_other_emphasis(a: str, mark: str, b: str, between: str) -> None:
    ends = {"opens": True}, {"closes": True}
    marks = [Piece(mark, **end) for end in ends]
    pieces = [marks[0], Piece(a), marks[1], Piece(between), marks[0], Piece(b), marks[1]]
    text = Passage("", is_hidden=is_hidden).joined(pieces)
    assert emphasis_in(text) == 2


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("**`x` b** a", "xは", "**`x`は**"),
        ("a **`x`**", "はx", "は **`x`**"),
    ],
)
def test_a_kept_text_hides_no_mark_of_emphasis(source: str, target: str, expected: str) -> None:
    from headway.documents import Answer

    text = translated(source, lambda wish: Answer(target))
    assert (text, structure(text)) == (expected, structure(source))


def test_brackets_of_text_become_no_link() -> None:
    source = "[a](b) \\[c]\\(d) [e](f)\n"
    text = translated(source, upper)
    assert text == "[A](b) [C\\](D) [E](f)\n"
    assert structure(text) == structure(source)
    assert translated("(b) [a]\n", reverse) == "[a] (b)\n"
    definition = "\n[two one]: x\n"
    assert translated("[one two]\n" + definition, reverse) == "two\\] \\[one\n" + definition


def test_the_boxes_of_a_list_of_tasks_stay() -> None:
    text = "- [ ] Wash the dog\n- [x] Feed *it*\n- [x](y) is a link\n"
    expected = "- [ ] DOG THE WASH\n- [x] *IT* FEED\n"
    assert translated(text, reverse).upper().startswith(expected.upper())
    assert translated(text, same) == text
