"""Subtitles: numbers, times and line counts stay."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.documents.fake import ALL, finish, same, split, upper

from headway.documents import Answer, steps_of_text
from headway.errors import DataError

FILM = """\
1
00:00:01,000 --> 00:00:03,500
Hello, my <i>old
friend</i>. How are you

2
00:00:04,000 --> 00:00:06,000 X1:10
after all these years?

3
00:00:07,000 --> 00:00:08,000
{\\an8}- I am fine.
- And you?


4
00:00:09,000 --> 00:00:10,000

5
0:00:11.5 --> 0:00:12.5
♪ 42 ♪
"""


def translated(text: str, translate: object) -> str:
    return finish(steps_of_text(text, "srt", split), translate)[0].content  # type: ignore[arg-type]


def test_a_film_that_is_translated_into_itself_is_the_same() -> None:
    for ends in ("\n", "\r\n"):
        film = FILM.replace("\n", ends)
        assert translated(film, same) == film
        assert translated(film.rstrip(), same) == film.rstrip()


def test_sentences_go_over_lines_and_cues() -> None:
    finished, wishes = finish(steps_of_text(FILM, "srt", split), upper)
    assert [wish.text for wish in wishes] == [
        "Hello, my old friend.", "How are you after all these years?", "I am fine.", "And you?",
    ]  # fmt: skip
    expected = re.sub("^[^0-9].*$", lambda line: line[0].upper(), FILM, flags=re.MULTILINE)
    assert finished.content == expected.replace("<I>", "<i>").replace("</I>", "</i>").replace(
        "{\\AN8}", "{\\an8}"
    )


def test_the_dash_of_a_dialogue_is_no_text_and_a_minus_is() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n"
    text = cue + "- Go.\n<i>-Where?</i>\n{\\an8}— A well <i>-known</i> place\n"
    finished, wishes = finish(steps_of_text(text, "srt", split), same)
    assert finished.content == text
    words = ["Go.", "Where?", "A well -known place"]
    assert [wish.text for wish in wishes][:3] == words
    cold = finish(steps_of_text(f"{cue}-5 degrees\n", "srt", split), same)[1]
    assert [wish.text for wish in cold] == ["-5 degrees"]


TIMES = "00:00:01,000 --> 00:00:02,000"


def test_lines_end_in_proportion() -> None:
    film = f"1\n{TIMES}\none two\nthree\n\n2\n{TIMES}\nfour\n"
    answer = Answer("eins zwei drei vier fünf sechs")
    assert translated(film, lambda wish: answer) == (
        film.replace("one two", "eins zwei drei")
        .replace("three", "vier fünf")
        .replace("four", "sechs")
    )


def test_too_few_words_leave_lines_empty_but_in_their_places() -> None:
    film = f"1\n{TIMES}\none two\nthree\n\n2\n{TIMES}\nfour\n"
    text = translated(film, lambda wish: Answer("a"))
    assert re.findall(".*-->.*", text) == re.findall(".*-->.*", film)


@pytest.mark.parametrize("text", ["", "Hello.\n", "1\nHello.\n"])
def test_a_file_without_cues_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="no subtitle"):
        translated(text, same)


cue = st.lists(
    st.sampled_from(
        ["one two", "- Three.", "<i>four", "five</i>", "가나 다", "{x} six,", "7", "Go?"]
    ),
    max_size=3,
)


@given(st.lists(cue, min_size=1, max_size=6), st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_any_film_keeps_its_cues(cues: list[list[str]], name: str) -> None:
    film = "\n".join(
        f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n" + "".join(f"{line}\n" for line in lines)
        for n, lines in enumerate(cues, 1)
    )
    text = translated(film, ALL[name])
    heads = r"^\d+\n00:00:\d\d,000 --> .*$"
    assert re.findall(heads, text, re.MULTILINE) == re.findall(heads, film, re.MULTILINE)
    assert text.count("\n") == film.count("\n")
    if name == "same":
        assert text == film
