"""The protocol of a search, which decides one step at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from headway.decoding.candidates import Floats
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.rules import Past, Rules


@dataclass(frozen=True, slots=True)
class Advance:
    """The decisions of a search after one step."""

    finished: list[tuple[int, list[Hypothesis]]]
    """Slots whose sentence is done, with its hypotheses, best first."""
    rows: Ints | None = None
    """Rows that continue other rows, their `parents`; None if every row continues itself."""
    parents: Ints | None = None


class Search(Protocol):
    """Choose pieces, independently for each slot: a sentence's result depends on no other."""

    copies: int
    """The number of rows of a slot."""

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        ...

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows to compute, ascending, and the newest piece of each."""
        ...

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Choose the next pieces of those rows."""
        ...

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the possible beginnings of the best hypothesis of a running sentence.

        The best hypothesis begins with the pieces of one of them.
        """
        ...


Extension = tuple[int, int]
"""The copy of a live hypothesis, and a piece, by its place in the list of allowed pieces."""


class SearchObserver(Protocol):
    """Follow the search for one sentence, whose result is the same without an observer.

    A step begins with `look`. A beam then calls `offer`, `rank`, `end` and `go_on`; a search with
    one hypothesis calls `decide`.
    """

    def begin(self) -> None:
        """Be told that the source is encoded and the steps begin."""
        ...

    def look(
        self,
        copies: Sequence[int],
        logits: Float[Tensor, "R V"],
        only: Sequence[int | None],
        rules: Rules,
        pasts: Sequence[Past],
    ) -> None:
        """Receive the logits of live hypotheses before the search changes them."""
        ...

    def offer(self, copy: int, pieces: Ints, log_probs: Floats) -> None:
        """Receive the possible pieces of a live hypothesis, with their log-probabilities."""
        ...

    def rank(self, ranks: Mapping[Extension, tuple[int, float]]) -> None:
        """Receive the best extensions, each with its rank, from 1, and its total."""
        ...

    def end(self, copy: int, *, complete: bool) -> None:
        """Receive a copy that took the end symbol, or (not complete) had no possible piece."""
        ...

    def go_on(self, living: Mapping[int, tuple[Extension, float]]) -> None:
        """Receive the extension and the total of each copy of the next step; ends the step."""
        ...

    def decide(self, advance: Advance, ids: Sequence[int], before: float, after: float) -> None:
        """Receive a step of the only hypothesis: its pieces, its total before and after."""
        ...

    def finish(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Receive all finished hypotheses, with scores, in order of completion."""
        ...
