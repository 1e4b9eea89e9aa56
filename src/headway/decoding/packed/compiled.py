"""Kernels compiled by Numba, for the CPU."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.decoding.engine import Ints
from headway.decoding.packed.compiled_listed import ListedLoop
from headway.decoding.packed.compiled_products import (
    Bfloat16Product,
    Float32Product,
    Int8LoopProduct,
    LoopFeedForward,
    LoopProduct,
)
from headway.decoding.packed.fused import FusedDecoder
from headway.decoding.packed.kernels import Cache, Heads, Linear, Owners, WholeDecoder
from headway.decoding.packed.plain_products import (
    SHARP,
    SHARP_PIECES,
    Int8Product,
    Precision,
    Product,
    product,
    worth_integers,
)
from headway.decoding.packed.sparse import sparse
from headway.decoding.packed.sublayers import Stack
from headway.decoding.packed.weights import Projection
from headway.kernels import attention_step, layer_norm
from headway.kernels.codegen.numba_compiler import has_tiles
from headway.kernels.linear_blocks import LARGEST_BYTE, multiplies_bfloat16, multiplies_bytes
from headway.kernels.top_k import sharpen

Floats = NDArray[np.float32]
Kept = NDArray[Any]
# Weights up to which bytes gain little beside bfloat16: nothing with few rows, 1.4 times with many;
# and up to which bytes of fewer bits lose more than they gain (benchmarks/log/022, 054).
SMALL = 2**17


class _Norm(NamedTuple):
    gamma: Floats
    beta: Floats
    epsilon: np.float32


class CompiledKernels:
    """NumPy arrays in, NumPy arrays out."""

    name = ", ".join(
        text
        for text, there in [
            (f"Numba {numba.__version__}", True),
            (f"sums of bytes to {LARGEST_BYTE}", multiplies_bytes()),
            ("sums of bfloat16", multiplies_bfloat16()),
            ("tiles", has_tiles()),
        ]
        if there
    )
    by_memory = True

    def __init__(self, precision: Precision = "float32") -> None:
        """Compute products in this precision, all else in float32.

        Caches are kept in bfloat16 where products are not in float32.
        """
        self.precision: Precision = precision
        self.cache_dtype = np.float32 if precision == "float32" else np.uint16

    def array(self, tensor: Tensor) -> Floats:
        """Return the tensor's numbers."""
        return tensor.detach().float().cpu().contiguous().numpy()

    def tensor(self, array: Floats) -> Tensor:
        """Return the same memory as a tensor."""
        return torch.from_numpy(array)

    def empty(self, *shape: int) -> Kept:
        """Return room for a cache; the system gives the memory when it is first written."""
        return sparse(shape, self.cache_dtype)

    def grow(self, cache: Kept, room: int, lengths: Ints) -> Kept:
        """Copy what is written, so that the rest takes no memory yet."""
        longer = self.empty(len(cache), room, cache.shape[2])
        for row, length in enumerate(lengths.tolist()):
            longer[row, : min(length, cache.shape[1])] = cache[row, :length]
        return longer

    def keep(self, rows: Floats, first: int, slots: Ints, starts: Ints, cache: Kept) -> None:
        """Write sentences' keys or values to the beginning of their slots."""
        attention_step.keep_memory(rows, first, slots, starts, cache)

    def take(self, table: Floats, ids: Ints) -> Floats:
        """Return these rows of a table."""
        return table[ids]

    def linear(
        self, projection: Projection, *, relu: bool = False, fine: bool = False
    ) -> Callable[[Floats], Floats]:
        """Prepare x weight^T + bias; in int8 what is fine or small in more bits, if that is cheap.

        The first line that fits decides:

            float32                                              Float32Product
            bfloat16  summed by the processor                    Bfloat16Product
            bfloat16                                             PyTorch's product
            int8      not worth integers                         Float32Product
            int8      fine or small, bfloat16 is summed          Bfloat16Product
            int8      small, bytes have fewer bits               Float32Product
            int8      bytes are summed                           Int8LoopProduct
            int8                                                 Int8Product, PyTorch's
        """
        pairs = multiplies_bfloat16()
        small = projection.weight.numel() <= SMALL
        fewer_bits = multiplies_bytes() and LARGEST_BYTE < 255
        more = (fine or small) if pairs else (small and fewer_bits)
        integers = self.precision == "int8" and worth_integers(projection)
        if integers and not more:
            if multiplies_bytes():
                return Int8LoopProduct(projection, relu)
            return _by_pytorch(Int8Product(projection, relu))
        if pairs and (integers or self.precision == "bfloat16"):
            return Bfloat16Product(projection, relu)
        if self.precision == "bfloat16":
            return _by_pytorch(product(projection, "bfloat16", torch.device("cpu"), relu=relu))
        return Float32Product(projection, relu)

    def output(self, projection: Projection) -> Linear:
        """Prepare the projection to the vocabulary; what decides is computed in float32."""
        rough = self.linear(projection)
        if type(rough) is Float32Product:
            return rough
        weight, bias = self.array(projection.weight), self.array(projection.bias)
        margin = np.float32(SHARP[self.precision])

        def multiply(x: Floats) -> Floats:
            logits = rough(x)
            sharpen(x, weight, bias, margin, SHARP_PIECES, logits)
            return logits

        return multiply

    def listed(self, projection: Projection) -> ListedLoop:
        """Prepare the projection to the pieces of each row's list."""
        return ListedLoop(self.array(projection.weight), self.array(projection.bias))

    def join(self, first: Linear, second: Linear) -> LoopFeedForward | None:
        """Return both products in one call, where there are loops and a ReLU for them."""
        if not isinstance(first, LoopProduct) or not isinstance(second, LoopProduct):
            return None
        return LoopFeedForward(first, second) if first.relu and not second.relu else None

    def fuse(self, decoder: Stack) -> WholeDecoder | None:
        """Return the decoder in one call, where it has ReLU and products for it."""
        return FusedDecoder(decoder) if FusedDecoder.fits(decoder) else None

    def norm(self, module: nn.LayerNorm) -> _Norm:
        """Take the vectors out of the module."""
        shape = module.normalized_shape
        gamma = torch.ones(shape) if module.weight is None else module.weight
        beta = torch.zeros(shape) if module.bias is None else module.bias
        return _Norm(self.array(gamma), self.array(beta), np.float32(module.eps))

    def normalize(self, x: Floats, norm: _Norm) -> Floats:
        """Compute LayerNorm(x)."""
        return self.add_norm(x, np.zeros_like(x), norm)[1]

    def add_norm(self, x: Floats, y: Floats, norm: _Norm) -> tuple[Floats, Floats]:
        """Compute x + y and LayerNorm(x + y)."""
        total, result = np.empty_like(x), np.empty_like(x)
        layer_norm.add_norm(x, y, norm.gamma, norm.beta, norm.epsilon, total, result)
        return total, result

    def attend_to_source(self, qkv: Floats, starts: Ints, heads: Heads) -> Floats:
        """Let each piece attend to its sentence."""
        longest = int((starts[1:] - starts[:-1]).max())
        out = np.empty((len(qkv), heads.num_heads * heads.d_v), np.float32)
        keys = np.empty((longest, heads.num_heads * heads.d_k), np.float32)
        values = np.empty((longest, heads.num_heads * heads.d_v), np.float32)
        attention_step.attend_to_source(qkv, starts, keys, values, heads.num_heads, out)
        return out

    def attend_to_past(
        self, qkv: Floats, rows: Ints, lengths: Ints, owners: Owners, cache: Cache, heads: Heads
    ) -> Floats:
        """Append the newest keys and values; attend to all so far."""
        out = np.empty((len(qkv), heads.num_heads * heads.d_v), np.float32)
        past = cache.keys, cache.values
        attention_step.attend_to_past(qkv, rows, lengths, owners, *past, heads.num_heads, out)
        return out

    def attend_to_memory(
        self, q: Floats, slots: Ints, lengths: Ints, cache: Cache, heads: Heads
    ) -> Floats:
        """Attend to the memory in each row's slot."""
        out = np.empty((len(q), heads.num_heads * heads.d_v), np.float32)
        memory = cache.keys, cache.values
        attention_step.attend_to_memory(q, slots, lengths, *memory, heads.num_heads, out)
        return out


def _by_pytorch(multiply: Product) -> Callable[[Floats], Floats]:
    """Give arrays to a product that loops have no instructions for."""
    return lambda x: multiply(torch.from_numpy(x)).numpy()
