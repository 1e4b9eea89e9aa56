"""Kernels compiled by Numba, for the CPU; large products stay with PyTorch."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.decoding import loops
from headway.decoding.engine import Ints
from headway.decoding.packed.kernels import Cache, Heads, Owners
from headway.decoding.packed.products import LEVELS, Int8Product, Precision, product
from headway.decoding.packed.weights import Projection

Floats = NDArray[np.float32]
# Up to so many rows, reading the weights is the work, and a plain loop does that as fast as a
# library, which has to prepare first.
FEW_ROWS = 4


class _Norm(NamedTuple):
    gamma: Floats
    beta: Floats
    epsilon: np.float32


class CompiledKernels:
    """NumPy arrays in, NumPy arrays out."""

    def __init__(self, precision: Precision = "float32") -> None:
        """Compute products in this precision, all else in float32."""
        self.precision: Precision = precision

    def array(self, tensor: Tensor) -> Floats:
        """Return the tensor's numbers."""
        return tensor.detach().float().cpu().contiguous().numpy()

    def tensor(self, array: Floats) -> Tensor:
        """Return the same memory as a tensor."""
        return torch.from_numpy(array)

    def empty(self, *shape: int) -> Floats:
        """Return room for a cache; the system gives the memory when it is first written."""
        return np.empty(shape, np.float32)

    def take(self, table: Floats, ids: Ints) -> Floats:
        """Return these rows of a table."""
        return table[ids]

    def linear(self, projection: Projection, *, relu: bool = False) -> Callable[[Floats], Floats]:
        """Prepare x weight^T + bias."""
        if self.precision == "float32":
            return _Float32Product(projection, relu)
        if self.precision == "int8":
            return _Int8Product(projection, relu)
        multiply = product(projection, self.precision, torch.device("cpu"), relu=relu)
        return lambda x: multiply(torch.from_numpy(x)).numpy()

    def norm(self, module: nn.LayerNorm) -> _Norm:
        """Take the vectors out of the module."""
        beta = torch.zeros_like(module.weight) if module.bias is None else module.bias
        return _Norm(self.array(module.weight), self.array(beta), np.float32(module.eps))

    def normalize(self, x: Floats, norm: _Norm) -> Floats:
        """Compute LayerNorm(x)."""
        return self.add_norm(x, np.zeros_like(x), norm)[1]

    def add_norm(self, x: Floats, y: Floats, norm: _Norm) -> tuple[Floats, Floats]:
        """Compute x + y and LayerNorm(x + y)."""
        total, result = np.empty_like(x), np.empty_like(x)
        loops.add_norm(x, y, norm.gamma, norm.beta, norm.epsilon, total, result)
        return total, result

    def attend_to_source(self, qkv: Floats, starts: Ints, heads: Heads) -> Floats:
        """Let each piece attend to its sentence."""
        longest = int((starts[1:] - starts[:-1]).max())
        out = np.empty((len(qkv), heads.num_heads, heads.d_v), np.float32)
        keys = np.empty((1, longest, heads.num_heads, heads.d_k), np.float32)
        values = np.empty((1, longest, heads.num_heads, heads.d_v), np.float32)
        loops.attend_to_source(qkv, starts, keys, values, out)
        return out.reshape(len(qkv), -1)

    def attend_to_past(
        self, qkv: Floats, rows: Ints, lengths: Ints, owners: Owners, cache: Cache, heads: Heads
    ) -> Floats:
        """Append the newest keys and values; attend to all so far."""
        out = np.empty((len(qkv), heads.num_heads, heads.d_v), np.float32)
        loops.attend_to_past(qkv, rows, lengths, owners, cache.keys, cache.values, out)
        return out.reshape(len(qkv), -1)

    def attend_to_memory(
        self, q: Floats, slots: Ints, lengths: Ints, cache: Cache, heads: Heads
    ) -> Floats:
        """Attend to the memory in each row's slot."""
        out = np.empty((len(q), heads.num_heads, heads.d_v), np.float32)
        q = q.reshape(len(q), heads.num_heads, heads.d_k)
        loops.attend_to_memory(q, slots, lengths, cache.keys, cache.values, out)
        return out.reshape(len(q), -1)


class _Float32Product:
    """A product in float32."""

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Keep the weights as they are."""
        self.weight = projection.weight.float().contiguous()
        self.bias = projection.bias.float().contiguous()
        self.relu = relu
        self.arrays = self.weight.numpy(), self.bias.numpy()

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        if len(x) <= FEW_ROWS:
            y = np.empty((len(x), len(self.bias)), np.float32)
            loops.multiply_rows(x, *self.arrays, self.relu, y)
            return y
        y = F.linear(torch.from_numpy(x), self.weight, self.bias)
        return (y.relu_() if self.relu else y).numpy()


class _Int8Product:
    """The product of integers of `Int8Product`, with the steps in and out compiled."""

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Round and pack the weights."""
        self.whole = Int8Product(projection, relu)
        self.arrays = (
            self.whole.weight.numpy(), self.whole.steps.numpy(), self.whole.bias.numpy(), relu
        )  # fmt: skip

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        weight, weight_steps, bias, relu = self.arrays
        steps = np.empty(len(x), np.float32)
        if len(x) <= FEW_ROWS:
            whole = np.empty(x.shape, np.int16)
            loops.quantize_rows(x, LEVELS, whole, steps)
            y = np.empty((len(x), len(bias)), np.float32)
            loops.multiply_whole_rows(whole, steps, weight, weight_steps, bias, relu, y)
            return y
        whole = np.empty(x.shape, np.float32)
        loops.quantize_rows(x, LEVELS, whole, steps)
        y = self.whole.multiply(torch.from_numpy(whole)).numpy()
        loops.scale_rows(y, steps, bias, relu)
        return y
