"""Documents are told from text by their names and by their first lines."""

from pathlib import Path

import pytest

from headway.data.documents import kind_of, refuse_document, without_documents
from headway.errors import DataError

HTML = ["<!DOCTYPE html>", "<html>"]
SRT = ["1", "00:00:01,000 --> 00:00:03,000", "Hello."]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("page.html", "an HTML page"),
        ("PAGE.HTM", "an HTML page"),
        ("page.html.gz", "an HTML page"),
        ("film.srt", "subtitles"),
        ("film.vtt", "WebVTT"),
        ("README.md", "Markdown"),
        ("de.po", "a message catalogue"),
        ("a.xlf", "a message catalogue"),
    ],
)
def test_the_name_of_a_text_document_leads_to_a_way_out(name: str, kind: str) -> None:
    with pytest.raises(DataError) as error:
        refuse_document(Path(name))
    assert kind in error.value.message
    assert "--as-text" in error.value.remedy


@pytest.mark.parametrize("name", ["a.docx", "a.pdf", "b.XLSX", "c.odt"])
def test_a_binary_document_has_no_lines_to_take(name: str) -> None:
    with pytest.raises(DataError) as error:
        refuse_document(Path(name))
    assert "--as-text" not in error.value.remedy


@pytest.mark.parametrize(
    "name", ["a.txt", "a.en", "a.ko.gz", "a", "html", "a.md.txt", "news.2026", "train.ts", "a.arb"]
)
def test_other_names_are_text(name: str) -> None:
    refuse_document(Path(name))


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (HTML, "an HTML page"),
        (["", "  <html lang='en'>"], "an HTML page"),
        (['<?xml version="1.0"?>', "<!DOCTYPE html>"], "an HTML page"),
        (['<?xml version="1.0"?>', "<feed>"], "XML"),
        (SRT, "subtitles (SRT)"),
        (["<!DOCTYPE TS>", '<TS version="2.1">'], "a message catalogue"),
        (['<?xml version="1.0"?>', "<!DOCTYPE TS>", "<TS>"], "a message catalogue"),
        (["<ts language='de'>"], "a message catalogue"),
        (["{", '  "@@locale": "ar",'], "JSON"),
        (['{"greeting": "Hello"}'], "JSON"),
        (["\ufeff", "<html>"], "an HTML page"),
        (["\ufeff1", "01:02:03.004 --> 01:02:05.000"], "subtitles (SRT)"),
        (["WEBVTT - a film", "", "00:01.000 --> 00:02.000"], "subtitles (WebVTT)"),
    ],
)
def test_first_lines_of_documents(lines: list[str], kind: str) -> None:
    assert kind_of(lines) == kind


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["", " "],
        ["1", "2"],
        ["The arrow --> points there."],
        ["At 10:15:00,000 it began."],
        ["Write <html> first."],
        ["<b>bold</b>"],
        ["# 1 of them"],
        ["WEBVTTX"],
        ["\ufeff"],
        ["\ufeff", "x"],
        ["{name} has gone.", "{"],
        ["<tse> means this.", "{}"],
    ],
)
def test_first_lines_of_text(lines: list[str]) -> None:
    assert kind_of(lines) == ""


def test_lines_of_text_come_through_as_they_arrive() -> None:
    seen = []

    def groups():
        for group in (["a"], ["b", "c"]):
            seen.append(group)
            yield group

    lines = without_documents(groups(), "Standard input")
    assert next(lines) == ["a"]
    assert seen == [["a"]]
    assert list(lines) == [["b", "c"]]
    assert list(without_documents(iter([]), "x")) == []


def test_lines_of_a_document_do_not() -> None:
    with pytest.raises(DataError, match=r"^Standard input is subtitles \(SRT\)"):
        next(without_documents(iter([SRT]), "Standard input"))
