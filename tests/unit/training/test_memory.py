"""Freed memory stays with a process that asked for it, and goes from one that asked for that."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import sys
import torch
from headway.training.memory import hand_back_freed_memory, keep_freed_memory

for name in sys.argv[1:]:
    assert globals()[name]()

def step():
    # As in a training step, many tensors live together and then go together.
    return [torch.ones(500_000) for _ in range(50)]  # 50 of 2 MB, some 25,000 pages


step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(*calls: str) -> int:
    command = [sys.executable, "-c", PROGRAM, *calls]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_pages_are_taken_from_the_system_only_once() -> None:
    kept = page_faults("keep_freed_memory")

    assert kept * 5 < page_faults()
    assert kept * 5 < page_faults("keep_freed_memory", "hand_back_freed_memory")
