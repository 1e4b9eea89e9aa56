"""The fastest precision on this machine whose translations are worth those of float32.

It is measured once and remembered.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import nn

from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.weights import Projection
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.runtime.cached_benchmark import measured_once
from headway.runtime.devices import processor
from headway.runtime.openmp import one_thread

_ROWS = 1, 64  # one sentence by itself, and many
_OUTPUTS = 2**13  # the most rows of the vocabulary that are multiplied; time is proportional
_SPREAD = 2.5  # the standard deviation of a trained model's logits, about
_GENERATION = 10  # of the kernels; raised to measure again after they change
_SECONDS = 0.01
_WORTH = 1.1  # a more exact precision may take this many times the least


class DecoderSize(NamedTuple):
    """The sizes that decide how long a step of a decoder takes."""

    weights: int
    """The weights of all layers that a step multiplies with."""
    d_model: int
    d_ff: int
    vocabulary: int

    def products_of_layers(self) -> float:
        """Return the number of products from d_model to d_ff with as many weights."""
        return self.weights / (self.d_model * self.d_ff)


def fastest(device: torch.device, size: DecoderSize) -> Precision:
    """Return the precision that multiplies the matrices of this decoder fastest on this machine.

    Only those count whose translations score as those of float32 do (`dispatch.scores_as_float32`).
    On a processor with VNNI it is int8; elsewhere precisions are measured. If several take nearly
    the same time, it is the most exact: bfloat16 and int8 change a few translations of a hundred.
    Measurements are kept in the user's cache folder, by processor,
    versions, kernels and sizes. If it cannot be written, each call measures again.
    """
    candidates = _candidates(device, size.d_model * size.d_ff)
    if len(candidates) == 1:
        return candidates[0]
    if "int8" in candidates and dispatch.has_vnni():
        return "int8"  # never slower: it computes in bfloat16 where bytes gain nothing (log/080)
    backend = f"{choose_backend(device, 'float32').name}, {_GENERATION}"
    key = "|".join([processor(device), torch.__version__, backend, "x".join(map(str, size))])
    precision = measured_once(key, candidates, lambda: _measure(device, size, candidates))
    return cast(Precision, precision)


def _candidates(device: torch.device, weights: int) -> list[Precision]:
    """Return the precisions to choose from, the most exact first; weights: of a product.

    float32 is none if bfloat16 is one, because that reads half as many bytes and multiplies twice
    as many numbers in an instruction. So its kernels need not be compiled to be measured.
    """
    names: list[Precision] = ["float32", "bfloat16", "int8"]
    names = [name for name in names if dispatch.scores_as_float32(name, device, weights)]
    return names[1:] if "bfloat16" in names else names


def _measure(device: torch.device, size: DecoderSize, candidates: Sequence[Precision]) -> Precision:
    """Time precisions, the most exact first, in turns: a disturbance affects each of them.

    The time of a step is that of its products, and counts for one row as much as for many: it is
    the geometric mean.
    """
    layer = Projection.of(nn.Linear(size.d_model, size.d_ff, device=device))
    outputs = min(size.vocabulary, _OUTPUTS)
    vocabulary = nn.Linear(size.d_model, outputs, device=device)
    # With flat logits, nearly all would be near the best, and be computed again in float32.
    nn.init.normal_(vocabulary.weight, std=_SPREAD / math.sqrt(size.d_model))
    output = Projection.of(vocabulary)
    shares = size.vocabulary / outputs
    seconds = dict.fromkeys(candidates, math.inf)
    for _ in range(3):
        for precision in candidates:
            backend = choose_backend(device, precision)
            multiply, choose = backend.linear(layer), backend.output(output)
            mean = 1.0
            for rows in _ROWS:
                x = backend.array(torch.randn(rows, size.d_model, device=device))
                with one_thread():  # as in the threads that translate a file
                    in_layers = size.products_of_layers() * _seconds(partial(multiply, x), device)
                    in_output = shares * _seconds(partial(choose, x), device)
                mean *= (in_layers + in_output) ** (1 / len(_ROWS))
            seconds[precision] = min(mean, seconds[precision])
    fastest = min(seconds.values())
    return next(name for name in candidates if seconds[name] <= _WORTH * fastest)


@torch.inference_mode()
def _seconds(run: Callable[[], object], device: torch.device) -> float:
    """Return the mean time of a call."""
    run()
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < _SECONDS:
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        calls += 1
    return elapsed / calls
