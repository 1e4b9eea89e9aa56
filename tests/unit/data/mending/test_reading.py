"""The input of a cleaning: its languages, its columns, and files of unequal length."""

from pathlib import Path

import pytest

import headway
from headway.data.corpus import Pair, read_pairs
from headway.data.mending import text as module
from headway.data.mending.reading import chosen_languages, read_input, unequal_files
from headway.errors import DataError

from ..parallel_text import sentences

USUAL = ("source", "target")


def _read(path: Path, text: str, wanted: tuple[str, str] = ("", "")):
    path.write_text(text)
    return read_input(path, None, (0, 1), USUAL, wanted)


@pytest.mark.parametrize(
    ("name", "text", "remark"),
    [
        ("x.tsv", "yes\tja\n", "the source is column 1 ('yes'), the target is column 2 ('ja')."),
        ("x.tsv", "source\ttarget\nyes\tja\n", "names the columns (source, target)"),
        (
            "x.csv",
            "en;af\nyes;ja\n",
            "the source is column 'en', the target is column 'af'; lines are",
        ),
        ("x.jsonl", '{"source": "yes", "target": "ja"}\n', ""),
    ],
)
def test_the_names_of_columns_are_no_pair(
    tmp_path: Path, name: str, text: str, remark: str
) -> None:
    reading = _read(tmp_path / name, text)
    assert list(reading.pairs) == [Pair("yes", "ja")]
    assert len(reading.remarks) == bool(remark)
    assert remark in "".join(reading.remarks)


def test_two_text_files_have_no_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("source\n")
    (tmp_path / "b").write_text("target\n")
    reading = read_input(tmp_path / "a", tmp_path / "b", (0, 1), USUAL, ("", ""))
    assert reading.remarks == []
    assert list(reading.pairs) == [Pair("source", "target")]


@pytest.mark.parametrize(
    ("wanted", "texts", "expected"),
    [
        (("", ""), [["c.en", "c.ko.gz"]], ("en", "ko")),
        (("ko", ""), [["c.en", "c.fr"]], ("ko", "fr")),
        (("", ""), [["c.x", "c.ko"]], ("", "")),
        (("", "ko"), [["c.tsv"]], ("", "ko")),
        (("", ""), [["c.tsv"], ["dev.tsv"], ["dev.de", "dev.en"]], ("de", "en")),
        (("", ""), [["c.ko", "c.en"], ["dev.de", "dev.en"]], ("ko", "en")),
        (("", ""), [], ("", "")),
    ],
)
def test_languages_are_those_wanted_or_those_that_names_show(wanted, texts, expected) -> None:
    paths = [[Path(name) for name in names] for names in texts]
    assert chosen_languages(wanted, *paths) == expected


def _write(folder: Path, sides: tuple[list[str], list[str]]) -> tuple[Path, Path]:
    paths = folder / "a.de", folder / "a.en"
    for path, texts in zip(paths, sides, strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return paths


@pytest.mark.parametrize(("side", "missing"), [(0, 1), (1, 1), (1, 3)])
def test_lines_that_are_missing_on_one_side_cost_their_partners_only(
    tmp_path: Path, side: int, missing: int
) -> None:
    pairs = [pair.stripped() for pair in sentences(600)]
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    del sides[side][300 : 300 + missing]

    done = headway.clean_text(*_write(tmp_path, sides), out=tmp_path / "c.tsv", drop=[])

    kept = read_pairs(tmp_path / "c.tsv")
    wrong = set(kept) - set(pairs)
    assert len(wrong) <= 3  # lengths tell the place to a line or two
    assert len(kept) == 600 - missing
    assert done.pairs == 600


def test_unequal_files_without_a_shift_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    pairs = sentences(100)
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs[:40]]
    files = _write(tmp_path, sides)
    for fix in (None, []):
        with pytest.raises(DataError, match=r"has 100 lines and .* has 40"):
            headway.clean_text(*files, out=tmp_path / "c.tsv", fix=fix)
        assert sorted(tmp_path.iterdir()) == sorted(files)


@pytest.mark.parametrize("at_once", [20, 50, 99, 100, 101])
def test_blocks_that_end_with_the_file_are_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    pairs = sentences(100)
    files = _write(
        tmp_path, ([pair.source for pair in pairs], [pair.target for pair in pairs[:60]])
    )
    with pytest.raises(DataError, match=r"has 100 lines and .* has 60"):
        headway.clean_text(*files, out=tmp_path / "c.tsv")
    assert not (tmp_path / "c.tsv").exists()


def test_files_are_counted_and_pipes_are_not(tmp_path: Path) -> None:
    files = _write(tmp_path, (["a", "b"], ["c"]))
    assert unequal_files(*files)
    assert unequal_files(files[0], files[0]) is None
    assert unequal_files(files[0], "/dev/null") is None
    assert unequal_files(files[0], None) is None
