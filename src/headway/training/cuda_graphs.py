"""Passes that a GPU has recorded (CUDA graphs): forward and backward, once for each shape.

A pass is more than a thousand kernels, and a processor takes longer to start them one by one than a
GPU to run those of a model like base. What is recorded starts as a whole. It serves batches of one
shape, so that shapes are rounded up with padding, which changes no loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from headway.data.batching import Batch, round_up

Run = Callable[[Batch, "Tensor | float"], Tensor]
"""Adds the gradients of a batch, times a factor, to those there are; returns its summed loss."""

Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records what a function does; returns what does it again, and where its result is then."""

OUT_OF_MEMORY = "memory does not suffice"

# So many serve 99 of 100 batches, of long and short text together (benchmarks/log/064).
_MOST = 128
_SHARES_OF_ROWS = 8


class Shape(NamedTuple):
    """Sizes of a batch."""

    rows: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What no batch exceeds, and none with its padding either."""

    tokens: int
    """Pieces of a side, padding included."""
    length: int
    """Pieces of a sentence, with its start or end symbol."""


class RecordedPasses:
    """Make passes: those of a shape that has come before by what was recorded then."""

    def __init__(
        self,
        run: Run,
        device: torch.device,
        limits: Limits | None = None,
        record: Record | None = None,
    ) -> None:
        """Record nothing yet.

        run: makes a pass; gradients must stay where the first one has put them. record: by CUDA
        graphs if unset.
        """
        self.run = run
        self.device = device
        self.limits = limits
        self.record = record or _CudaGraphs()
        self.stopped_by: str | None = None
        """Why nothing is recorded any more."""
        self.preparations = 0
        """Passes that were the first of their shape, or were recorded; they take longer."""
        self._seen: set[Shape] = set()
        self._recordings: dict[Shape, _Recording] = {}

    def __call__(self, batch: Batch, scale: float, parts: int = 1) -> Tensor:
        """Add the gradients of a batch on a CPU, times scale; return its summed loss.

        parts: how many such make what the limits are for.
        """
        if self.stopped_by is not None:
            return self.run(batch.to(self.device), scale)
        shape = self._shape(batch, parts)
        recording = self._recordings.get(shape)
        # Common shapes come first. To record a rare one in place of another takes longer than
        # many passes of it.
        if recording is None and len(self._recordings) >= _MOST:
            return self.run(batch.to(self.device), scale)
        padded = batch.padded(*shape)
        if recording is None:
            self.preparations += 1
            if shape not in self._seen:
                # Kernels are compiled, loaded and chosen in the first pass, not while recording.
                self._seen.add(shape)
                return self.run(padded.to(self.device), scale)
            recording = self._recorded(padded)
            if recording is None:
                return self.run(batch.to(self.device), scale)
            self._recordings[shape] = recording
        return recording(padded, scale)

    def stop(self, why: str) -> bool:
        """Forget all recordings and record no more; return True if that frees any memory."""
        self.stopped_by = self.stopped_by or why
        frees = bool(self._recordings)
        self._recordings.clear()
        return frees

    def _recorded(self, batch: Batch) -> "_Recording | None":
        """Record a pass; None if that cannot be.

        One that waits for the GPU, as a part of one's own may, cannot be recorded. Gradients are as
        they were.
        """
        try:
            return _Recording(self.run, self.record, batch.to(self.device))
        except RuntimeError as error:
            short = isinstance(error, torch.OutOfMemoryError)
            self.stop(OUT_OF_MEMORY if short else str(error).strip().split("\n")[0])
            return None

    def _shape(self, batch: Batch, parts: int) -> Shape:
        rows, source = batch.source_ids.shape
        target = batch.target_ids.size(1)
        if self.limits is None:
            return Shape(rows, round_up(source), round_up(target))
        # Beyond the longest sentence a model may have no positions.
        source, target = (min(round_up(n), self.limits.length) for n in (source, target))
        # Most batches are as full as can be; the others have few numbers of rows.
        full = -(-(self.limits.tokens // max(source, target)) // parts)
        shares = range(1, _SHARES_OF_ROWS + 1)
        counts = (-(-full * share // _SHARES_OF_ROWS) for share in shares)
        return Shape(next((count for count in counts if count >= rows), rows), source, target)


class _Recording:
    """The pass of one shape, and the memory that it reads."""

    def __init__(self, run: Run, record: Record, batch: Batch) -> None:
        self.batch = batch
        self.scale = torch.ones((), dtype=torch.float64, device=batch.source_ids.device)
        self.replay, self.loss = record(lambda: run(batch, self.scale))

    def __call__(self, batch: Batch, scale: float) -> Tensor:
        self.batch.source_ids.copy_(batch.source_ids)
        self.batch.target_ids.copy_(batch.target_ids)
        self.batch.label_ids.copy_(batch.label_ids)
        self.scale.fill_(scale)
        self.replay()
        return self.loss.clone()  # the next pass of this shape writes to the same place


class _CudaGraphs:
    """Records; all share the memory for what is in between, for one runs at a time."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            loss = run()
        return graph.replay, loss
