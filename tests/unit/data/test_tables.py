"""One file with both sides: columns, JSON lines, Parquet."""

import io
import json
import random
import sys
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from headway.data import tables
from headway.data.corpus import Pair, read_pairs
from headway.data.tables import (
    column_names,
    header_remark,
    jsonl_pairs,
    parquet_pairs,
    tsv_pairs,
)
from headway.errors import ConfigError, DataError, MissingExtraError

from .files import ENDINGS, compress, write


def test_a_tab_separates_columns_and_nothing_else_does(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '"one\t"eins"\t1\n two, 2 \t\t2\r\n')
    assert read_pairs(path) == [Pair('"one', '"eins"'), Pair(" two, 2 ", "")]
    assert read_pairs(path, source_column=2, target_column=0) == [
        Pair("1", '"one'),
        Pair("2\r", " two, 2 "),
    ]


def test_a_row_with_too_few_columns_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\ntwo\n")
    with pytest.raises(DataError, match=r"a\.tsv, line 2, has 1 column;"):
        read_pairs(path)
    with pytest.raises(DataError, match=r"2 columns; columns 1 and 4 \(counted from 1\) are"):
        read_pairs(path, target_column=3)


def test_a_tab_within_a_sentence_is_named_and_not_cut_at(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\tx\ntwo\tzwei\t\t\t\nthree\tdr\tei\ty\n")
    with pytest.raises(DataError, match=r"a\.tsv, line 3, has 4 columns, but the first line 3,"):
        read_pairs(path)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        read_pairs(write(tmp_path / "a.tsv", ""))


@pytest.mark.parametrize(("source", "target"), [(-1, 0), (0, -1), (1, 1)])
def test_impossible_columns_are_refused(tmp_path: Path, source: int, target: int) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pairs(path, source_column=source, target_column=target)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["a.jsonl", "A.NDJSON"])
def test_json_lines_have_fields_and_fields_in_fields(
    tmp_path: Path, name: str, ending: str
) -> None:
    text = '{"source": "하나\\n", "target": "one", "more": 1}\n{"target": "", "source": "\u2028"}'
    path = write(tmp_path / f"{name}{ending}", text)
    assert read_pairs(path) == [Pair("하나\n", "one"), Pair("\u2028", "")]
    nested = write(tmp_path / f"b.jsonl{ending}", '{"translation": {"ko": "둘", "en": "two"}}\n')
    fields = {"source_field": "translation.ko", "target_field": "translation.en"}
    assert read_pairs(nested, **fields) == [Pair("둘", "two")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "line 2, is not JSON"),
        ("{", "line 2, is not JSON"),
        ("3", "line 2, is not a JSON object"),
        ('["source", "target"]', "line 2, is not a JSON object"),
        ('{"source": "a", "target": "b", "source": "c"}', "two fields 'source' in one object"),
        ('{"sorce": "a", "target": "b"}', "line 2, has no field 'source'. Did you mean 'sorce'"),
        ('{"source": "a\\ud83d", "target": "b"}', "line 2, has half a character"),
        ("[" * 100_000, "line 2, is not JSON"),
        (
            '{"source": null, "target": "b"}',
            "line 2, has null in field 'source', which is not text",
        ),
        ('{"source": "a", "target": ["b"]}', r'line 2, has \["b"\] in field \'target\''),
    ],
)
def test_a_line_without_both_texts_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=message):
        read_pairs(path)


def write_parquet(path: Path, columns: dict[str, list[object]]) -> Path:
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_parquet_has_columns_and_columns_in_columns(tmp_path: Path) -> None:
    columns = {"source": ["하나", "", "c\nd"], "target": ["one", "two", ""], "more": [1, 2, 3]}
    path = write_parquet(tmp_path / "a.parquet", columns)
    assert read_pairs(path) == [Pair("하나", "one"), Pair("", "two"), Pair("c\nd", "")]
    nested = write_parquet(tmp_path / "b.parquet", {"translation": [{"ko": "둘", "en": "two"}]})
    fields = {"source_field": "translation.ko", "target_field": "translation.en"}
    assert read_pairs(nested, **fields) == [Pair("둘", "two")]


