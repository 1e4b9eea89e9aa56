"""Freed memory stays with a process that asked for it, and goes from one that asked for that."""

import os
import platform
import subprocess
import sys

import pytest
import torch

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


KERNELS = """
import sys
import torch
from headway.training.memory import prepare_process

if "few" in sys.argv:
    prepare_process()
weight = torch.ones(8, 8).to_mkldnn()

def product(rows):
    torch._C._nn.mkldnn_linear(torch.ones(rows, 8).to_mkldnn(), weight)

product(1)
for rows in range(2, 300):
    product(rows)
print("again", flush=True)
product(1)
"""


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="PyTorch without oneDNN")
@pytest.mark.parametrize(
    ("arguments", "capacity", "kept"),
    [
        ([], {}, True),
        (["few"], {}, False),
        (["few"], {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "5000"}, True),
        (["few"], {"DNNL_PRIMITIVE_CACHE_CAPACITY": "5000"}, True),
    ],
)
def test_few_kernels_are_remembered_unless_the_environment_says_how_many(
    arguments: list[str], capacity: dict[str, str], kept: bool
) -> None:
    environment = os.environ | {"ONEDNN_VERBOSE": "profile_create"}
    for library in ("ONEDNN", "DNNL"):
        environment.pop(f"{library}_PRIMITIVE_CACHE_CAPACITY", None)
    environment |= capacity

    run = subprocess.run(
        [sys.executable, "-c", KERNELS, *arguments],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    products = [
        line for line in run.stdout.split("again")[1].splitlines() if "inner_product" in line
    ]

    assert products
    assert all(("cache_hit" in line) == kept for line in products)
