"""The fastest precision on this machine, measured once and remembered."""

import contextlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn

from headway.decoding.packed.choosing import kernels_for
from headway.decoding.packed.plain_products import Precision
from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError
from headway.replacing import write_atomically

_ROWS = 64
_GENERATION = 8  # of the kernels; those of another one are measured anew
_SECONDS = 0.02
_WORTH = 1.1  # times the least: what is more exact may take so long
_CPU_INFO = Path("/proc/cpuinfo")


def fastest(device: torch.device, d_model: int, d_ff: int) -> Precision:
    """Return the precision in which a product of this size takes the least time here.

    Where several take nearly the same, the most exact one: bfloat16 and int8 change scores a
    little, and their tolerance is in `docs/decoding.md`. A measurement is kept in the user's cache
    folder, by processor, versions, kernels and size; where that cannot be written, it is made again
    each time.
    """
    kernels = f"{kernels_for(device, 'float32').name}, {_GENERATION}"
    key = "|".join([processor(device), torch.__version__, kernels, f"{d_model}x{d_ff}"])
    known = _read()
    if known.get(key) not in ("float32", "bfloat16", "int8"):
        known[key] = _measure(device, d_model, d_ff)
        _write(known)
    return known[key]


def processor(device: torch.device) -> str:
    """Return what computes there, with the instructions that PyTorch takes of a CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{processor_name()}, {torch.backends.cpu.get_cpu_capability()}"


def processor_name() -> str:
    """Return the CPU's own name; `platform` knows it on some systems only."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


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
                kernels = kernels_for(device, precision)
                multiply = kernels.linear(projection)
            except ConfigError:  # this PyTorch has no product of integers
                continue
            x = kernels.array(rows)
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


def _file() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "headway" / "precision.json"


def _read() -> dict[str, Precision]:
    try:
        found = json.loads(_file().read_text("utf-8"))
    except (OSError, RuntimeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(known: dict[str, Precision]) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # no room, no right, no home: measured again
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(known, indent=1).encode())
