"""Operators of generated code compute what NumPy's compute."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import types

from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import INTS, LANES, WORD, Code, FlatArray, generated


@generated(types.void)
def write_floats(code: Code, x: FlatArray, y: FlatArray, out: FlatArray) -> None:
    first = code.constant(0, WORD)
    a, b = x.load(first), y.load(first)
    zero = code.constant(0.0)
    results = [
        a + b, a - b, a * 0.5, code.larger(a, b), code.select(a > b, zero, b),
        code.select(a.equals(b), zero, a), code.select(a.differs(b), a, zero),
        code.exact_add(a, code.exact_multiply(a, b)), code.exp(code.larger(a, b) - 9.0),
        code.broadcast(code.sum(a)), code.broadcast(code.largest(a)),
    ]  # fmt: skip
    for row, result in enumerate(results):
        out.store(first + row * LANES, result)


@generated(types.void)
def write_integers(code: Code, x: FlatArray, y: FlatArray, out: FlatArray) -> None:
    first = code.constant(0, WORD)
    a, b = x.read(first, INTS), y.read(first, INTS)
    zero = code.constant(0, INTS)
    results = [
        a + b, a - b, a * b, a // b, -a, (a & b) >> 3, a << 2, a ^ b,
        code.select(a < b, a, b), code.select(a >= b, a, zero), code.numbered(INTS),
        code.shuffle(a, b, range(8, 8 + LANES)),
    ]  # fmt: skip
    for row, result in enumerate(results):
        out.store(first + row * LANES, result)


@compiled
def run_floats(x, y, out):
    write_floats(x, y, out)


@compiled
def run_integers(x, y, out):
    write_integers(x, y, out)


def test_floats() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, LANES)).astype(np.float32)
    x[5] = y[5]
    out = np.zeros((11, LANES), np.float32)
    run_floats(x, y, out)

    top = np.maximum(x, y)
    expected = [
        x + y, x - y, x * np.float32(0.5), top, np.where(x > y, 0, y), np.where(x == y, 0, x),
        np.where(x != y, x, 0), x + x * y, np.exp(top.astype(np.float64) - 9),
        np.full(LANES, x.sum()), np.full(LANES, x.max()),
    ]  # fmt: skip
    np.testing.assert_allclose(out, np.stack(expected), rtol=1e-6, atol=1e-6)


def test_integers() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(1, 2**20, size=(2, LANES)).astype(np.int32)
    out = np.zeros((12, LANES), np.int32)
    run_integers(x, y, out)

    expected = [
        x + y, x - y, x * y, x // y, -x, (x & y) >> 3, x << 2, x ^ y, np.minimum(x, y),
        np.where(x >= y, x, 0), np.arange(LANES), np.concatenate([x, y])[8 : 8 + LANES],
    ]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(expected))
