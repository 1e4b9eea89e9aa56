"""`~` is the user's folder wherever a file is named: in Python, in settings and after `=`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import load_run_config, parse_run_config
from headway.data.lines import read_lines
from headway.data.output import OutputFile
from headway.errors import ConfigError
from headway.home import expanded
from headway.interop.folder import new_folder
from headway.saved_bundle import find_bundle
from headway.training.run_folder import RunFolder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the user's folder; the working folder is another, and stays empty."""
    folder, here = tmp_path / "home", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(here)
    yield folder
    assert list(here.iterdir()) == []


def test_only_a_leading_one_is_the_users_folder(home: Path) -> None:
    assert expanded("~/x") == home / "x"
    assert expanded("~") == home
    assert expanded(Path("~/x")) == home / "x"
    for name in ("a/~/x", "x~", "./~/x", "~no-such-user-here/x"):
        assert expanded(name) == Path(name)


def _write(path: str) -> None:
    with OutputFile(Path(path)) as file:
        file.write("text")


def _export(path: str) -> None:
    with new_folder(path) as fresh:
        (fresh / "file").write_text("text")


@pytest.mark.parametrize("write", [_write, _export])
def test_what_is_written_goes_there(home: Path, write: Callable[[str], Any]) -> None:
    write("~/out")
    assert [path.name for path in home.iterdir()] == ["out"]


def test_what_is_read_comes_from_there(home: Path) -> None:
    (home / "t.ko").write_text("one\ntwo\n")
    assert list(read_lines("~/t.ko")) == ["one", "two"]
    (home / "run.toml").write_text('[data]\ndirectory = "~/corpora"\n')
    assert load_run_config("~/run.toml").data.directory == str(home / "corpora")
    with pytest.raises(ConfigError, match=f"no configuration file {home}/no.toml"):
        load_run_config("~/no.toml")
    (home / "b").mkdir()
    (home / "b" / "manifest.json").write_text("{}")
    assert find_bundle("~/b") == home / "b"
    assert RunFolder("~/run").config == home / "run" / "config.toml"


def test_settings_that_name_files_are_expanded_and_no_others(home: Path) -> None:
    files = dict.fromkeys(("directory", "source", "target", "valid_source", "shards"), "~/x")
    data = files | {"tag": "~/x", "source_field": "~/x"}
    config = parse_run_config(
        {
            "data": data,
            "tokenizer": {"source_model": "~/x", "new_pieces": ["~/x"]},
            "training": {"start_from": "~/x"},
        }
    )
    there = str(home / "x")
    assert {name: getattr(config.data, name) for name in files} == dict.fromkeys(files, there)
    assert (config.data.tag, config.data.source_field) == ("~/x", "~/x")
    assert (config.tokenizer.source_model, config.training.start_from) == (there, there)
    assert config.tokenizer.new_pieces == ["~/x"]
    corpora = [{"source": "~/x", "target": "b//c"}, {"source": "hf://a/b"}]
    several = parse_run_config({"data": {"corpora": corpora}}).data.corpora
    assert (several[0].source, several[0].target, several[1].source) == (there, "b//c", "hf://a/b")
