"""The traces that were made, by what was asked for; those of longest ago go first."""

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from headway.inspection.trace import Trace
from headway.serving.failures import RefusedError

Owner = TypeVar("Owner")


@dataclass(eq=False)
class Kept(Generic[Owner]):
    """A trace with what has been computed of it."""

    id: str
    owner: Owner
    """The model that it is of."""
    trace: Trace
    answers: dict[str, Any] = field(default_factory=dict)
    """What took long to compute, by question."""


class TraceStore(Generic[Owner]):
    """Traces by id, within a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most so many bytes of tensors."""
        self.max_bytes = max_bytes
        self._kept: OrderedDict[str, Kept[Owner]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many traces there are."""
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """Return the bytes that all of them take."""
        with self._lock:
            return sum(self._sizes.values())

    def find(self, trace_id: str) -> Kept[Owner] | None:
        """Return a trace, which is thereby the latest, or None."""
        with self._lock:
            if trace_id in self._kept:
                self._kept.move_to_end(trace_id)
            return self._kept.get(trace_id)

    def get(self, trace_id: str) -> Kept[Owner]:
        """Return a trace; RefusedError where it is gone or never was."""
        kept = self.find(trace_id)
        if kept is None:
            raise RefusedError(
                404,
                f"There is no trace '{trace_id[:64]}', or it has been dropped to free memory.",
                "Ask for it again with POST /api/trace.",
                "trace-gone",
            )
        return kept

    def put(self, kept: Kept[Owner]) -> None:
        """Keep a trace, and drop those of longest ago until all fit."""
        with self._lock:
            self._kept[kept.id] = kept
            self._sizes[kept.id] = kept.trace.nbytes
            while len(self._kept) > 1 and sum(self._sizes.values()) > self.max_bytes:
                oldest, _ = self._kept.popitem(last=False)
                del self._sizes[oldest]


def trace_id(checksum: str, request: dict[str, Any]) -> str:
    """Return the id of what is asked of a model: the same for the same request."""
    text = json.dumps([checksum, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
