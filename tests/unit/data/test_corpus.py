"""Lines and pairs come from disk unchanged, and every unreadable file says why."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.data.corpus import Pair, fingerprint, read_lines, read_pairs, read_parallel, read_tsv
from headway.errors import ConfigError, DataError


def write(path: Path, data: bytes | str) -> Path:
    raw = data if isinstance(data, bytes) else data.encode("utf-8")
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("one", ["one"]),
        ("one\n", ["one"]),
        ("one\n\n", ["one", ""]),
        ("one\n\n\nfour", ["one", "", "", "four"]),
        ("\ufeffone\n\ufefftwo\n", ["one", "\ufefftwo"]),
        ("\ufeff", []),
        ("\ufeff\n", [""]),
    ],
)
def test_lines_are_what_newlines_separate(
    tmp_path: Path, name: str, text: str, lines: list[str]
) -> None:
    assert list(read_lines(write(tmp_path / name, text))) == lines


@pytest.mark.parametrize("character", ["\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_a_newline_ends_a_line(tmp_path: Path, character: str) -> None:
    text = f"one{character}two{character}\nthree\n"
    lines = list(read_lines(write(tmp_path / "a.txt", text)))
    assert lines == [f"one{character}two{character}", "three"]


def test_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    lines = read_lines(write(tmp_path / "a.txt", b"good\nbad \xff\n"))
    assert isinstance(lines, Iterator)
    assert next(lines) == "good"
    with pytest.raises(DataError, match="line 2"):
        next(lines)


def test_a_byte_that_is_not_utf8_is_named_by_file_line_and_place(tmp_path: Path) -> None:
    path = write(tmp_path / "latin.txt", "erste\nzwölf schön\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.txt, line 2, byte 3 of the line \(0xf6\)") as info:
        list(read_lines(path))
    assert "UTF-8" in info.value.remedy


@pytest.mark.parametrize(
    ("data", "hint"),
    [("hello".encode("utf-16"), "UTF-16"), (gzip.compress(b"hello"), "end in .gz")],
    ids=["utf-16", "gzip"],
)
def test_the_remedy_knows_common_encodings(tmp_path: Path, data: bytes, hint: str) -> None:
    with pytest.raises(DataError) as info:
        list(read_lines(write(tmp_path / "a.txt", data)))
    assert hint in info.value.remedy


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*nowhere\.txt"):
        list(read_lines(tmp_path / "nowhere.txt"))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        list(read_lines(tmp_path))


def test_a_file_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test that removes the permission itself proves nothing to an administrator.
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"secret\.txt may not be read"):
        list(read_lines(tmp_path / "secret.txt"))


def test_any_other_failure_of_the_disk_is_a_data_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, mode: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(DataError, match=r"a\.txt cannot be read: Input/output error"):
        list(read_lines(tmp_path / "a.txt"))


COMPRESSED = gzip.compress(b"".join(b"line %d\n" % i for i in range(500)))


@pytest.mark.parametrize(
    "data",
    [
        b"not compressed\n",
        COMPRESSED[: len(COMPRESSED) // 2],
        COMPRESSED[:40] + bytes(20) + COMPRESSED[60:],
        COMPRESSED[:-8] + bytes(8),
    ],
    ids=["plain", "cut short", "overwritten", "wrong checksum"],
)
def test_a_damaged_gzip_file_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.txt\.gz is not a whole gzip file"):
        list(read_lines(path))


def test_parallel_files_pair_line_by_line(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ko", "하나\n\n셋\u2028넷\n")
    target = write(tmp_path / "a.en.gz", "one\ntwo\nthree four")
    assert read_parallel(source, target) == [
        Pair("하나", "one"),
        Pair("", "two"),
        Pair("셋\u2028넷", "three four"),
    ]


def test_parallel_files_of_different_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ko", "1\n2\n3\n")
    target = write(tmp_path / "a.en", "1\n2\n")
    with pytest.raises(DataError, match=r"a\.ko has 3 lines and .*a\.en has 2") as info:
        read_parallel(source, target)
    assert info.value.remedy


def test_empty_parallel_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are empty"):
        read_parallel(write(tmp_path / "a", ""), write(tmp_path / "b", ""))


def test_a_tab_separates_columns_and_nothing_else_does(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '"one\t"eins"\t1\n two, 2 \t\t2\r\n')
    assert read_tsv(path) == [Pair('"one', '"eins"'), Pair(" two, 2 ", "")]
    assert read_tsv(path, source_column=2, target_column=0) == [
        Pair("1", '"one'),
        Pair("2\r", " two, 2 "),
    ]


def test_a_row_with_too_few_columns_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\ntwo\n")
    with pytest.raises(DataError, match=r"a\.tsv, line 2, has 1 column;"):
        read_tsv(path)
    with pytest.raises(DataError, match=r"line 1, has 2 columns; .* need 4"):
        read_tsv(path, target_column=3)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        read_tsv(write(tmp_path / "a.tsv", ""))


@pytest.mark.parametrize(("source", "target"), [(-1, 0), (0, -1), (1, 1)])
def test_impossible_columns_are_refused(tmp_path: Path, source: int, target: int) -> None:
    path = write(tmp_path / "a.tsv", "one\teins\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tsv(path, source_column=source, target_column=target)


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "A.TSV"])
def test_one_table_holds_both_sides(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "one\teins\n")
    assert read_pairs(path) == [Pair("one", "eins")]


def test_two_files_are_parallel_whatever_their_names(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.tsv", "one\tx\n"), write(tmp_path / "b.tsv", "eins\ty\n")
    assert read_pairs(source, target) == [Pair("one\tx", "eins\ty")]


def test_one_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without a target file"):
        read_pairs(write(tmp_path / "a.txt", "one\teins\n"))


def test_a_fingerprint_sees_bytes_and_order_but_not_names(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", "x\ny\n"), write(tmp_path / "two", "z\n")
    (tmp_path / "elsewhere").mkdir()
    moved = write(tmp_path / "elsewhere" / "renamed", "x\ny\n")
    assert fingerprint([one, two]) == fingerprint([moved, two])
    assert fingerprint([one, two]) != fingerprint([two, one])
    assert fingerprint([one, two]) != fingerprint([one])
    assert len(fingerprint([one])) == 64


def test_a_line_moved_to_the_next_file_changes_the_fingerprint(tmp_path: Path) -> None:
    before = [write(tmp_path / "a", "x\ny\n"), write(tmp_path / "b", "z\n")]
    after = [write(tmp_path / "c", "x\n"), write(tmp_path / "d", "y\nz\n")]
    assert fingerprint(before) != fingerprint(after)


def test_a_fingerprint_covers_the_file_beyond_the_first_block(tmp_path: Path) -> None:
    size = 3 << 20
    one, two = write(tmp_path / "a", bytes(size)), write(tmp_path / "b", bytes(size - 1) + b"\x01")
    assert fingerprint([one]) != fingerprint([two])


def test_a_fingerprint_of_a_compressed_file_is_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gz"
    path.write_bytes(b"not compressed")
    assert fingerprint([path]) == fingerprint([write(tmp_path / "plain", "not compressed")])


def test_a_fingerprint_of_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        fingerprint([tmp_path / "nowhere"])
