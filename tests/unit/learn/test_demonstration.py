"""Where the demonstration comes from."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.errors import BundleError, RunError

module = importlib.import_module("headway.learn.demonstration")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, two levels deep, with an empty cache beside it."""
    monkeypatch.delenv(module.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def _finished(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    return folder


def test_the_nearest_one_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.find_demonstration() is None
    cached = _finished(here.parents[1] / "cache" / "headway" / "demonstration")
    assert module.find_demonstration() == cached
    above = _finished(here.parent / "runs" / "demo")
    assert module.find_demonstration() == above
    (here / "runs" / "demo").mkdir(parents=True)  # not finished
    assert module.find_demonstration() == above
    (here / "runs" / "demo" / "report.json").write_text("{}")
    assert module.find_demonstration() == here / "runs" / "demo"
    monkeypatch.setenv(module.VARIABLE, str(here / "another"))
    assert module.find_demonstration() == here / "another"


def test_a_named_folder_without_a_model_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.VARIABLE, str(here))
    with pytest.raises(BundleError, match="is not a bundle"):
        module.demonstration()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[tuple[Path, bool]]]:
    """Return a function that replaces the training; it returns the calls."""

    def replace(finishes: bool) -> list[tuple[Path, bool]]:
        calls: list[tuple[Path, bool]] = []

        def run_demo(folder: Path, *, resume: bool) -> SimpleNamespace:
            calls.append((folder, resume))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.toml").touch()
            if finishes:
                (folder / "report.json").write_text("{}")
            return SimpleNamespace(report={"steps": 1} if finishes else {})

        monkeypatch.setattr("headway.demo.run_demo", run_demo)
        monkeypatch.setattr("headway.inspection.translator.load", lambda folder, *_, **__: folder)
        module._loaded.cache_clear()
        return calls

    return replace


def test_it_is_trained_once(
    here: Path,
    runs: Callable[[bool], list[tuple[Path, bool]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = runs(True)
    folder = here.parents[1] / "cache" / "headway" / "demonstration"
    assert module.demonstration() == module.demonstration() == folder
    assert calls == [(folder, False)]
    said = capsys.readouterr().out
    assert f"Training one now in {folder}" in said
    module._loaded.cache_clear()


def test_a_stopped_training_is_continued(
    here: Path, runs: Callable[[bool], list[tuple[Path, bool]]]
) -> None:
    calls = runs(False)
    for _ in range(2):
        with pytest.raises(RunError, match=r"was stopped. Call it again to continue"):
            module.demonstration()
    assert [resume for _, resume in calls] == [False, True]
    module._loaded.cache_clear()
