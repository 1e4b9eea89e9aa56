"""MKL knows the processor before several threads ask it for numbers.

Whether a thread comes in the middle is chance, and needs an idle machine; what keeps it from doing
so is not.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headway.model.vector_math import FUNCTIONS

IMPORT = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode

class Calls(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        print(func.overloadpacket.__name__, result.dtype, result.device, result.numel())
        return result

with Calls(), torch.device("meta"):
    import headway.MODULE
"""


@pytest.mark.parametrize(
    "module", ["model.positional_encoding", "inspection.translator", "training.run"]
)
def test_whoever_imports_the_model_has_each_function_compute_one_number(module: str) -> None:
    program = [sys.executable, "-c", IMPORT.replace("MODULE", module)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    calls = [line.split() for line in done.stdout.splitlines()]
    assert {(numbers, device) for _, _, device, numbers in calls} == {("1", "cpu")}
    wanted = {(name, dtype) for name in FUNCTIONS for dtype in ("torch.float32", "torch.float64")}
    assert wanted <= {(name, dtype) for name, dtype, *_ in calls}


def test_all_functions_of_mkl_are_known() -> None:
    header = Path(torch.__file__).parent / "include" / "ATen" / "cpu" / "vml.h"
    if not header.exists():
        pytest.skip("this PyTorch came without its headers")
    given = re.findall(r"^IMPLEMENT_VML_MKL\((\w+), \w+\)", header.read_text("utf-8"), re.MULTILINE)
    assert sorted(given) == sorted(FUNCTIONS)
