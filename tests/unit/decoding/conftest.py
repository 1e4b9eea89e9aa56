"""An engine whose probabilities are written down, so that searches can be checked by hand."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor


@dataclass
class State:
    """What each row has seen; the first piece names the sentence."""

    pasts: list[tuple[int, ...]]


class ScriptedEngine:
    """Give the probabilities that a table has for what a row has chosen so far."""

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]], vocabulary: int) -> None:
        self.table = table
        self.vocabulary = vocabulary
        self.steps = 0

    def encode(self, source_ids: Tensor, copies: int = 1) -> State:
        return State([(int(row[0]),) for row in source_ids for _ in range(copies)])

    def step(self, state: State, previous_ids: Tensor) -> Tensor:
        self.steps += 1
        chosen = previous_ids.tolist()
        assert len(chosen) == len(state.pasts)
        if self.steps > 1:
            state.pasts = [(*p, piece) for p, piece in zip(state.pasts, chosen, strict=True)]
        logits = torch.full((len(chosen), self.vocabulary), -1e9)
        for row, past in enumerate(state.pasts):
            for piece, probability in self.table.get(past, {3: 1.0}).items():
                logits[row, piece] = math.log(probability)
        return logits

    def reorder(self, state: State, rows: Tensor) -> None:
        state.pasts = [state.pasts[row] for row in rows.tolist()]

    def compact(self, state: State, rows: Tensor) -> None:
        self.reorder(state, rows)


@pytest.fixture
def scripted() -> type[ScriptedEngine]:
    """Return the class of engines that follow a table."""
    return ScriptedEngine
