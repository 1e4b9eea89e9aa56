"""The fastest precision on this machine whose translations are worth those of float32.

It is measured once and remembered.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch
from torch import nn

from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.weights import Projection
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.runtime.cached_benchmark import measured_once
from headway.runtime.devices import processor

_ROWS = 64
_GENERATION = 8  # of the kernels; raised to measure again after they change
_SECONDS = 0.02
_WORTH = 1.1  # a more exact precision may take this many times the least


def fastest(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Return the precision that multiplies matrices of this size fastest on this machine.

    Only those count whose translations score as those of float32 do (`dispatch.scores_as_float32`).
    If several take nearly the same time, it is the most exact: bfloat16 and int8 change a few
    translations of a hundred. Measurements are kept in the user's cache folder, by processor,
    versions, kernels and size. If it cannot be written, each call measures again.
    """
    candidates = _candidates(device, d_model * d_ff)
    if len(candidates) == 1:
        return candidates[0]
    backend = f"{choose_backend(device, 'float32').name}, {_GENERATION}"
    key = "|".join([processor(device), torch.__version__, backend, f"{d_model}x{d_ff}"])
    precision = measured_once(key, candidates, lambda: _measure(device, d_model, d_ff, candidates))
    return cast(Precision, precision)


def _candidates(device: torch.device, weights: int) -> list[Precision]:
    """Return the precisions to choose from, the most exact first; weights: of a product."""
    names: list[Precision] = ["float32", "bfloat16", "int8"]
    return [name for name in names if dispatch.scores_as_float32(name, device, weights)]


def _measure(
    device: torch.device, d_model: int, d_ff: int, candidates: Sequence[Precision]
) -> Precision:
    """Time precisions, the most exact first, in turns: a disturbance affects each of them."""
    projection = Projection.of(nn.Linear(d_model, d_ff, device=device))
    rows = torch.randn(_ROWS, d_model, device=device)
    seconds: dict[Precision, float] = {}
    for _ in range(3):
        for precision in candidates:
            backend = choose_backend(device, precision)
            multiply, x = backend.linear(projection), backend.array(rows)
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
