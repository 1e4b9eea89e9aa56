"""Passes recorded as CUDA graphs: forward and backward, once for each shape.

A pass has more than a thousand kernels. For a model like base, the processor takes longer to start
them one by one than a GPU to run them. A recording starts as a whole. It serves batches
of one shape, so shapes are rounded up with padding, which changes no loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from headway.data.batching import Batch, round_up

Run = Callable[[Batch, "Tensor | float"], Tensor]
"""Adds the gradients of a batch, times a factor, to the present ones; returns its summed loss."""

Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records a function; returns a function that replays it, and the tensor of its result."""

OUT_OF_MEMORY = "there is not enough memory"

# Enough for 99 of 100 batches of long and short text (benchmarks/log/064).
_MOST = 128
_SHARES_OF_ROWS = 8


class Shape(NamedTuple):
    """Sizes of a batch."""

    rows: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest sizes of a batch, with its padding."""

    tokens: int
    """Pieces of a side, padding included."""
    length: int
    """Pieces of a sentence, with its start or end symbol."""


class RecordedPasses:
    """Make passes; a shape that has occurred before is replayed from its recording."""

    def __init__(
        self,
        run: Run,
        device: torch.device,
        limits: Limits | None = None,
        record: Record | None = None,
    ) -> None:
        """Record nothing yet.

        run: makes a pass; gradients must stay in the tensors of the first pass. record: by CUDA
        graphs if unset.
        """
        self.run = run
        self.device = device
        self.limits = limits
        self.record = record or _CudaGraphs()
        self.stopped_by: str | None = None
        """The reason why nothing is recorded any more."""
        self.preparations = 0
        """Passes that were the first of their shape or were recorded; they take longer."""
        self._seen: set[Shape] = set()
        self._recordings: dict[Shape, _Recording] = {}

    def __call__(self, batch: Batch, scale: float, parts: int = 1) -> Tensor:
        """Add the gradients of a batch on the CPU, times scale; return its summed loss.

        parts: number of such batches that make a batch within the limits.
        """
        if self.stopped_by is not None:
            return self.run(batch.to(self.device), scale)
        shape = self._shape(batch, parts)
        recording = self._recordings.get(shape)
        # Common shapes come first. Recording a rare one in place of another takes longer than many
        # passes of it.
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
        """Record a pass; return None if that is impossible.

        A pass that waits for the GPU, as a user's own part may, cannot be recorded. Gradients stay
        the same.
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
        # A model may have no positions beyond the longest sentence.
        source, target = (min(round_up(n), self.limits.length) for n in (source, target))
        # Most batches are full; the numbers of rows of the rest are rounded to a few.
        full = -(-(self.limits.tokens // max(source, target)) // parts)
        shares = range(1, _SHARES_OF_ROWS + 1)
        counts = (-(-full * share // _SHARES_OF_ROWS) for share in shares)
        return Shape(next((count for count in counts if count >= rows), rows), source, target)


class _Recording:
    """The recorded pass of one shape, and the memory that it reads."""

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
    """Record passes; they share memory for intermediate values, because one runs at a time."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            loss = run()
        return graph.replay, loss
