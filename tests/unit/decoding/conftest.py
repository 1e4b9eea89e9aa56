"""An engine whose probabilities are written down, so that searches can be checked by hand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from headway.decoding.build_search import search_all
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request

Table = dict[tuple[int, ...], dict[int, float]]


@dataclass
class State:
    """What each row has seen; the first piece names the sentence."""

    slots: int
    copies: int
    pasts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)


class ScriptedEngine:
    """Give the probabilities that a table has for what a row has chosen so far."""

    copies_weights = False

    def __init__(self, table: Table, vocabulary: int = 6) -> None:
        self.table = table
        self.vocabulary = vocabulary
        self.steps = 0
        self.rows: list[list[int]] = []
        self.at_ease: int | None = None
        self.encoded: list[list[int]] = []

    def batch(self, options: object, slots: int) -> None:
        """Return None: there is no compiled loop."""

    def start(self, slots: int, copies: int) -> State:
        return State(slots, copies)

    def max_useful_source_pieces(self, copies: int) -> int | None:
        return self.at_ease

    def encode(
        self,
        state: State,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        assert allowed is None
        self.encoded.append([source[0] for source in sources])
        for slot, source in zip(slots, sources, strict=True):
            assert 0 <= slot < state.slots
            for copy in range(state.copies):
                state.pasts.pop(slot * state.copies + copy, None)
            state.pasts[slot * state.copies] = (source[0],)
            state.fresh.add(slot * state.copies)

    def step(self, state: State, rows: Ints, previous_ids: Ints) -> Tensor:
        self.steps += 1
        self.rows.append(rows.tolist())
        assert rows.tolist() == sorted(set(rows.tolist()))
        logits = torch.full((len(rows), self.vocabulary), -1e9)
        for index, (row, piece) in enumerate(zip(rows.tolist(), previous_ids, strict=True)):
            if row in state.fresh:
                assert piece == 2
                state.fresh.discard(row)
            else:
                state.pasts[row] = (*state.pasts[row], int(piece))
            for choice, probability in self.table.get(state.pasts[row], {3: 1.0}).items():
                logits[index, choice] = math.log(probability)
        return logits

    def reorder(self, state: State, rows: Ints, parents: Ints) -> None:
        assert (rows // state.copies == parents // state.copies).all()
        slots = set((rows // state.copies).tolist())
        fresh = {int(row): state.pasts[int(parent)] for row, parent in zip(rows, parents)}  # noqa: B905
        kept = {r: p for r, p in state.pasts.items() if r // state.copies not in slots}
        state.pasts = kept | fresh


Find = Callable[..., list[list[Hypothesis]]]


@pytest.fixture
def scripted() -> type[ScriptedEngine]:
    """Return the class of engines that follow a table."""
    return ScriptedEngine


@pytest.fixture
def find() -> Find:
    """Return a function that searches a table for the sentences that begin with these pieces."""

    def search_table(
        table: Table,
        sources: Sequence[int],
        options: SearchOptions,
        *,
        limits: Sequence[int] | int = 9,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        each = [limits] * len(sources) if isinstance(limits, int) else limits
        requests = [
            Request([source, 3], limit, prefix)
            for source, limit, prefix in zip(
                sources, each, prefixes or [()] * len(sources), strict=True
            )
        ]
        return search_all(ScriptedEngine(table), options, requests)

    return search_table
