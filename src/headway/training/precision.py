"""The faster precision on this machine, measured once because processors do not report it."""

import time

import torch

from headway.runtime.cached_benchmark import measured_once
from headway.runtime.devices import processor

# Rows of a batch, width and inner width of a layer of middle size; a few milliseconds each.
_ROWS, _WIDTH, _INNER = 2048, 256, 1024
_ROUNDS = 15
_GENERATION = 1  # of the measurement; results of another generation are measured again


def choose_precision(requested: str, device: torch.device) -> str:
    """Return float32 or bfloat16; `auto` takes bfloat16 where its products are 1.5 times faster.

    A smaller gain is lost in conversions, because weights and sums stay in float32. The result is
    kept in the user's cache folder, by processor, number of threads and version.
    """
    if requested != "auto":
        return requested
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device.type != "cpu":
        return "float32"
    threads = f"{torch.get_num_threads()} threads"
    key = "|".join(["training", processor(device), torch.__version__, threads, str(_GENERATION)])
    return measured_once(key, ("float32", "bfloat16"), _measure)


def _measure() -> str:
    seconds = product_seconds()
    return "bfloat16" if seconds["bfloat16"] * 1.5 < seconds["float32"] else "float32"


def product_seconds() -> dict[str, float]:
    """Return the seconds of one matrix product on this processor, by precision."""
    seconds = {torch.float32: [0.0], torch.bfloat16: [0.0]}
    for round_number in range(_ROUNDS + 1):
        for dtype, times in seconds.items():
            times.append(_time_product(dtype))
            if round_number == 0:
                times.clear()  # the first product of a type also prepares its kernel
    return {"float32": min(seconds[torch.float32]), "bfloat16": min(seconds[torch.bfloat16])}


def _time_product(dtype: torch.dtype) -> float:
    x = torch.ones(_ROWS, _WIDTH, dtype=dtype)
    weight = torch.ones(_INNER, _WIDTH, dtype=dtype)
    start = time.perf_counter()
    torch.nn.functional.linear(x, weight)
    return time.perf_counter() - start
