"""The engine protocol: what a search needs from a model, one step at a time.

An engine never knows which search calls it, and a search never knows how an engine computes.
"""

from typing import Protocol, TypeVar

from jaxtyping import Float, Int
from torch import Tensor

State = TypeVar("State")


class Engine(Protocol[State]):
    """Compute the logits of the next piece for rows of hypotheses.

    A state belongs to one batch of sentences; row r of every call is the same hypothesis until
    `reorder` or `compact` says otherwise.
    """

    def encode(self, source_ids: Int[Tensor, "B S"], copies: int = 1) -> State:
        """Read the source sentences; start `copies` rows for each, next to each other."""
        ...

    def step(self, state: State, previous_ids: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        """Take each row's newest piece (at first the start symbol); return the next logits."""
        ...

    def reorder(self, state: State, rows: Int[Tensor, "R"]) -> None:
        """Let row r go on from row rows[r], which is a hypothesis of the same sentence."""
        ...

    def compact(self, state: State, rows: Int[Tensor, "R"]) -> None:
        """Keep only these rows, in this order; the sentences of the others are done."""
        ...
