"""A command says on standard error which weights it takes, and which precision."""

import shutil
import warnings
from pathlib import Path

import pytest

import headway
from headway.cli.remarks import remark_on_weights
from headway.errors import HeadwayWarning


@pytest.mark.parametrize("better", ["best", "averaged"])
def test_which_weights_stand_for_a_run_is_said_unless_quiet(
    bundle_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], better: str
) -> None:
    for name in ("best", "averaged"):
        shutil.copytree(bundle_path, tmp_path / name)
    verdict = "true" if better == "best" else "false"
    (tmp_path / "report.json").write_text(f'{{"best_is_better": {verdict}}}')

    remark_on_weights(tmp_path, quiet=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Note: {tmp_path}: using the weights in {tmp_path / better}, ")
    assert err.count("\n") == 1

    remark_on_weights(tmp_path, quiet=True)
    remark_on_weights(tmp_path / "best", quiet=False)
    remark_on_weights(tmp_path / "averaged", quiet=False)
    assert capsys.readouterr() == ("", "")


def test_a_translation_does_not_say_which_weights_but_the_facts_of_the_run_do(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    for name in ("best", "averaged"):
        shutil.copytree(bundle_path, tmp_path / name)
    (tmp_path / "report.json").write_text('{"best_is_better": true}')

    assert "weights" not in run("translate", tmp_path, "--text", "the cat")[2]
    assert "using the weights" in run("info", tmp_path)[2]


@pytest.mark.parametrize("chosen", ["float32", "bfloat16"])
def test_what_auto_chose_is_said_unless_it_is_float32(
    run, bundle_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.setattr("headway.decoding.precision.fastest", lambda *_: chosen)
    sentence = ["translate", bundle_path, "--text", "the cat sat"]
    said = f"Note: computing in {chosen}, the fastest precision here that scores as float32 does;"

    assert (said in run(*sentence)[2]) == (chosen != "float32")
    assert "fastest" not in run(*sentence, "--quiet")[2]
    assert "fastest" not in run(*sentence, "--precision", "bfloat16")[2]


def test_a_translation_says_that_a_run_is_unfinished_unless_quiet(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(bundle_path, tmp_path / "best")
    said = f"Note: {tmp_path}: using the weights in {tmp_path / 'best'}, the best so far of an un"
    sentence = ["translate", tmp_path, "--text", "the cat"]

    assert run(*sentence)[2].count(said) == 1
    assert "weights" not in run(*sentence, "--quiet")[2]
    assert "weights" not in run("translate", tmp_path / "best", "--text", "the cat")[2]
    assert run("inspect", tmp_path, "the cat")[2].count("an unfinished run") == 1


def test_python_warns_that_a_run_is_unfinished(bundle_path: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle_path, tmp_path / "best")
    with pytest.warns(HeadwayWarning, match="the best so far of an unfinished run"):
        headway.load(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        headway.load(tmp_path / "best")
        (tmp_path / "report.json").write_text('{"best_is_better": true}')
        headway.load(tmp_path)
