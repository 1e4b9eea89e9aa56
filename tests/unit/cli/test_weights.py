"""A command says which weights of a run it takes, on standard error and once."""

import shutil
from pathlib import Path

import pytest

from headway.cli.weights import remark_on_weights


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
