"""Freed memory stays with a process that asked for it, and goes from one that asked for that."""

import os
import platform
import subprocess
import sys
from multiprocessing import get_context

import numpy as np
import pytest
import torch

from headway.runtime.memory import forget_peak, peak_memory, sparse

CPU = torch.device("cpu")

PROGRAM = """
import ctypes
import resource
import sys
import torch
from headway.runtime.memory import hand_back_freed_memory, keep_freed_memory

NO_HUGE_PAGES = 41  # PR_SET_THP_DISABLE: the system has them at some times, each one fault for 512
assert ctypes.CDLL(None).prctl(NO_HUGE_PAGES, 1, 0, 0, 0) == 0
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
from headway.runtime.memory import prepare_process

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


needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="PyTorch without oneDNN"
)


def said_of_the_first_sizes_again(*arguments: str, **environment: str) -> list[str]:
    """What oneDNN says when the first of 299 products comes again, reorderings left out."""
    return said_of_products(*arguments, **environment)[1]


def said_of_products(*arguments: str, **environment: str) -> tuple[list[str], list[str]]:
    """What it says of 299 products, and when the first comes again, reorderings left out."""
    names = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"
    others = {name: value for name, value in os.environ.items() if name not in names}
    run = subprocess.run(
        [sys.executable, "-c", KERNELS, *arguments],
        check=True, capture_output=True, text=True,
        env=others | {"ONEDNN_VERBOSE": "profile_create,dispatch"} | environment,
    )  # fmt: skip
    first, again = (
        [line for line in said.splitlines() if "create" in line and "reorder" not in line]
        for said in run.stdout.split("again")
    )
    return first, again


@needs_onednn
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
    said = said_of_the_first_sizes_again(*arguments, **capacity)
    products = [line for line in said if "inner_product" in line]

    assert products
    assert all(("cache_hit" in line) == kept for line in products)


@needs_onednn
@pytest.mark.parametrize(
    ("capacity", "kept"), [({}, False), ({"LRU_CACHE_CAPACITY": "5000"}, True)]
)
def test_few_descriptions_are_remembered_unless_the_environment_says_how_many(
    capacity: dict[str, str], kept: bool
) -> None:
    # Which implementations do not suit a product is asked when it is described, and only then.
    first, again = said_of_products("few", **capacity)
    if not any("create:dispatch" in line for line in first):
        pytest.skip("this processor takes the first implementation, and nothing is said")

    assert any("inner_product" in line for line in again)
    assert any("create:dispatch" in line for line in again) != kept


def test_memory_is_the_peak_since_it_was_forgotten() -> None:
    forget_peak(CPU)
    before = peak_memory(CPU)
    held = np.ones(20_000_000)
    assert before + 150e6 < peak_memory(CPU) < before + 300e6

    del held
    if sys.platform == "linux":
        assert peak_memory(CPU) > before + 150e6
        forget_peak(CPU)
        assert peak_memory(CPU) < before + 50e6


ROWS, WIDTH = 160, 2**17  # bytes: 20 MB

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("shape", [(3, 5), (ROWS, WIDTH // 2), (0, 7)])
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_it_is_an_array_like_any_other(shape: tuple[int, ...], dtype: type) -> None:
    array = sparse(shape, dtype)

    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    array[...] = 7
    assert (array == 7).all()


@on_linux
def test_what_is_not_written_takes_no_memory() -> None:
    before = resident()

    array = sparse((ROWS, WIDTH), np.uint8)
    array[:, :1000] = 1

    # NumPy's own would take nearly all of it where the system has huge pages.
    assert resident() - before < ROWS * WIDTH / 4
    array[:] = 1
    assert resident() - before > ROWS * WIDTH / 2


@on_linux
def test_what_a_forked_process_writes_does_not_show() -> None:
    array = sparse((ROWS, WIDTH), np.uint8)
    writer = get_context("fork").Process(target=array.fill, args=(9,))

    writer.start()
    writer.join()

    assert writer.exitcode == 0
    assert not array.any()
