"""A run without --out goes into a folder that says what it is, and is found there again."""

from pathlib import Path

import pytest

from headway.cli.run_folders import named_folder
from headway.errors import ConfigError

FILES = ['data.source_language="en"', 'data.target_language="af"', 'data.source="a.en"']


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(name: str, *, finished: bool = False) -> Path:
    folder = Path("runs", name)
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[data]\nsource_language = "ko"\ntarget_language = "en"\n')
    if finished:
        (folder / "report.json").touch()
    return folder


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (FILES, "runs/en-af"),
        ([*FILES, "data.reverse=true"], "runs/af-en"),
        ([*FILES, "data.target_language=de"], "runs/en-de"),
        (FILES[:1], "runs/run"),
        ([*FILES, "data.target_language=../x"], "runs/run"),
        ([], "runs/run"),
    ],
)
def test_the_languages_name_the_folder(settings: list[str], expected: str) -> None:
    assert named_folder(None, settings, resume=False) == Path(expected)


def test_a_configuration_goes_before_languages() -> None:
    assert named_folder(Path("c.toml"), FILES, resume=True) == Path("runs/c")


def test_a_resumed_run_is_the_one_that_is_not_finished() -> None:
    begin("old", finished=True)
    folder = begin("en-af")
    assert named_folder(None, [], resume=True) == folder
    assert named_folder(None, ["training.max_steps=5"], resume=True) == folder


def test_a_finished_run_is_resumed_where_it_is_the_only_one() -> None:
    assert named_folder(None, [], resume=True) == Path("runs/run")
    folder = begin("old", finished=True)
    assert named_folder(None, [], resume=True) == folder


def test_one_of_several_is_not_guessed() -> None:
    begin("a")
    begin("b")
    with pytest.raises(ConfigError, match=r"any of runs/a, runs/b\. Name one with --out"):
        named_folder(None, [], resume=True)


def test_the_first_line_names_folder_and_languages(capsys: pytest.CaptureFixture[str]) -> None:
    begin("x")
    named_folder(None, [], resume=True)
    named_folder(None, FILES, resume=False)
    named_folder(None, FILES, resume=False, quiet=True)
    assert capsys.readouterr().err.splitlines() == [
        "Continuing the run in runs/x, from ko to en. Use --out to choose another folder.",
        "The run goes into runs/en-af. Use --out to choose another folder.",
    ]


@pytest.mark.parametrize("more", [[], ["--set", "training.max_steps=60"]])
def test_no_run_to_continue_is_said_alike_with_and_without_settings(run, more: list[str]) -> None:
    status, _, err = run("train", "--out", "runs/i1", "--resume", *more)
    assert status == 1
    assert "Error: The folder runs/i1 holds no run to continue. Check --out, or start" in err


def test_the_folder_is_said_before_anything_else(run) -> None:
    status, _, err = run("train", "--source", "a.en", "--target", "b.af")
    assert status == 2  # there is no validation text
    assert err.startswith(
        "The run goes into runs/en-af. Use --out to choose another folder.\nError:"
    )
    assert not Path("runs").exists()
