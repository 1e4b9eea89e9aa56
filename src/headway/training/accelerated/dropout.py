"""Dropout (section 5.4) with random numbers that cost little on a CPU.

There, a mask is a function of a key alone, which is drawn for each call: kernels make it again in
the backward pass instead of keeping it. Keys come from PyTorch's generator, or from the one that
`drawing_from` names. Four elements share one 64-bit number, because 16 bits decide p to 1 / 65536.
Without Numba PyTorch computes the same masks. On other devices, and under torch.compile or
torch.func, masks are PyTorch's own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.kernels import threads
from headway.kernels.arrays import array, can_loop, is_traced
from headway.kernels.splitmix import GAMMA, LAST_SHIFT, MIXING
from headway.model.checks import check_dropout

_of_thread = threading.local()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let this thread draw its keys from a generator that no other thread draws from."""
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
    if x.device.type != "cpu" or is_traced():
        return F.dropout(x, p)
    if can_loop(x):
        return _Drop.apply(x, _new_key(), p, x.dtype)  # type: ignore[no-any-return]
    wide = torch.promote_types(x.dtype, torch.float32)
    return (x * mask(x.shape, _new_key(), p, wide)).to(x.dtype)


def add_dropped(
    x: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"], p: float, training: bool
) -> Float[Tensor, "*shape"]:
    """Compute x + Dropout(y); on a CPU in one loop where there are loops for it."""
    if not training or p == 0.0 or x.shape != y.shape or not can_loop(x, y):
        return x + dropout(y, p, training)
    check_dropout(p)
    return _AddDropped.apply(x, y, _new_key(), p)  # type: ignore[no-any-return]


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, key: int, p: float, dtype: torch.dtype) -> Tensor:
        ctx.draws, ctx.dtype = (key, p), x.dtype
        out = torch.empty(x.shape, dtype=dtype, device=x.device)
        loops = _loops()
        lots = -(-x.numel() // loops.LOT)
        threads.divide(loops.drop, _row(x), *_draws(key, p), _row(out), count=lots)
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
        loops = _loops()
        lots = -(-x.numel() // loops.LOT)
        threads.divide(loops.add_dropped, _row(x), _row(y), *_draws(key, p), _row(out), count=lots)
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x_dtype, y_dtype = ctx.dtypes
        grad = grad_outputs[0]
        return grad.to(x_dtype), _Drop.apply(grad, *ctx.draws, y_dtype), None, None  # type: ignore[return-value]


def mask(
    shape: torch.Size, key: int, p: float, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*shape"]:
    """Return 0 or 1 / (1 - p) for every element: what the loops multiply by, in plain PyTorch."""
    count = shape.numel()
    lowest, scale = _limits(p)
    # Each 64-bit draw is four 16-bit ones, uniform from -32768 to 32767. Clamping them between two
    # neighbours is a comparison, and runs many times as fast as one that gives booleans.
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
    """Return the smallest draw that keeps an element, and the factor for what is kept."""
    dropped = min(round(p * 65536), 65535)
    return dropped - 32768, 65536 / (65536 - dropped)


def _draws(key: int, p: float) -> tuple[np.uint64, int, np.float32]:
    """Return key, smallest draw that keeps an element, and factor, as loops take them."""
    lowest, scale = _limits(p)
    return np.uint64(key % 2**64), lowest, np.float32(scale)


def _row(tensor: Tensor) -> Any:
    return array(tensor).reshape(-1)


def _loops() -> Any:
    """Import what needs Numba when it is needed."""
    from headway.kernels import dropout

    return dropout


def draw(count: int, key: int) -> Int[Tensor, " count"]:
    """Return the first `count` numbers of SplitMix64 (Steele, Lea and Flood 2014) from this key on.

    Each is a function of key and place alone, so that any part of them can be made by itself.
    """
    z = torch.arange(count, device="cpu").mul_(_signed(GAMMA)).add_(key)
    for shift, factor in MIXING:
        z = z.bitwise_xor_(_shifted(z, shift)).mul_(_signed(factor))
    return z.bitwise_xor_(_shifted(z, LAST_SHIFT))


def _shifted(z: Tensor, shift: int) -> Tensor:
    """Shift to the right and fill with zeros; PyTorch's own shift fills with the sign."""
    return (z >> shift).bitwise_and_(2 ** (64 - shift) - 1)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
