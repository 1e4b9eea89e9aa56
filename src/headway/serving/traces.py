"""The latest traces, by the ids of their requests."""

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
class StoredTrace(Generic[Owner]):
    """A trace, and the answers that were computed from it."""

    id: str
    owner: Owner
    """The model of the trace."""
    trace: Trace
    answers: dict[str, Any] = field(default_factory=dict)
    """Answers that take long to compute, by question."""


class TraceStore(Generic[Owner]):
    """Traces by id, with a limit on their bytes."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most this many bytes of tensors."""
        self.max_bytes = max_bytes
        self._traces: OrderedDict[str, StoredTrace[Owner]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of traces."""
        return len(self._traces)

    @property
    def nbytes(self) -> int:
        """Return the bytes of all traces."""
        with self._lock:
            return sum(self._sizes.values())

    def find(self, trace_id: str) -> StoredTrace[Owner] | None:
        """Return a trace, now the latest one, or None."""
        with self._lock:
            if trace_id in self._traces:
                self._traces.move_to_end(trace_id)
            return self._traces.get(trace_id)

    def get(self, trace_id: str) -> StoredTrace[Owner]:
        """Return a trace; RefusedError if it was dropped or never existed."""
        stored = self.find(trace_id)
        if stored is None:
            raise RefusedError(
                404,
                f"There is no trace '{trace_id[:64]}', or it has been dropped to free memory.",
                "Ask for it again with POST /api/trace.",
                "trace-gone",
            )
        return stored

    def put(self, stored: StoredTrace[Owner]) -> None:
        """Keep a trace, and drop the oldest ones until all fit."""
        with self._lock:
            self._traces[stored.id] = stored
            self._sizes[stored.id] = stored.trace.nbytes
            while len(self._traces) > 1 and sum(self._sizes.values()) > self.max_bytes:
                oldest, _ = self._traces.popitem(last=False)
                del self._sizes[oldest]


def trace_id(checksum: str, request: dict[str, Any]) -> str:
    """Return the id of a request to a model; equal requests have equal ids."""
    text = json.dumps([checksum, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
