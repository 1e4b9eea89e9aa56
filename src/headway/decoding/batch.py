"""A batch that takes one step at a time, with any engine and any search."""

from collections.abc import Sequence
from typing import Generic

from headway.decoding.engine import Engine, State
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.search import Search


class StepwiseBatch(Generic[State]):
    """A batch that asks an engine for the logits of each step, and a search for the decisions."""

    def __init__(self, engine: Engine[State], search: Search, slots: int) -> None:
        """Start with free slots."""
        self.engine, self.search = engine, search
        self.state = engine.start(slots, search.copies)

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Encode these sentences into free slots, and begin their searches."""
        lists = [request.allowed for request in requests if request.allowed is not None]
        assert len(lists) in (0, len(requests)), "all requests have a list of tokens, or none has"
        sources = [request.source_ids for request in requests]
        self.engine.encode(self.state, slots, sources, lists or None)
        self.search.begin(slots, [request.by_place() for request in requests])

    def advance(self, enough: int = 1) -> list[tuple[int, list[Hypothesis]]]:
        """Take one step, however many sentences are wanted."""
        advance = self.search.advance(self.engine.step(self.state, *self.search.rows()))
        if advance.rows is not None and advance.parents is not None:
            self.engine.reorder(self.state, advance.rows, advance.parents)
        return advance.finished

    def interrupt(self) -> None:
        """Do nothing: `advance` always returns after a step."""

    def resume(self) -> None:
        """Do nothing: `advance` always returns after a step."""

    def drop(self, slots: Sequence[int]) -> list[int]:
        """Free no slot: a search step by step ends its sentences itself."""
        return []

    def end(self) -> None:
        """Do nothing: the next batch gets memory of its own."""
