"""The engine protocol: what a search needs from a model, one step at a time.

An engine never knows which search calls it, and a search never knows how an engine computes. A
state has slots; each holds one sentence and `copies` rows, which are hypotheses of it: row
`slot * copies + copy`. Slots are filled and given away one by one, so that a batch stays full.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

State = TypeVar("State")
Ints = NDArray[np.int64]


class Engine(Protocol[State]):
    """Compute the logits of the next piece for rows of hypotheses."""

    @property
    def copies_weights(self) -> bool:
        """Tell whether it computes with copies, which do not follow a change of the model."""
        ...

    def start(self, slots: int, copies: int) -> State:
        """Return a state whose slots are all free."""
        ...

    def max_useful_source_pieces(self, copies: int) -> int | None:
        """Return how many source pieces are worth having at work; more of them gain little.

        A piece counts once, whatever hypotheses its sentence has. None where it is not known.
        """
        ...

    def encode(
        self,
        state: State,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        """Read source sentences, END included, into these slots; what was there is forgotten.

        The first row of each slot stands before its first piece; the others come to be by
        `reorder`. allowed: for each sentence the pieces that its translation may be made of,
        ascending, the special ones among them; all sentences of a state have such a list, or none
        has. A piece then goes by its place in the list of its sentence, which is a vocabulary of
        its own.
        """
        ...

    def step(self, state: State, rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Take the newest piece of each of these rows (at first START); return the next logits.

        The rows ascend; a row that is left out is done with. With lists of allowed pieces,
        previous_ids and columns are places in them, and beyond the end of a list the logits are
        minus infinity: they are as many as the longest list has, or some more.
        """
        ...

    def reorder(self, state: State, rows: Ints, parents: Ints) -> None:
        """Let rows[i] go on from where parents[i], a row of the same slot, stands now.

        The other rows of these slots are forgotten.
        """
        ...
