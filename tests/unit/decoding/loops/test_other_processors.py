"""Code for processors that this one can imitate, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

# Without AVX-512; with AVX-VNNI where the processor has that.
NARROW = """
import headway.decoding.loops.compiling as compiling

has = compiling.host_has
compiling.host_has = lambda feature: not feature.startswith("avx512") and has(feature)

import torch
from headway.decoding.loops.dot_products import has_dot_products
from headway.decoding.packed.compiled import Float32Product
from headway.decoding.packed.dot_products import DotProduct
from headway.decoding.packed.weights import Projection

for outputs, inputs in ((37, 130), (16, 4), (100, 33)):
    given = Projection(torch.randn(outputs, inputs), torch.randn(outputs))
    x = torch.randn(15, inputs)
    exact = (x @ given.weight.T + given.bias).relu()
    for kind, off in ((Float32Product, 1e-4), (DotProduct, 0.5)):
        if kind is DotProduct and not has_dot_products():
            continue
        multiply = kind(given, True)
        y = torch.from_numpy(multiply(x.numpy()))
        assert (y - exact).abs().max() < off, kind
        for rows in range(1, 15):
            assert torch.equal(torch.from_numpy(multiply(x[:rows].numpy())), y[:rows])
print("right")
"""
NO_AVX = """
from headway.decoding.loops.dot_products import has_dot_products

assert not has_dot_products()
print("right")
"""


@pytest.mark.parametrize(
    ("program", "environment"), [(NARROW, {}), (NO_AVX, {"NUMBA_ENABLE_AVX": "0"})]
)
def test_narrower_vectors_give_the_same(
    program: str, environment: dict[str, str], tmp_path: Path
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=False, capture_output=True, text=True,
        env=os.environ | environment | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip

    assert run.stdout == "right\n", run.stderr
