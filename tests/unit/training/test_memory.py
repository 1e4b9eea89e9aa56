"""Freed memory stays with a process that asked for it."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import torch
from headway.training.memory import keep_freed_memory

if {keep}:
    assert keep_freed_memory()
def step():
    # As in a training step, many tensors live together and then go together.
    return [torch.ones(500_000) for _ in range(50)]  # 50 of 2 MB, some 25,000 pages


step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(*, keep: bool) -> int:
    command = [sys.executable, "-c", PROGRAM.format(keep=keep)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_pages_are_taken_from_the_system_only_once() -> None:
    assert page_faults(keep=True) * 5 < page_faults(keep=False)
