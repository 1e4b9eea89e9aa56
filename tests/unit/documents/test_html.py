"""HTML: only text changes, and tags go where their words go."""

import pytest
from tests.unit.documents.fake import finish, reverse, same, split, upper, upper_unaligned

from headway.documents import steps_of_text
from headway.documents.steps import Answer

PAGE = """<!DOCTYPE html>\r
<html lang=en><head><title>A page &amp; more</title><style>p > a { color: red }</style>
<script>if (a < b) { "</p>" }</script></head><body class='x' data-a="<b>">
<!-- A comment -->
<h1>The <em>first</em> title</h1>
<p>Hello <b>world</b>, this is <a href="/x?a=1&amp;b=2">a link</a>.
   It goes on&hellip; with <code>pip install x</code> and caf&eacute;&nbsp;!</p>
<pre> kept
  text</pre><ul><li>One<li>Two <img src=a.png> and <br>three</ul>
<p translate="no">Not this, <span translate=yes>but this</span>.</p>
<p class="a notranslate">Nor this</p>
<textarea>Nor this</textarea></body></html>
"""


def translated(page: str, translate: object = upper) -> str:
    return finish(steps_of_text(page, "html", split), translate)[0].content  # type: ignore[arg-type]


def test_a_page_that_is_translated_into_itself_is_the_same() -> None:
    assert translated(PAGE, same) == PAGE


def test_only_text_changes() -> None:
    assert translated(PAGE) == (
        PAGE.replace("A page &amp; more", "A PAGE &amp; MORE")
        .replace("The <em>first</em> title", "THE <em>FIRST</em> TITLE")
        .replace("Hello <b>world</b>, this is", "HELLO <b>WORLD</b>, THIS IS")
        .replace("a link", "A LINK")
        .replace("It goes on&hellip; with <code>", "IT GOES ON&hellip; WITH <code>")
        .replace("and caf&eacute;&nbsp;!", "AND CAFÉ !")
        .replace("<li>One<li>Two <img src=a.png> and <br>three", 
                 "<li>ONE<li>TWO <img src=a.png> AND <br>THREE")
        .replace("but this", "BUT THIS")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("Hello <b>big</b> <i>world</i>.", "<i>world</i>. <b>big</b> Hello"),
        ("a <b>b <i>c</i></b> d", "d <b><i>c</i> b</b> a"),
        ("<b>one two</b> three", "three <b>two one</b>"),
        ('go <a href="x">there</a>, now', 'now <a href="x">there</a>, go'),
        ("<b>One.</b> Two three.", "<b>One.</b> three. Two"),
        ("one<sup>1</sup> two", "two one<sup>1</sup>"),
        ("one <img src=a> two", "two one <img src=a>"),
    ],
)  # fmt: skip
def test_elements_follow_their_words(page: str, expected: str) -> None:
    assert translated(page, reverse) == expected


def test_an_element_over_two_sentences_joins_them() -> None:
    finished, wishes = finish(steps_of_text("One <b>two. Three</b> four.", "html", split), upper)
    assert [(wish.text, wish.split) for wish in wishes] == [("One two. Three four.", True)]
    assert finished.content == "ONE <b>TWO. THREE</b> FOUR."


def test_an_element_around_whole_sentences_leaves_them_apart() -> None:
    finished, wishes = finish(steps_of_text("<b>One. Two.</b> Three.", "html", split), upper)
    assert [wish.text for wish in wishes] == ["One.", "Two.", "Three."]
    assert finished.content == "<b>ONE. TWO.</b> THREE."


def test_without_an_alignment_words_correspond_by_place() -> None:
    page = "one two <b>three</b> four"
    assert translated(page, upper_unaligned) == "ONE TWO <b>THREE</b> FOUR"


def test_an_element_without_aligned_words_gets_the_nearest() -> None:
    page = "one two <b>three</b> four"
    answer = Answer("ein zwei drei vier", ((0, 0), (1, 1), (3, 3)))
    assert translated(page, lambda wish: answer) == "ein zwei <b>drei</b> vier"


def test_a_kept_element_is_around_its_own_text_only() -> None:
    page = "Run <b>the <code>ls &amp;</code></b> now"
    answer = Answer("Jetzt ls & das laufen", ((3, 0), (1, 2), (2, 3), (0, 1)))
    assert translated(page, lambda wish: answer).count("ls") == 1


@pytest.mark.parametrize(
    "page",
    [
        "<b><p>x y</b> z</p><i>a <u>b</i> c</u> d",
        "</p></p>x <b>y",
        "a < b <> </> </ x> & &amp &x; <",
        "x <b y",
        "<code>a <p>b</code> c",
        "<p>a <code>b</p><p>c</p>",
        "<svg><![CDATA[a<b]]></svg> x",
    ],
)
def test_broken_pages_keep_all_their_tags_in_order(page: str) -> None:
    assert translated(page, same) == page
    text = translated(page, reverse)
    for tag in ("<p>", "</p>", "<b>", "</b>", "<u>", "</u>", "<code>", "</code>", "<svg>"):
        assert text.count(tag) == page.count(tag)


def test_new_text_is_escaped() -> None:
    page = "<p>one&nbsp;&copy; two</p>"
    assert translated(page, lambda wish: Answer("1 < 2 & ©")) == "<p>1 &lt; 2 &amp; &copy;</p>"


def test_deep_nesting_is_no_error() -> None:
    page = "<b>" * 3000 + "one <i>two</i>" + "</b>" * 3000 + " three"
    assert translated(page, same) == page
    assert translated(page).count("<b>") == 3000


def test_placeholders_of_translation_programs_stay_in_the_sentence() -> None:
    page = 'Open <x id="1"/> and <g id="2">close</g> it'
    finished, wishes = finish(steps_of_text(page, "html", split), reverse)
    assert len(wishes) == 1
    assert finished.content.count('<x id="1"/>') == 1
    assert '<g id="2">close</g>' in finished.content


def test_an_element_with_spaces_alone_takes_no_word() -> None:
    page = "<p>Hello<b> </b>big <u> </u>world</p>"
    assert translated(page, same) == page
    assert translated(page) == "<p>HELLO<b></b> BIG <u></u>WORLD</p>"
    assert translated(page, upper_unaligned) == translated(page)
