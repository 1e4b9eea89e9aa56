"""A locale that is not UTF-8: the command line starts again in UTF-8 mode."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.cli import encoding
from headway.cli.app import main
from headway.cli.encoding import use_utf8

Started = list[tuple[str, list[Any]]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Return the programs that this one was replaced by, which it is not here."""
    programs: Started = []
    monkeypatch.setattr(os, "execv", lambda path, words: programs.append((path, words)))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "-m", "headway", "info", "x"])
    monkeypatch.setenv("PYTHONUTF8", "")  # so that it is afterwards what it was before
    monkeypatch.delenv("PYTHONUTF8")
    return programs


@pytest.mark.parametrize("name", ["euc_kr", "iso8859-1", "ascii"])
@pytest.mark.parametrize("linux", [True, False])
def test_it_starts_again_with_the_same_words(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, linux: bool
) -> None:
    given = [b"headway", b"info", "말뭉치".encode(), b"caf\xe9", b""]
    if linux:
        (tmp_path / "cmdline").write_bytes(b"".join(word + b"\0" for word in given))
    monkeypatch.setattr(encoding, "_COMMAND_LINE", tmp_path / "cmdline")
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: name)
    use_utf8()
    words = given[1:] if linux else ["-X", "dev", "-m", "headway", "info", "x"]
    assert started == [(sys.executable, [sys.executable, *words])]
    assert os.environ["PYTHONUTF8"] == "1"
    use_utf8()  # as the program that was started does
    assert len(started) == 1


def test_a_choice_is_a_choice(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "euc_kr")
    monkeypatch.setenv("PYTHONUTF8", "0")
    use_utf8()
    assert started == []


def test_in_utf8_and_when_it_is_called_with_words_it_goes_on(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_utf8()
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "euc_kr")
    with pytest.raises(SystemExit):
        main(["--version"])  # by another program, which is not to begin anew
    assert started == []
