"""Dropout (section 5.4) with random numbers that cost little on a CPU.

On a CPU, a mask is a function of a key, and each call draws one key. The backward pass computes the
mask again from the key instead of keeping it. Keys come from PyTorch's generator, or from the
generator of `drawing_from`. Four elements share one 64-bit number, because 16 bits decide p to
1 / 65536. Without Numba, PyTorch computes the same masks. On other devices, and under torch.compile
or torch.func, masks are PyTorch's own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headway.kernels import dispatch, threads
from headway.kernels.splitmix import GAMMA, LAST_SHIFT, MIXING
from headway.model.checks import check_dropout
from headway.training.accelerated.arrays import array

_of_thread = threading.local()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let this thread draw its keys from a generator of its own."""
    before = getattr(_of_thread, "generator", None)
    _of_thread.generator = generator
    try:
        yield
    finally:
        _of_thread.generator = before


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool) -> Float[Tensor, "*shape"]:
    """Zero each number with probability p while training and scale the rest by 1 / (1 - p)."""
    if not training or p == 0.0:
        return x
    check_dropout(p)
    if x.device.type != "cpu" or dispatch.is_traced():
        return F.dropout(x, p)
    if dispatch.dropout(x).by is dispatch.By.NUMBA:
        return _Drop.apply(x, _new_key(), p, x.dtype)  # type: ignore[no-any-return]
    wide = torch.promote_types(x.dtype, torch.float32)
    return (x * mask(x.shape, _new_key(), p, wide)).to(x.dtype)


def add_dropped(
    x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"], p: float, training: bool
) -> Float[Tensor, "*shape"]:
    """Compute x + Dropout(y), in one kernel where `dispatch.dropout` chooses it."""
    if not training or p == 0.0 or x.shape != y.shape:
        return x + dropout(y, p, training)
    if dispatch.dropout(x, y).by is dispatch.By.PYTORCH:
        return x + dropout(y, p, training)
    check_dropout(p)
    return _AddDropped.apply(x, y, _new_key(), p)  # type: ignore[no-any-return]


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, key: int, p: float, dtype: torch.dtype) -> Tensor:
        ctx.draws, ctx.dtype = (key, p), x.dtype
        out = torch.empty(x.shape, dtype=dtype, device=x.device)
        kernels = _kernels()
        count = -(-x.numel() // kernels.DROPOUT_LOT)
        threads.divide(kernels.drop, _flat(x), *_draws(key, p), _flat(out), count=count)
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None, None]:
        return _Drop.apply(grad_outputs[0], *ctx.draws, ctx.dtype), None, None, None  # type: ignore[return-value]


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, key: int, p: float) -> Tensor:
        ctx.draws, ctx.dtypes = (key, p), (x.dtype, y.dtype)
        dtype = torch.promote_types(x.dtype, y.dtype)
        out = torch.empty(x.shape, dtype=dtype, device=x.device)
        kernels = _kernels()
        count = -(-x.numel() // kernels.DROPOUT_LOT)
        threads.divide(
            kernels.add_dropped, _flat(x), _flat(y), *_draws(key, p), _flat(out), count=count
        )
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x_dtype, y_dtype = ctx.dtypes
        grad = grad_outputs[0]
        return grad.to(x_dtype), _Drop.apply(grad, *ctx.draws, y_dtype), None, None  # type: ignore[return-value]


def mask(
    shape: torch.Size, key: int, p: float, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*shape"]:
    """Return the factor of every element, 0 or 1 / (1 - p), in plain PyTorch."""
    count = shape.numel()
    lowest, scale = _limits(p)
    # Each 64-bit draw is four 16-bit draws, uniform from -32768 to 32767. Clamping them between two
    # neighbours is a comparison, and many times faster than a comparison that returns booleans.
    draws = draw((count + 3) // 4, key).view(torch.int16)[:count].view(shape)
    if lowest > -32768:
        draws = draws.clamp_(lowest - 1, lowest).sub_(lowest - 1)
    else:
        draws.fill_(1)
    return draws.to(dtype).mul_(scale)


def _new_key() -> int:
    key = torch.empty((), dtype=torch.int64, device="cpu")
    return int(key.random_(-(2**63), None, generator=getattr(_of_thread, "generator", None)))


def _limits(p: float) -> tuple[int, float]:
    """Return the smallest draw that keeps an element, and the factor of kept elements."""
    dropped = min(round(p * 65536), 65535)
    return dropped - 32768, 65536 / (65536 - dropped)


def _draws(key: int, p: float) -> tuple[np.uint64, int, np.float32]:
    """Return key, smallest draw that keeps an element, and factor, as the kernels take them."""
    lowest, scale = _limits(p)
    return np.uint64(key % 2**64), lowest, np.float32(scale)


def _flat(tensor: Tensor) -> NDArray[Any]:
    return array(tensor).reshape(-1)


def _kernels() -> ModuleType:
    """Import the kernels, which need Numba, when they are used."""
    from headway.kernels import elementwise

    return elementwise


def draw(count: int, key: int) -> Int[Tensor, " count"]:
    """Return the first `count` numbers of SplitMix64 (Steele, Lea and Flood 2014) for this key.

    Each number depends only on the key and its index, so any part can be computed alone.
    """
    z = torch.arange(count, device="cpu").mul_(_signed(GAMMA)).add_(key)
    for shift, factor in MIXING:
        z = z.bitwise_xor_(_shifted(z, shift)).mul_(_signed(factor))
    return z.bitwise_xor_(_shifted(z, LAST_SHIFT))


def _shifted(z: Tensor, shift: int) -> Tensor:
    """Shift right and fill with zeros; PyTorch's own shift fills with the sign."""
    return (z >> shift).bitwise_and_(2 ** (64 - shift) - 1)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