def test_a_field_whose_own_name_has_a_dot_is_that_field(tmp_path: Path) -> None:
    fields = {"source_field": "src.en", "target_field": "t.x"}
    dotted = write_parquet(tmp_path / "a.parquet", {"src.en": ["one"], "t": [{"x": "하나"}]})
    assert read_pairs(dotted, **fields) == [Pair("one", "하나")]
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"src.en": "one", "src": {"en": "two"}, "t": {"x": "three"}}\n')
    assert read_pairs(lines, **fields) == [Pair("one", "three")]


def test_parquet_is_read_as_its_rows_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read ahead is kept until the end: a large file would be in memory whole."""
    text = [f"{random.Random(n).random()}" for n in range(300_000)]
    columns = pyarrow.table({"source": text, "target": text[::-1]})
    path = tmp_path / "a.parquet"
    parquet.write_table(columns, path, row_group_size=10_000, use_dictionary=False)
    read: list[int] = []

    class Counting(io.FileIO):
        def read(self, size: int = -1, /) -> bytes:  # type: ignore[override]
            read.append(size)
            return super().read(size) or b""

    monkeypatch.setattr(tables, "readable", Counting)

    pairs = parquet_pairs(path, "source", "target")
    first = next(pairs)
    after_the_first = sum(read)

    assert first == (text[0], text[-1])
    assert sum(1 for _ in pairs) == len(text) - 1
    assert after_the_first < path.stat().st_size / 2 < sum(read)


def test_a_structure_that_is_missing_is_named(tmp_path: Path) -> None:
    fields = {"source_field": "translation.ko", "target_field": "translation.en"}
    rows = [{"ko": "둘", "en": "two"}, None]
    path = write_parquet(tmp_path / "a.parquet", {"translation": rows})
    lines = write(
        tmp_path / "a.jsonl", "".join(f"{json.dumps({'translation': row})}\n" for row in rows)
    )
    where = r"has null in field 'translation', which has no field for 'translation\.ko'"
    for file, place in ((path, "row 2"), (lines, "line 2")):
        with pytest.raises(DataError, match=f"{place}, {where}"):
            read_pairs(file, **fields)


def test_a_row_or_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "a.parquet", {"source": ["a", "b", None], "target": list("xyz")}
    )
    with pytest.raises(DataError, match=r"a\.parquet, row 3, has null in field 'source'"):
        read_pairs(path)
    with pytest.raises(DataError, match=r"has no field 'tarrget'. Did you mean 'target'"):
        read_pairs(path, target_field="tarrget")


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", {"source": ["a"] * 9, "target": ["b"] * 9})
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as Parquet"):
        read_pairs(path)
    (tmp_path / "a.parquet.gz").write_bytes(compress(b"", ".gz"))
    with pytest.raises(DataError, match="compressed Parquet file"):
        read_pairs(tmp_path / "a.parquet.gz")
    with pytest.raises(DataError, match="There is no file"):
        read_pairs(tmp_path / "nowhere.parquet")


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[data\]'"):
        read_pairs(tmp_path / "a.parquet")


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, sides: list[tuple[str, str]]
) -> None:
    # Any text at all, newlines too, which aligned files cannot hold.
    columns = {"source": [s for s, _ in sides], "target": [t for _, t in sides]}
    path = write_parquet(tmp_path_factory.mktemp("p") / "a.parquet", columns)
    assert read_pairs(path) == [Pair(*pair) for pair in sides]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("the\tdog\tder hund\na cat\teine katze\n", "line 2, has 2 columns, but the first line 3"),
        ("a\tb\nthe\tdog\tder hund\n", "line 2, has 3 columns, but the first line 2"),
    ],
)
def test_a_tab_within_a_sentence_is_no_column(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_pairs(write(tmp_path / "a.tsv", lines))


def test_empty_columns_at_the_end_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "a\tb\t\t\nc\td\ne\tf\tnote\n")
    assert read_pairs(path) == [Pair("a", "b"), Pair("c", "d"), Pair("e", "f")]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [pyarrow.array([text]) for text in ("the dog", "der hund", "another")]
    table = pyarrow.Table.from_arrays(columns, names=["source", "target", "source"])
    parquet.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(DataError, match="has 2 columns 'source'"):
        read_pairs(tmp_path / "a.parquet")


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    odd = pyarrow.array([b"ok", b"\xff"], pyarrow.binary()).view(pyarrow.string())
    table = pyarrow.Table.from_arrays([odd, odd], names=["source", "target"])
    parquet.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(DataError, match=r"cannot be read as Parquet after row 0: .*utf-8"):
        read_pairs(tmp_path / "a.parquet")


def test_a_first_line_that_names_the_columns_is_no_pair(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("id\ten\taf\n1\tyes\tja\n")
    languages = "en", "af"
    assert list(tsv_pairs(path, 1, 2, languages)) == [("yes", "ja")]
    usual = ("source", "target")
    assert column_names(path, (1, 2), usual, languages) == ("en", "af")
    path.write_text("yes\tja\nen\taf\n")
    assert list(tsv_pairs(path, 0, 1, languages)) == [("yes", "ja"), ("en", "af")]
    for columns in ((0, 1), (0, 2)):
        assert column_names(path, columns, usual, languages) == ("", "")
    assert column_names("hf://x/y.tsv", (0, 1), usual, languages) == ("", "")
    table = write(tmp_path / "x.csv", "id;af;en-US\n")
    assert column_names(table, (0, 1), usual, languages) == ("en-US", "af")


@pytest.mark.parametrize("row", ["no\tit", "hi\tso", "am\tmy"])
def test_words_that_are_codes_of_languages_are_a_pair(tmp_path: Path, row: str) -> None:
    path = write(tmp_path / "x.tsv", f"{row}\nyes\tja\n")
    usual = ("source", "target")
    assert list(tsv_pairs(path)) == [tuple(row.split("\t")), ("yes", "ja")]
    assert column_names(path, (0, 1), usual, usual) == ("", "")
    remark = header_remark(path, (0, 1), usual, usual)
    assert f"the first line ({row.replace(chr(9), ', ')}) is read as a pair" in remark
    assert "data.source_language" in remark


def test_a_first_line_that_names_the_columns_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("af\ten\nja\tyes\n")
    usual = ("source", "target")
    remark = header_remark(path, (0, 1), usual, ("af", "en"))
    assert "the first line names the columns (af, en) and is not a pair" in remark
    assert "counted from the next one" in remark
    assert "exchange data.source_column" not in remark
    assert "exchange data.source_column" in header_remark(path, (0, 1), usual, ("en", "af"))
    path.write_text("ja\tyes\n")
    assert header_remark(path, (1, 0), usual, usual) == (
        f"{path}: the source is column 2 ('yes'), the target is column 1 ('ja')."
    )
    path.write_text("ja\n")  # which is refused when it is read
    assert header_remark(path, (0, 1), usual, usual) == ""
    (tmp_path / "x.csv").write_text("af;en\nja;yes\n")
    remark = header_remark(tmp_path / "x.csv", (0, 1), usual, ("en", "af"))
    assert remark.endswith(
        "the source is column 'en', the target is column 'af'; lines are counted from the first "
        "row below these names."
    )


def test_text_in_objects_is_named_with_its_dots(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = {"id": 1, "translation": {"en": "a", "de": "b", "more": {"fr": "c"}}, "number": {"n": 1}}
    path.write_text(json.dumps(row) + "\n")

    def refused(source: str) -> DataError:
        with pytest.raises(DataError) as raised:
            list(jsonl_pairs(path, source, "translation.de"))
        return raised.value

    missing = refused("source")
    assert "has no field 'source'" in missing.message
    fields = "translation.en, translation.de, translation.more.fr"
    assert missing.remedy == (
        f"Known: id, number, translation. Text in objects: {fields}. "
        "Name it with data.source_field or data.target_field."
    )
    assert refused("translation").remedy == (
        f"Name a field in it with data.source_field or data.target_field: {fields}."
    )
    assert "Text in objects: translation.more.fr." in refused("translation.ko").remedy
    assert refused("number").remedy.startswith("Name another field, or give text")
    assert list(jsonl_pairs(path, "translation.en", "translation.more.fr")) == [("a", "c")]
