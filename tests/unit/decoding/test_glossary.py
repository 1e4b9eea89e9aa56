"""A glossary finds its terms as words, longest first, and refuses what is no entry."""

from pathlib import Path

import pytest

from headway.decoding.glossary import Glossary, as_glossary, looks_like_glossary
from headway.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("entries", "text", "terms"),
    [
        # As words.
        ({"approve": "goedkeur"}, "They approve it.", ["goedkeur"]),
        ({"approve": "goedkeur"}, "They approved it.", []),
        ({"approve": "goedkeur"}, "They disapprove.", []),
        ({"approve": "goedkeur"}, "(approve)", ["goedkeur"]),
        ({"C++": "C++"}, "We write C++.", ["C++"]),
        ({"New  York": "NY"}, "In New York now", ["NY"]),
        # As written, or with a capital at its beginning.
        ({"approve": "goedkeur"}, "Approve it.", ["goedkeur"]),
        ({"approve": "goedkeur"}, "APPROVE it.", []),
        ({"Polish": "Pools"}, "polish it.", []),
        ({"polish": "poleer", "Polish": "Pools"}, "Polish and polish", ["Pools", "poleer"]),
        # With any ending.
        ({"학생*": "student"}, "저는 학생입니다.", ["student"]),
        ({"학생": "student"}, "저는 학생입니다.", []),
        ({"학생*": "student"}, "저는 대학생입니다.", []),
        ({"approv*": "goedkeur"}, "It was approved.", ["goedkeur"]),
        ({"approv*": "goedkeur", "approval": "goedkeuring"}, "the approval", ["goedkeuring"]),
        ({"student*": "b", "student": "a"}, "a student", ["a"]),
        ({"student*": "b", "student": "a"}, "two students", ["b"]),
        # In scripts that put no spaces between words.
        ({"窗户": "window"}, "我买窗户。", ["window"]),
        ({"ไป": "go"}, "ผมไปโรงเรียน", ["go"]),
        # Longest first, and no word twice.
        ({"minister": "m", "prime minister": "pm"}, "The prime minister left.", ["pm"]),
        ({"minister": "m", "prime minister": "pm"}, "Prime minister and minister", ["pm", "m"]),
        ({"a b": "1", "b c d": "2"}, "a b c d", ["2"]),
        ({"a b": "1", "b c": "2"}, "a b c", ["1"]),
        # In the order of the text, each once.
        ({"one": "een", "two": "twee"}, "two, one and two", ["twee", "een"]),
        ({"one": "x", "two": "x"}, "two and one", ["x"]),
        # Whatever form the characters have.
        ({"caf\u00e9": "koffie"}, "the cafe\u0301 here", ["koffie"]),
        ({"apple": "appel"}, "nothing", []),
        # Without a translation the term stays as the text has it.
        ({"headway": "", "run": " "}, "Headway must run, headway runs",
         ["Headway", "run", "headway"]),
    ],
)  # fmt: skip
def test_terms_of_a_text(entries: dict[str, str], text: str, terms: list[str]) -> None:
    assert Glossary(entries).terms(text) == terms


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"": "a"}, "The glossary entry '' has no source term."),
        ({"run*": " "}, r"'run\*' has no translation, but is found with any ending"),
        ({" * ": "a"}, "has no source term"),
        ({"a*b": "c"}, r"has a \* within the term 'a\*b'"),
        ({"a b": "c", "a  b": "d"}, "two translations of 'a b': 'c' and 'd'"),
        ({"a": 1}, "A side of the glossary is of type int"),
        ([("a", "b")], "glossary is of type list"),
        ("a", "glossary is of type str"),
    ],
)
def test_entries_that_cannot_be_are_refused(entries: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        as_glossary(entries)


def test_terms_that_no_text_had_are_unused() -> None:
    glossary = Glossary({"cat": "a", "black cat": "b", "dog": "c"})
    assert glossary.unused == ["cat", "black cat", "dog"]

    glossary.terms("the black cat")  # the longer term takes the word "cat"
    assert glossary.unused == ["cat", "dog"]

    glossary.terms("Cat and bird")
    assert glossary.unused == ["dog"]


def test_a_glossary_without_terms_is_none() -> None:
    assert as_glossary({}) is None
    assert as_glossary(None) is None
    glossary = Glossary({"a": "b"})
    assert as_glossary(glossary) is glossary


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "gl.tsv"
    path.write_text(
        "\ufeffapprove\tgoedkeur\r\n\n 학생* \tstudent\napprove\tgoedkeur\nHeadway\t\n",
        encoding="utf-8",
    )

    glossary = Glossary.read(path)

    assert glossary.targets == ["goedkeur", "student", "Headway"]
    assert glossary.terms("학생이 approve") == ["student", "goedkeur"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc d\n", "line 2 has 1 columns, not two"),
        ("a\tb\tc\n", "line 1 has 3 columns, not two"),
        ("a\tb\n\n\tc\n", "line 3 has no source term"),
        ("a\tb\nx*y\tb\n", r"line 2 has a \* within"),
        ("a\tb\nc\td\na\te\n", "lines 1 and 3 have two translations of 'a': 'b' and 'e'"),
        ("\n", "has no line with a term"),
    ],
)
def test_a_line_that_is_no_entry_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gl.tsv"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DataError, match=message):
        Glossary.read(path)


def test_two_columns_in_every_line_look_like_a_glossary() -> None:
    assert looks_like_glossary(["a\tb", "", "c\td"])
    assert not looks_like_glossary(["a\tb", "c"])
    assert not looks_like_glossary(["a\tb\tc"])
    assert not looks_like_glossary(["", " "])
