"""Lines come from disk unchanged, and every unreadable one says why."""

import zipfile
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


@pytest.mark.parametrize(
    "text",
    [
        "They are the mechanism.\nA second line.\n",
        "\nThe first line is blank.\n",
        "Windows line ends\r\n\r\n",
        "저는 학생입니다.\n둘째 줄 하나.\n",
        "Größe und Maß\n",
        "Это предложение, и ещё одно.\n",
        "こんにちは、 世界 1\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_byte_order_mark_is_recognized(
    tmp_path: Path, encoding: str, text: str
) -> None:
    with pytest.raises(DataError) as info:
        list(read_lines(write(tmp_path / "a.txt", text.encode(encoding))))
    name = encoding.upper().replace("-", "", 2).replace("UTF", "UTF-")
    assert info.value.remedy.endswith(f"`iconv -f {name} -t UTF-8`.")


def test_utf32_is_recognized_by_its_mark(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="UTF-32"):
        list(read_lines(write(tmp_path / "a.txt", "hello".encode("utf-32"))))


def test_the_marks_of_utf16_are_none_in_the_second_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2, byte 1") as info:
        list(read_lines(write(tmp_path / "a.txt", b"one\n\xff\xfe\n")))
    assert "iconv" not in info.value.remedy  # the file as a whole is UTF-8
    assert "another file was appended" in info.value.remedy


@pytest.mark.parametrize("text", ["a\0b", "ab\0c", "one\0", "\0one two", "\0\nab\0"])
def test_a_stray_nul_is_text(tmp_path: Path, text: str) -> None:
    before = "first\n"
    lines = list(read_lines(write(tmp_path / "a.txt", before + text)))
    assert lines == ["first", *text.split("\n")]


def _archive(path: Path, name: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "some text")
    return path


def test_an_archive_with_the_name_of_a_text_is_recognized(tmp_path: Path) -> None:
    for inside in ("train.en", "word/document.xml", "xl/workbook.xml"):
        with pytest.raises(DataError, match=r"a\.txt is a ZIP archive, as \.docx") as info:
            list(read_lines(_archive(tmp_path / "a.txt", inside)))
        assert "iconv" not in str(info.value)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF"),
        (b"{\\rtf1\\ansi all of it is ASCII}\n", "RTF"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"),
        (b"Rar!\x1a\x07\1\0", "RAR"),
    ],
)
def test_a_document_of_another_program_is_recognized(
    tmp_path: Path, start: bytes, kind: str
) -> None:
    with pytest.raises(DataError, match=kind):
        next(read_lines(write(tmp_path / "a.txt", start)))
    assert len(list(read_lines(write(tmp_path / "b.txt", b"a line\n%PDF-1.7\n")))) == 2


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_compressed_bytes_under_another_name_are_recognized(tmp_path: Path, ending: str) -> None:
    # Bytes that happen to be UTF-8 would pass for text: those here are not.
    data = compress(bytes(range(256)) * 9, ending)
    with pytest.raises(DataError) as info:
        list(read_lines(write(tmp_path / "a.txt", data)))
    assert f"end in {ending}." in info.value.remedy


@pytest.mark.parametrize(
    "text",
    ["one\rtwo\rthree", "one\rtwo\r", "one\rtwo\n", "\ufeffone\r\rtwo", "one\rtwo\r\n"],
)
@pytest.mark.parametrize("ending", ENDINGS[:2])
def test_lines_that_end_in_carriage_returns_alone_are_refused(
    tmp_path: Path, ending: str, text: str
) -> None:
    path = write(tmp_path / f"mac.txt{ending}", text)

    with pytest.raises(DataError, match=r"is a single line with carriage returns") as info:
        list(read_lines(path))

    assert info.value.remedy == "Convert it: tr '\\r' '\\n' < FILE > NEW"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\r\n", ["one\r"]),
        ("one\r", ["one\r"]),
        ("one\r\r\n", ["one\r\r"]),
        ("a\rb\n\n", ["a\rb", ""]),
        ("a\rb\nc", ["a\rb", "c"]),
    ],
)
def test_other_carriage_returns_are_text(tmp_path: Path, text: str, lines: list[str]) -> None:
    assert list(read_lines(write(tmp_path / "a.txt", text))) == lines
