"""Headway works without what Windows does not have, on a system where that is hidden from it."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("without_posix.py")


@pytest.mark.skipif(sys.platform != "linux", reason="hides what Linux has")
def test_demo_train_translate_and_serve_work_without_posix(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)], check=False, capture_output=True, text=True
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\ndone\n")
