"""Which device the checks of this folder compare with the CPU.

Without `--device` that is a device which is pretended (pretended.py); `--device cuda` or `mps`
takes a real one. A process has only one such device and keeps it, and so pytest takes this plugin
from its command line alone (`-p tests.other_device.plugin`): the conftest of a folder is also read
by a run that only passes by. tests/end_to_end/test_other_device.py gives the checks a process.
"""

import pytest
import torch

from headway.runtime import devices

from . import pretended


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default=pretended.NAME, help="cuda, mps; else a pretended one")


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)
    if config.getoption("--device") == pretended.NAME:
        config.libraries = pretended.register()  # type: ignore[attr-defined]
        resolve = devices.resolve_device
        devices.resolve_device = lambda name: name if name == pretended.NAME else resolve(name)
