"""Where cleaned text goes, and where it may not."""

from pathlib import Path

import pytest

from headway.data.mending.files import check_places, named_inputs, named_log, named_outputs
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("names", "outputs", "log"),
    [
        (["d/c.{en,ko}"], ["d/c.en", "d/c.ko"], "d/c.removed.tsv"),
        (["c.{en,ko}.gz"], ["c.en.gz", "c.ko.gz"], "c.removed.tsv"),
        (["{en,ko}"], ["en", "ko"], "en.removed.tsv"),
        (["a", "b.txt"], ["a", "b.txt"], "a.removed.tsv"),
        (["c.tsv.xz"], ["c.tsv.xz"], "c.removed.tsv"),
        (["c.jsonl"], ["c.jsonl"], "c.removed.tsv"),
    ],
)
def test_names_of_outputs(names: list[str], outputs: list[str], log: str) -> None:
    paths = named_outputs(names)
    assert paths == tuple(map(Path, outputs))
    assert named_log(None, paths) == Path(log)
    assert named_log("x/log.tsv", paths) == Path("x/log.tsv")


def test_a_leading_tilde_is_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a").write_text("x\n")
    assert named_outputs("~/c.tsv") == (tmp_path / "c.tsv",)
    assert named_inputs("~/a", None) == (tmp_path / "a", None)
    assert named_log("~/l.tsv", []) == tmp_path / "l.tsv"
    with pytest.raises(ConfigError, match="overwritten"):
        check_places(named_inputs("~/a", None), [tmp_path / "a"])


@pytest.mark.parametrize("junk", [None, 3, b"x", [None], [["a"]], object()])
def test_names_are_text_or_paths(junk: object) -> None:
    with pytest.raises(ConfigError):
        named_outputs(junk)
    with pytest.raises(ConfigError):
        named_inputs(junk, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names", [["clean.en"], ["a.tsv", "b.tsv"], ["a", "b", "c"], [], ["a.csv"], ["a.parquet"]]
)
def test_other_outputs_are_refused(names: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"\.tsv"):
        named_outputs(names)


def test_no_file_is_written_over_that_is_read_nor_written_twice(tmp_path: Path) -> None:
    file, link, other = (tmp_path / name for name in ("a.en", "link", "b"))
    file.write_text("x\n")
    link.symlink_to(file)
    check_places([file], [other])
    for outputs in ([other, file], [link], [tmp_path / "." / "a.en"], [other, other]):
        with pytest.raises(ConfigError, match=r"overwritten|named twice"):
            check_places([file], outputs)
