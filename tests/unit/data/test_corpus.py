"""Pairs come from disk unchanged, from two files or from one."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.data import corpus
from headway.data.compression import StrPath
from headway.data.corpus import (
    Pair,
    check_read_again,
    file_digest,
    matching_files,
    read_pairs,
    read_parallel,
)
from headway.errors import ConfigError, DataError

from .files import write
from .parallel_text import sentences


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


def test_where_a_line_is_missing_is_said(tmp_path: Path) -> None:
    sources, targets = zip(*sentences(300), strict=True)
    source = write(tmp_path / "a.de", "".join(f"{line}\n" for line in sources))
    target = write(tmp_path / "a.en.gz", "".join(f"{line}\n" for line in targets[2:]))
    with pytest.raises(DataError) as info:
        read_parallel(source, target)
    assert info.value.message.endswith(
        "must have the same number. From the first line on, those of a.en.gz seem to stand "
        "2 lines too early."
    )


@pytest.mark.parametrize("shorter", [0, 1])
def test_that_an_end_is_missing_is_said(tmp_path: Path, shorter: int) -> None:
    sides = [[f"{line}\n" for line in side] for side in zip(*sentences(500), strict=True)]
    del sides[shorter][400:]
    paths = [write(tmp_path / f"a.{n}", "".join(lines)) for n, lines in enumerate(sides)]
    with pytest.raises(DataError) as info:
        read_parallel(*paths)
    assert info.value.message.endswith(
        f"same number. Up to its last line a.{shorter} goes with a.{1 - shorter}: its end seems "
        "to be missing."
    )


@pytest.mark.parametrize("names", [("pipe", "file"), ("file", "pipe")])
def test_what_can_be_read_only_once_is_refused_without_a_second_look(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    write(tmp_path / "file", "eins\n" * 3)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("one\n" * 2,))
    writer.start()
    counts = {"file": 3, "pipe": 2}
    first, second = names
    expected = f"{first} has {counts[first]} lines and .*{second} has {counts[second]}"
    with pytest.raises(DataError, match=expected):
        read_parallel(tmp_path / first, tmp_path / second)
    writer.join()


def test_empty_parallel_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are empty"):
        read_parallel(write(tmp_path / "a", ""), write(tmp_path / "b", ""))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "A.TSV"])
def test_one_table_holds_both_sides(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "one\teins\n")
    assert read_pairs(path) == [Pair("one", "eins")]


def test_two_files_are_parallel_whatever_their_names_but_have_no_columns(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.tsv", "one\ntwo\n"), write(tmp_path / "b", "eins\tx\nzwei")
    assert read_pairs(source, target) == [Pair("one", "eins\tx"), Pair("two", "zwei")]

    both = write(tmp_path / "c.tsv", "one\ntwo\tzwei\n")  # else the reference were in the source
    with pytest.raises(DataError, match=r"c\.tsv, line 2 has columns, but a file with one"):
        read_pairs(both, target)


def test_one_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without a target file"):
        read_pairs(write(tmp_path / "a.txt", "one\teins\n"))


def test_a_folder_is_no_pattern_and_files_may_lie_at_any_depth(tmp_path: Path) -> None:
    folder = tmp_path / "x[1]*"
    names = ["a", "one/a", "one/two/b", "one/two/c"]
    for name in names:
        for side in ("ko", "en"):
            path = folder / f"{name}.{side}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    sources, targets = corpus.partners(folder, "**/*.ko", "**/*.en")

    assert sources == tuple(folder / f"{name}.ko" for name in names)
    assert targets == tuple(folder / f"{name}.en" for name in names)
    assert corpus.matching_files(folder, "a.*") == (folder / "a.en", folder / "a.ko")
    assert corpus.partners(folder / "one", "../*.ko", "../*.en") == (
        (folder / "one" / "../a.ko",),
        (folder / "one" / "../a.en",),
    )
    with pytest.raises(ConfigError, match="has no partner"):
        corpus.partners(folder, "hf://owner/name", "**/*.en")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "b.en").touch()
    (plain / "b.ko").touch()
    assert corpus.partners(folder, f"{plain}/*.ko", f"{plain}/?.en") == (
        (plain / "b.ko",),
        (plain / "b.en",),
    )


def fingerprint(paths: list[StrPath]) -> str:
    return corpus.fingerprint(file_digest(path, ("source", "target")) for path in paths)


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


@pytest.mark.parametrize("pattern", ["*/part-*.en", "**/part-*.en", "b/part-*.en"])
@pytest.mark.parametrize("absolute", [False, True])
def test_a_folder_that_a_pattern_leads_to_and_nobody_may_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, *, absolute: bool
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-1.en").touch()
    name = f"{tmp_path}/{pattern}" if absolute else pattern
    assert len(matching_files(tmp_path, name)) == (1 if pattern.startswith("b") else 3)

    access = os.access

    def cannot_list_b(path: Path, mode: int) -> bool:
        return access(path, mode) and not (Path(path).name == "b" and mode & os.R_OK)

    monkeypatch.setattr(os, "access", cannot_list_b)

    with pytest.raises(
        DataError, match=r"/b/? may not be read by this user, and .*part-\*\.en leads"
    ):
        matching_files(tmp_path, name)
    assert matching_files(tmp_path, "a/part-*.en") == (tmp_path / "a" / "part-1.en",)
    (tmp_path / "b" / "d").mkdir()
    (tmp_path / "b" / "d" / "part-3.en").touch()
    known = name.rpartition("/")[0].replace("**", "b").replace("*", "b")
    through = matching_files(tmp_path, f"{known}/d/part-*.en")
    assert through == (tmp_path / "b" / "d" / "part-3.en",)


def test_text_in_a_folder_that_may_not_be_searched_is_named(
    tmp_path: Path, shut: Callable[[Path], None]
) -> None:
    shut(tmp_path)
    for look in (
        lambda: matching_files(tmp_path, "a.en"),
        lambda: check_read_again(tmp_path / "a.en"),
    ):
        with pytest.raises(
            DataError, match=r"a\.en may not be read by this user\. Change its perm"
        ):
            look()
