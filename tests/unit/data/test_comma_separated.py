"""A .csv is read as spreadsheets write it."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.data.comma_separated import csv_pairs
from headway.data.corpus import read_pairs, read_sentences
from headway.errors import DataError

USUAL = ("source", "target")


def pairs(path: Path, text: str, fields=USUAL, languages=USUAL) -> list[tuple[str, str]]:
    path.write_bytes(text.encode())
    return list(csv_pairs(path, fields, languages))


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS).filter(any), max_size=6),
    separator=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_what_a_spreadsheet_writes_comes_back(
    tmp_path: Path, rows, separator: str, quoting: int, end: str, mark: str
) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerows([USUAL, *rows])
    assert pairs(tmp_path / "x.csv", mark + file.getvalue()) == rows


def test_columns_are_found_by_language_in_any_order(tmp_path: Path) -> None:
    text = "id;Afrikaans;English\n1;ja;yes\n"
    assert pairs(tmp_path / "x.csv", text, languages=("en", "af")) == [("yes", "ja")]


def test_a_line_break_within_a_text_is_a_space_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    text = 'source,target\n"a \nb","c,d"\n\n"e ""f""",g\n'
    assert pairs(tmp_path / "x.csv", text) == [("a b", "c,d"), ('e "f"', "g")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (
            "hello,hallo\nyes,ja\n",
            "must name the columns, and 'hello', 'hallo' .* put the line source,target above",
        ),
        ("source,target\na,b,c\n", "line 2, has 3 cells, but the first line names 2 columns"),
        ("source,target\na\n", "line 2, has 1 cells, but the first line names 2 columns"),
        ('source,target\n"a,b\nc,d\n', "cannot be read as CSV up to line 3"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pairs(tmp_path / "x.csv", text)


def test_a_field_that_is_not_there_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'english'"):
        pairs(tmp_path / "x.csv", "english,dutch\na,b\n", ("englsh", "dutch"))


def test_a_corpus_reads_it_compressed_or_not(tmp_path: Path) -> None:
    text = b"en,af\nyes,ja\n"
    (tmp_path / "x.csv").write_bytes(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text))
    expected = [("ja", "yes")]
    assert read_pairs(tmp_path / "x.csv", languages=("af", "en")) == expected
    assert read_pairs(tmp_path / "x.csv.gz", languages=("af", "en")) == expected


def test_it_is_no_text_with_a_sentence_a_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds records"):
        read_sentences(tmp_path / "x.csv")
