"""The engine protocol: the logits of a model for a search, one step at a time.

An engine is independent of the search that calls it, and a search of the way an engine computes. A
state has slots. A slot holds one sentence and `copies` rows, its hypotheses: row
`slot * copies + copy`. Slots are filled and freed one by one, so that a batch stays full.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request

State = TypeVar("State")
Ints = NDArray[np.int64]


class Batch(Protocol):
    """Sentences that are translated together; the result of one does not depend on the others."""

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Encode these sentences into free slots, and begin their searches."""
        ...

    def advance(self, enough: int = 1) -> list[tuple[int, list[Hypothesis]]]:
        """Take one step or more; return the slots that ended, with their hypotheses, best first.

        enough: sentences after whose end no more steps are taken. Each return takes some time of
        Python, for which other threads wait. The ids of the hypotheses are places in the request's
        list of allowed pieces, if it has one.
        """
        ...

    def interrupt(self) -> None:
        """Let `advance` return after the step that it takes; another thread may call this.

        It holds until `resume`.
        """
        ...

    def resume(self) -> None:
        """Let `advance` go on until enough sentences end, as before."""
        ...

    def drop(self, slots: Sequence[int]) -> list[int]:
        """Give up these sentences; return the slots that are free now.

        The others become free when their sentence ends.
        """
        ...

    def end(self) -> None:
        """Take no more sentences; all have ended. Another search may get the memory."""
        ...


class Engine(Protocol[State]):
    """Compute the logits of the next piece for rows of hypotheses."""

    @property
    def copies_weights(self) -> bool:
        """True if the engine computes with copies, which do not follow changes of the model."""
        ...

    def start(self, slots: int, copies: int) -> State:
        """Return a state whose slots are all free."""
        ...

    def batch(self, options: SearchOptions, slots: int) -> Batch | None:
        """Return a batch with a compiled loop for greedy and beam search; None if there is none."""
        ...

    def max_useful_source_pieces(self, copies: int) -> int | None:
        """Return the source pieces at work beyond which more gain little; None if unknown.

        A piece counts once, however many hypotheses its sentence has.
        """
        ...

    def encode(
        self,
        state: State,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        """Encode source sentences, END included, into these slots, and forget their old contents.

        Each slot then has one row without pieces, the first; `reorder` makes the others. allowed:
        for each sentence the pieces that its translation may use, ascending, special pieces
        included. Either all sentences of a state have such a list or none has. With lists, the
        number of a piece is its place in its sentence's list.
        """
        ...

    def step(self, state: State, rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Append the newest piece to each of these rows (START at first); return the next logits.

        The rows ascend. A row that is left out is finished. With lists of allowed pieces,
        previous_ids and columns are places in the lists. There are at least as many columns as the
        longest list has pieces; beyond the end of a list the logits are minus infinity.
        """
        ...

    def reorder(self, state: State, rows: Ints, parents: Ints) -> None:
        """Let rows[i] continue the hypothesis of parents[i], a row of the same slot.

        The other rows of these slots are forgotten.
        """
        ...
