"""The fastest precision on this machine, measured once and remembered."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import cast, get_args

import torch
from torch import nn

from headway.decoding.packed.backend import Precision
from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError
from headway.runtime.cached_benchmark import measured_once
from headway.runtime.devices import processor

_ROWS = 64
_GENERATION = 8  # of the kernels; those of another one are measured anew
_SECONDS = 0.02
_WORTH = 1.1  # times the least: what is more exact may take so long


def fastest(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Return the precision in which a product of this size takes the least time here.

    Where several take nearly the same, the most exact one: bfloat16 and int8 change scores a
    little, and their tolerance is in `docs/decoding.md`. A measurement is kept in the user's cache
    folder, by processor, versions, kernels and size; where that cannot be written, it is made again
    each time.
    """
    backend = f"{choose_backend(device, 'float32').name}, {_GENERATION}"
    key = "|".join([processor(device), torch.__version__, backend, f"{d_model}x{d_ff}"])
    found = measured_once(key, get_args(Precision), lambda: _measure(device, d_model, d_ff))
    return cast(Precision, found)


def _measure(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Time all candidates in turns, so that a disturbance meets each of them."""
    projection = Projection.of(nn.Linear(d_model, d_ff, device=device))
    rows = torch.randn(_ROWS, d_model, device=device)
    candidates: list[Precision] = ["float32", "bfloat16"]  # the most exact one first
    if device.type == "cpu":
        candidates.append("int8")
    seconds: dict[Precision, float] = {}
    for _ in range(3):
        for precision in candidates:
            try:
                backend = choose_backend(device, precision)
                multiply = backend.linear(projection)
            except ConfigError:  # this PyTorch has no product of integers
                continue
            x = backend.array(rows)
            with _one_thread():  # as in each process that translates a file
                taken = _seconds(lambda multiply=multiply, x=x: multiply(x), device)
            seconds[precision] = min(taken, seconds.get(precision, taken))
    least = min(seconds.values())
    return next(name for name in candidates if seconds.get(name, math.inf) <= _WORTH * least)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch compute with one thread, as loops do, so that their times can be compared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
def _seconds(run: Callable[[], object], device: torch.device) -> float:
    """Return the time of one call, averaged over some."""
    run()
    calls, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < _SECONDS:
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
    return taken / calls
