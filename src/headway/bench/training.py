"""Training speed: target pieces a second of Headway and its peers, for the same work."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headway.bench.contestants import Contestant, take_turns
from headway.bench.machine import describe_machine
from headway.bench.peers import PEERS, peer_step
from headway.bench.work import (
    SIZES,
    Task,
    Work,
    default_task,
    matrix_product,
    our_step,
    product_operations,
    training_operations,
)
from headway.counted import counted
from headway.errors import ConfigError, suggest
from headway.runtime.devices import processor, resolve_device
from headway.runtime.processor import num_cores
from headway.training.precision import choose_precision, product_seconds

# A processor whose products take this many times as long in bfloat16 has no instructions for it; a
# peer's step would take minutes.
_HOPELESS = 3.0


@dataclass(frozen=True, slots=True)
class TrainingComparison:
    """The results of a comparison; rates are target pieces a second."""

    task: Task
    precision: str
    """Our precision: the faster one here, as `headway train` chooses it."""
    compiled: bool
    """Whether our layers were compiled by torch.compile (`training.compile`)."""
    tokens_per_second: float
    peers: dict[str, dict[str, float]]
    matrix_rate: float
    """Operations a second of large matrix products in our precision, measured in turns."""
    matrix_rate_fraction: float
    """The matrix products of our training as a share of that rate."""
    machine: dict[str, Any]
    """The machine it was measured on."""
    threads: int
    """Threads of each side."""
    rounds: int
    """Turns of each side, of which the median counts."""

    def conditions(self) -> str:
        """Return processor or GPU, threads and rounds on one line."""
        hardware = self.machine.get("device") or self.machine["processor"]
        threads = counted(self.threads, "thread")
        return f"{hardware}, {threads} each, median of {counted(self.rounds, 'round')}"

    @property
    def ratio(self) -> float | None:
        """Return our rate divided by that of the fastest peer in its best precision."""
        best = max((max(rates.values()) for rates in self.peers.values()), default=None)
        return None if best is None else self.tokens_per_second / best

    def as_dict(self) -> dict[str, object]:
        """Return the output of `headway bench train --json`."""
        return {
            "size": self.task.size,
            "device": self.task.device,
            "sentences": self.task.sentences,
            "length": self.task.length,
            "ours": {
                "tokens_per_second": self.tokens_per_second,
                "precision": self.precision,
                "compiled": self.compiled,
            },
            "peers": self.peers,
            "ratio": self.ratio,
            "matrix_rate_fraction": self.matrix_rate_fraction,
            "matrix_rate": self.matrix_rate,
            "machine": self.machine,
            "threads": self.threads,
            "rounds": self.rounds,
        }


def compare_training(
    size: str,
    peers: Sequence[str] = (),
    rounds: int = 9,
    threads: int | None = None,
    *,
    device: str = "cpu",
    sentences: int | None = None,
    length: int | None = None,
    compiled: bool = False,
) -> TrainingComparison:
    """Measure Headway, the peers and the machine's matrix products, in turns.

    peers: `marian` (MarianMTModel of transformers) and `torch` (torch.nn.Transformer), each in
    float32, and in bfloat16 unless the processor only emulates it. sentences, length: size of a
    batch instead of that of `default_task`. compiled: Headway with `training.compile`. Raises
    ConfigError for another name or device, MissingExtraError for a peer that is not installed.
    """
    if size not in SIZES:
        raise ConfigError(f"There is no size '{size}'.", suggest(size, SIZES))
    peers = list(dict.fromkeys(peers))
    for peer in peers:
        if peer not in PEERS:
            raise ConfigError(f"There is no peer '{peer}'.", suggest(peer, PEERS))
    usual = default_task(size, resolve_device(device))
    task = dataclasses.replace(
        usual, sentences=sentences or usual.sentences, length=length or usual.length
    )
    precision = choose_precision("auto", torch.device(task.device))
    precisions = ("float32",) if _has_only_float32(task.device) else ("float32", "bfloat16")
    with contextlib.ExitStack() as processes:

        def start(prepare: Callable[..., Work], *arguments: object) -> Contestant:
            contestant = Contestant(prepare, threads, task, *arguments)
            processes.callback(contestant.close)
            return contestant

        contestants = {
            "ours": start(our_step, precision, compiled),
            "matrix": start(matrix_product, precision),
        }
        for peer in peers:
            for name in precisions:
                contestants[f"{peer} {name}"] = start(peer_step, peer, name)
        for contestant in contestants.values():
            contestant.wait()  # all have been preparing at the same time
        seconds = take_turns(contestants, rounds)
    rates = {name: task.target_tokens / value for name, value in seconds.items()}
    matrix_rate = product_operations(task) / seconds["matrix"]
    return TrainingComparison(
        task=task,
        precision=precision,
        compiled=compiled,
        tokens_per_second=rates["ours"],
        peers={peer: {name: rates[f"{peer} {name}"] for name in precisions} for peer in peers},
        matrix_rate=matrix_rate,
        matrix_rate_fraction=training_operations(task) / seconds["ours"] / matrix_rate,
        machine=_machine(task.device),
        threads=threads or torch.get_num_threads(),
        rounds=rounds,
    )


def _machine(device: str) -> dict[str, Any]:
    described = describe_machine(num_cores(), "transformers")
    return (
        described if device == "cpu" else {"device": processor(torch.device(device)), **described}
    )


def _has_only_float32(device: str) -> bool:
    """Return True if bfloat16 would take a peer too long, or ours would not use it."""
    if device == "cpu":
        return is_imitated("bfloat16")
    return choose_precision("auto", torch.device(device)) == "float32"


def is_imitated(precision: str) -> bool:
    """Return True if this processor only emulates a precision, very slowly."""
    seconds = product_seconds()
    return seconds[precision] > _HOPELESS * seconds["float32"]
