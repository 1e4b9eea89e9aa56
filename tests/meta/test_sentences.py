"""Sentences that one can read: short, and without parentheses in parentheses; small table cells."""

import re

import pytest
from markdown_it import MarkdownIt
from tests.meta.not_yet import REMEDY, listed
from tests.meta.pages import LANGUAGES, pages, prose, text_of

LONGEST = 30  # words of a sentence
MEAN = 20  # words of a page's mean sentence
CELL = 40  # words of a table's cell

_MARKDOWN = MarkdownIt().enable("table")
_NESTED = re.compile(r"\([^()]*\([^()]*\)[^()]*\)")


def plain(text: str) -> str:
    """Return text in which code, formulas and the targets of links are one word each."""
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|`[^`]*`", "x", text, flags=re.DOTALL)
    text = re.sub(r"\{[\w:]+\}x", "x", text)  # a role
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> list[str]:
    """Return the sentences outside of tables; a line of a list, and a heading, ends one."""
    lines = [line for line in plain(text).splitlines() if not line.lstrip().startswith("|")]
    marked = re.sub(r"^\s*(?:[-*+]|\d+\.|#+|>) ", "\n", "\n".join(lines), flags=re.MULTILINE)
    blocks = re.split(r"\n\s*\n", marked)
    parts = (re.split(r"(?<=[.!?:;])[*_)\"”]*\s+", " ".join(block.split())) for block in blocks)
    return [sentence for block in parts for sentence in block if len(sentence.split()) > 2]


def cells_of_tables(text: str) -> list[str]:
    """Return the cells of all tables."""
    rows = [line for line in plain(text).splitlines() if line.lstrip().startswith("|")]
    return [cell.strip() for row in rows for cell in row.strip().strip("|").split("|")]


def not_closed(text: str) -> list[str]:
    """Return the texts that show their asterisks, as in `**code**` with a Korean particle."""
    found = [words for block in _texts(text) for words in block]
    return [words for words in found if re.search(r"\*\S|\S\*", words)]


def struck_through(text: str) -> list[str]:
    """Return the texts with two tildes, which GitHub strikes through: `1~2 and 3~4`."""
    found = [" ".join(block) for block in _texts(text)]
    return [words for words in found if words.count("~") > 1]


def _texts(text: str) -> list[list[str]]:
    """Return the words of each paragraph and cell, in parts, without code and formulas."""
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "x", text, flags=re.DOTALL)
    inline = [block.children or [] for block in _MARKDOWN.parse(text)]
    return [[part.content for part in parts if part.type == "text"] for parts in inline]


def faults(language: str, text: str) -> dict[str, list[str]]:
    """Return what is hard to read on a page, by its kind; in Korean, marks alone."""
    text = prose(text)
    found = {
        "parentheses in parentheses": _NESTED.findall(plain(text)),
        "asterisks that are shown": not_closed(text),
        "text struck through": struck_through(text),
    }
    if language == "en":
        lengths = {sentence: len(sentence.split()) for sentence in sentences(text)}
        mean = sum(lengths.values()) / max(1, len(lengths))
        cells = cells_of_tables(text)
        found |= {
            "long sentences": [line for line, words in lengths.items() if words > LONGEST],
            "a long mean sentence": [f"{mean:.1f} words"] if mean > MEAN else [],
            "long cells": [cell for cell in cells if len(cell.split()) > CELL],
        }
    return {kind: places for kind, places in found.items() if places}


def kinds_of_faults() -> dict[str, list[str]]:
    """Return the kinds of faults of every page that has some."""
    found = {
        f"{language}/{page}": [*faults(language, text_of(language, page))] for language, page in ALL
    }
    return {page: kinds for page, kinds in found.items() if kinds}


ALL = [(language, page) for language in LANGUAGES for page in pages(language)]


@pytest.mark.parametrize(("language", "page"), ALL)
def test_a_page_can_be_read(language: str, page: str) -> None:
    found = faults(language, text_of(language, page))
    then = {*listed("sentences").get(f"{language}/{page}", [])}
    assert {kind: places for kind, places in found.items() if kind not in then} == {}
    assert then - {*found} == set(), REMEDY


def test_faults_are_found() -> None:
    words = "word " * 31
    text = f"# A heading\n\n{words}end. Short (a (b) c) one.\n\n| {'cell ' * 41}| b |\n"
    assert faults("en", text) == {
        "parentheses in parentheses": ["(a (b) c)"],
        "long sentences": [f"{words}end."],
        "long cells": [("cell " * 41).strip()],
    }
    assert [*faults("ko", text)] == ["parentheses in parentheses"]
    text = "**`a`**: right. **단어**는 맞고 **`b`**는 틀립니다.\n"
    assert faults("ko", text) == {"asterisks that are shown": ["는 맞고 **", "**는 틀립니다."]}
    text = "*단어*는 맞고, $a * b*c$와 2 * 3도 맞고, *I am.*은 틀립니다.\n"
    assert [*faults("ko", text)] == ["asterisks that are shown"]
    text = "| `~/a~` 1~2 | `~` 3~4 |\n|---|---|\n| 1~2배 | 3–4배, `~`와 `~` |\n\n1~2배, **3~4배**\n"
    assert faults("ko", text) == {"text struck through": ["1~2배,  3~4배 "]}


def test_every_page_of_the_list_exists() -> None:
    assert {*listed("sentences")} <= {f"{language}/{page}" for language, page in ALL}, REMEDY
