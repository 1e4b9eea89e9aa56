"""A locale that is not UTF-8: the command line starts again in UTF-8 mode."""

import os
import sys

import pytest

from headway.cli.app import main
from headway.cli.encoding import use_utf8

Started = list[tuple[str, list[str]]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Return the programs that this one was replaced by, which it is not here."""
    programs: Started = []
    monkeypatch.setattr(os, "execv", lambda path, words: programs.append((path, words)))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "-m", "headway", "info", "x"])
    monkeypatch.delenv("PYTHONUTF8", raising=False)
    return programs


@pytest.mark.parametrize("encoding", ["euc_kr", "iso8859-1", "ascii"])
def test_it_starts_again_with_the_same_words(
    started: Started, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: encoding)
    use_utf8()
    assert started == [
        (sys.executable, [sys.executable, "-X", "dev", "-m", "headway", "info", "x"])
    ]
    assert os.environ["PYTHONUTF8"] == "1"
    use_utf8()  # as the program that was started does
    assert len(started) == 1
    monkeypatch.delenv("PYTHONUTF8")


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
