"""Nothing is left on the CPU where the model is on another device (tests/other_device)."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).parents[1] / "other_device"


@pytest.mark.slow
def test_training_translation_and_inspection_on_a_device_of_its_own() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-o", "python_files=check_*.py", str(CHECKS)],
        capture_output=True,
        text=True,
        cwd=CHECKS.parents[1],
    )
    assert done.returncode == 0, done.stdout[-9000:] + done.stderr[-3000:]
