"""What is read for a cleaning, in which languages, and from which line on."""

from pathlib import Path

import pytest

from headway.data.corpus import Pair
from headway.data.mending.reading import chosen_languages, read_input

USUAL = ("source", "target")


def _read(path: Path, text: str, wanted: tuple[str, str] = ("", "")):
    path.write_text(text)
    return read_input(path, None, (0, 1), USUAL, wanted)


@pytest.mark.parametrize(
    ("name", "text", "line", "remark"),
    [
        ("x.tsv", "yes\tja\n", 1, "the source is column 1 ('yes'), the target is column 2 ('ja')."),
        ("x.tsv", "source\ttarget\nyes\tja\n", 2, "names the columns (source, target)"),
        ("x.csv", "en;af\nyes;ja\n", 2, "the source is column 'en', the target is column 'af'."),
        ("x.jsonl", '{"source": "yes", "target": "ja"}\n', 1, ""),
    ],
)
def test_the_first_pair_is_in_the_line_behind_the_names_of_columns(
    tmp_path: Path, name: str, text: str, line: int, remark: str
) -> None:
    reading = _read(tmp_path / name, text)
    assert reading.first_line == line
    assert list(reading.pairs) == [Pair("yes", "ja")]
    assert len(reading.remarks) == bool(remark)
    assert remark in "".join(reading.remarks)


def test_two_text_files_have_no_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("source\n")
    (tmp_path / "b").write_text("target\n")
    reading = read_input(tmp_path / "a", tmp_path / "b", (0, 1), USUAL, ("", ""))
    assert (reading.first_line, reading.remarks) == (1, [])
    assert list(reading.pairs) == [Pair("source", "target")]


@pytest.mark.parametrize(
    ("wanted", "names", "expected"),
    [
        (("", ""), ["c.en", "c.ko.gz"], ("en", "ko")),
        (("ko", ""), ["c.en", "c.fr"], ("ko", "fr")),
        (("", ""), ["c.x", "c.ko"], ("", "")),
        (("", "ko"), ["c.tsv"], ("", "ko")),
    ],
)
def test_languages_are_those_wanted_or_those_of_the_outputs(wanted, names, expected) -> None:
    assert chosen_languages(wanted, [Path(name) for name in names]) == expected
