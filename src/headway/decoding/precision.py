"""The fastest precision on this machine, measured once and remembered."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import cast, get_args

import torch
from torch import nn

from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError
from headway.kernels.dispatch import Precision
from headway.runtime.cached_benchmark import measured_once
from headway.runtime.devices import processor

_ROWS = 64
_GENERATION = 8  # of the kernels; raised to measure again after they change
_SECONDS = 0.02
_WORTH = 1.1  # a more exact precision may take this many times the least


def fastest(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Return the precision that multiplies matrices of this size fastest on this machine.

    If several take nearly the same time, it is the most exact: bfloat16 and int8 change scores a
    little (tolerances: `docs/en/howto/faster.md`). Measurements are kept in the user's cache
    folder, by processor, versions, kernels and size. If it cannot be written, each call measures
    again.
    """
    backend = f"{choose_backend(device, 'float32').name}, {_GENERATION}"
    key = "|".join([processor(device), torch.__version__, backend, f"{d_model}x{d_ff}"])
    precision = measured_once(key, get_args(Precision), lambda: _measure(device, d_model, d_ff))
    return cast(Precision, precision)


def _measure(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Time all precisions in turns, so that a disturbance affects each of them."""
    projection = Projection.of(nn.Linear(d_model, d_ff, device=device))
    rows = torch.randn(_ROWS, d_model, device=device)
    candidates: list[Precision] = ["float32", "bfloat16"]  # the most exact first
    if device.type == "cpu":
        candidates.append("int8")
    seconds: dict[Precision, float] = {}
    for _ in range(3):
        for precision in candidates:
            try:
                backend = choose_backend(device, precision)
                multiply = backend.linear(projection)
            except ConfigError:  # this PyTorch cannot multiply integers
                continue
            x = backend.array(rows)
            with _one_thread():  # as in the processes that translate a file
                taken = _seconds(lambda multiply=multiply, x=x: multiply(x), device)
            seconds[precision] = min(taken, seconds.get(precision, taken))
    least = min(seconds.values())
    return next(name for name in candidates if seconds.get(name, math.inf) <= _WORTH * least)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch compute with one thread, as the kernels do, so that times are comparable."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
def _seconds(run: Callable[[], object], device: torch.device) -> float:
    """Return the mean time of a call."""
    run()
    calls, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < _SECONDS:
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
    return taken / calls
