"""Code for processors that this one can imitate, in processes of their own."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")
host_has = importlib.import_module("headway.kernels.codegen.numba_compiler").host_has

PRODUCTS = """
import sys
import headway.kernels.codegen.numba_compiler as compiling

has, without = compiling.host_has, tuple(sys.argv[1:])
compiling.host_has = lambda feature: not feature.startswith(without) and has(feature)

import torch
from headway.kernels.dispatch import multiplies_bfloat16, multiplies_bytes
from headway.kernels.linear_blocks import LARGEST_BYTE
from headway.decoding.packed.numba_backend import (
    Bfloat16Product, Float32Product, Int8LoopProduct, LoopFeedForward, quantize_to_fit
)
from headway.decoding.packed.weights import Projection

assert LARGEST_BYTE == 159 or compiling.host_has("avxvnni")
for outputs, inputs in ((37, 130), (16, 4), (100, 33)):
    given = Projection(torch.randn(outputs, inputs), torch.randn(outputs))
    x = torch.randn(15, inputs)
    extents = (x.amax(dim=1).clamp_min(0) - x.amin(dim=1).clamp_max(0))[:, None]
    row_steps = extents / (LARGEST_BYTE - 1)
    rounded = (x * row_steps.reciprocal()).round() * row_steps
    weight, steps = quantize_to_fit(given.weight)
    for kind, a, b in (
        (Float32Product, x, given.weight), (Int8LoopProduct, rounded, weight * steps[:, None]),
        (Bfloat16Product, x.bfloat16(), given.weight.bfloat16()),
    ):
        if kind is Int8LoopProduct and not multiplies_bytes():
            assert not has("avx2")
            continue
        if kind is Bfloat16Product and not multiplies_bfloat16():
            continue
        multiply = kind(given, True)
        y = torch.from_numpy(multiply(x.numpy()))
        exact = (a.double() @ b.double().T + given.bias).relu()
        assert (y - exact).abs().max() < 1e-4, kind
        for rows in range(1, 15):
            assert torch.equal(torch.from_numpy(multiply(x[:rows].numpy())), y[:rows])
        back = kind(Projection(torch.randn(inputs, outputs), torch.randn(inputs)), False)
        both = torch.from_numpy(LoopFeedForward(multiply, back, "relu")(x.numpy()))
        assert torch.equal(both, torch.from_numpy(back(y.numpy())))
print("right")
"""
TRAINING = """
import torch
from headway.model.attention import MultiHeadAttention
from headway.training.accelerated.dropout import add_dropped
from headway.training.accelerated.install import accelerated
from headway.training.accelerated.cross_entropy import projected_cross_entropy
import headway.kernels.dispatch as dispatch

def run():
    torch.manual_seed(1)
    attend = MultiHeadAttention(96, 2)
    x, weight = torch.randn(3, 5, 96, requires_grad=True), torch.randn(37, 96) / 9
    with accelerated(attend):
        y = attend(x, x, x, torch.ones(5, 5, dtype=torch.bool).tril())
    hidden = add_dropped(x, y, 0.3, True)
    labels = torch.arange(15) + 1
    loss = projected_cross_entropy(hidden.flatten(0, 1), weight, None, labels).loss
    loss.backward()
    return loss, x.grad

found = run()
dispatch.has_numba = lambda: False
for number, plain in zip(found, run()):
    torch.testing.assert_close(number, plain, rtol=1e-5, atol=1e-5)
print("right")
"""
NONE = """
from headway.kernels.dispatch import has_amx, multiplies_bfloat16, multiplies_bytes

assert not has_amx()
assert not multiplies_bytes()
assert not multiplies_bfloat16()
print("right")
"""


@pytest.mark.parametrize(
    ("program", "without", "environment"),
    [
        # With AVX-VNNI where the processor has that; without; AVX-512 without VNNI; without tiles.
        (PRODUCTS, ["avx512"], {}),
        (PRODUCTS, ["avx512", "avxvnni"], {}),
        (PRODUCTS, ["avx512vnni"], {}),
        (PRODUCTS, ["amx-bf16"], {}),
        (NONE, [], {"NUMBA_ENABLE_AVX": "0"}),
        (NONE, [], {"NUMBA_CPU_NAME": "generic"}),
        (TRAINING, [], {"NUMBA_ENABLE_AVX": "0"}),
        (TRAINING, [], {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}),
    ],
)
def test_narrower_vectors_give_the_same(
    program: str, without: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    if without and without != ["avx512"] and not host_has(without[-1]):
        pytest.skip(f"a processor without {without[-1]}: nothing is left out")
    if environment.get("NUMBA_CPU_NAME") == "haswell" and not host_has("avx512f"):
        pytest.skip("a processor without AVX-512: its vectors are as wide")
    run = subprocess.run(
        [sys.executable, "-c", program, *without],
        check=False, capture_output=True, text=True,
        env=os.environ | environment | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip

    assert run.stdout == "right\n", run.stderr
