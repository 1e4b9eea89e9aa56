"""Lines come from disk unchanged, and every unreadable one says why."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.data.lines import read_lines
from headway.errors import DataError

from .files import ENDINGS, compress, write


@pytest.mark.parametrize("ending", ENDINGS)
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
    tmp_path: Path, ending: str, text: str, lines: list[str]
) -> None:
    assert list(read_lines(write(tmp_path / f"a.txt{ending}", text))) == lines


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


def test_korean_in_cp949_is_recognized_and_german_is_not_taken_for_it(tmp_path: Path) -> None:
    for text, encoding, remedy in (
        ("안녕하세요, 저는 학생입니다.", "cp949", "CP949"),
        ("Äpfel können schön süß sein", "cp1252", "CP1252"),
    ):
        with pytest.raises(DataError) as info:
            list(read_lines(write(tmp_path / "a.txt", text.encode(encoding))))
        assert f"-f {remedy} " in info.value.remedy


def test_utf16_is_recognized(tmp_path: Path) -> None:
    with pytest.raises(DataError) as info:
        list(read_lines(write(tmp_path / "a.txt", "hello".encode("utf-16"))))
    assert "UTF-16" in info.value.remedy


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_compressed_bytes_under_another_name_are_recognized(tmp_path: Path, ending: str) -> None:
    # Bytes that happen to be UTF-8 would pass for text: those here are not.
    data = compress(bytes(range(256)) * 9, ending)
    with pytest.raises(DataError) as info:
        list(read_lines(write(tmp_path / "a.txt", data)))
    assert f"end in {ending}." in info.value.remedy
