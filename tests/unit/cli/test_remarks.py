"""A command says on standard error which weights it takes, and which precision."""

import shutil
from pathlib import Path

import pytest

from headway.cli.remarks import remark_on_weights
from headway.decoding.translator import load


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


def test_what_auto_chose_is_said_unless_quiet(run, bundle_path: Path) -> None:
    sentence = ["translate", bundle_path, "--text", "the cat sat"]
    chosen = load(bundle_path, "cpu", precision="auto").engine.backend.precision  # type: ignore
    said = f"Note: --precision auto chose the packed engine, {chosen}.\n"

    assert said in run(*sentence, "--precision", "auto")[2]
    assert said not in run(*sentence, "--precision", "auto", "--quiet")[2]
    assert "auto" not in run(*sentence)[2]
