"""Nothing is left on the CPU where the model is on another device (tests/other_device)."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headway.runtime import devices

CHECKS = Path(__file__).parents[1] / "other_device"


@pytest.mark.slow
def test_training_translation_and_inspection_on_a_device_of_its_own() -> None:
    plugins = ["-p", "tests.other_device.plugin", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *plugins,
            "-o",
            "python_files=check_*.py",
            str(CHECKS),
        ],
        capture_output=True,
        text=True,
        cwd=CHECKS.parents[1],
    )
    assert done.returncode == 0, done.stdout[-9000:] + done.stderr[-3000:]


def test_every_other_test_knows_nothing_of_that_device() -> None:
    assert torch._C._get_privateuse1_backend_name() == "privateuseone"
    assert not torch.__future__.get_swap_module_params_on_conversion()
    assert devices.resolve_device.__module__ == "headway.runtime.devices"
