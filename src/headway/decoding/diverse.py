"""Diverse beam search (Vijayakumar et al. 2018): groups of hypotheses that keep away from others.

The beam is divided into groups, each a beam of its own. At every step the groups choose one after
the other, and to a group a piece is worth `diversity` less for each hypothesis of an earlier group
that takes it at this step. That changes only what is chosen: log-probabilities are the model's.
A sentence is done when all its groups are. Returned are the best of each group, then the second
of each, until there are enough.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headway.decoding.attention import Attend
from headway.decoding.beam import BeamSearch
from headway.decoding.candidates import Floats
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis, best_first
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Rules
from headway.decoding.run_search import Advance


class DiverseBeamSearch:
    """Several beams a sentence; row `slot * K + group * K / G + copy` is one's hypothesis."""

    def __init__(
        self, options: SearchOptions, rules: Rules = NO_RULES, attend: Attend | None = None
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty."""
        self.options = options
        self.copies = options.beam_size
        size = options.beam_size // options.groups
        own = replace(options, beam_size=size, n_best=min(size, options.n_best), groups=1)
        width = self.copies + size
        self.groups = [_Group(own, rules, attend, width) for _ in range(options.groups)]
        self.found: dict[int, list[list[Hypothesis]]] = {}

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        for group in self.groups:
            group.begin(slots, requests)
        self.found |= {slot: [] for slot in slots}

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows of all groups; before their first piece they all stand in one row."""
        rows, newest = zip(
            *(self._own_rows(index) for index in range(len(self.groups))), strict=True
        )
        every, first = np.unique(np.concatenate(rows), return_index=True)
        return every, np.concatenate(newest)[first]

    def _own_rows(self, index: int) -> tuple[Ints, Ints]:
        rows, newest = self.groups[index].rows()
        return self._in_all(index, rows, begun=self.groups[index].begun(rows)), newest

    def _in_all(self, index: int, rows: Ints, begun: np.ndarray) -> Ints:
        """Return which rows of all these rows of a group are."""
        size = self.groups[index].copies
        slots, copies = rows // size, rows % size
        return slots * self.copies + np.where(begun, index * size + copies, 0)

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Let the groups choose in turn."""
        every, _ = self.rows()
        taken: dict[int, Counter[int]] = defaultdict(Counter)
        rows, parents = [], []
        own = [self._own_rows(index)[0] for index in range(len(self.groups))]
        for index, group in enumerate(self.groups):
            if not len(own[index]):
                continue
            before, begun = group.rows()[0], group.begun(group.rows()[0])
            starts = dict(zip(before.tolist(), begun.tolist(), strict=True))
            group.avoid = taken
            place = torch.from_numpy(np.searchsorted(every, own[index])).to(logits.device)
            # A copy, for a search changes the logits that it is given.
            step = group.advance(logits.index_select(0, place))
            for slot, hypotheses in step.finished:
                self.found[slot].append(hypotheses)
            if step.rows is not None and step.parents is not None:
                rows.append(self._in_all(index, step.rows, np.ones(len(step.rows), dtype=bool)))
                from_begun = np.array([starts[p] for p in step.parents.tolist()], dtype=bool)
                parents.append(self._in_all(index, step.parents, from_begun))
            for row, piece in zip(*group.rows(), strict=True):
                taken[int(row) // group.copies][int(piece)] += 1
        order = np.argsort(np.concatenate(rows)) if rows else []
        finished = self._give_back()
        if not rows:
            return Advance(finished)
        return Advance(finished, np.concatenate(rows)[order], np.concatenate(parents)[order])

    def _give_back(self) -> list[tuple[int, list[Hypothesis]]]:
        """Return the sentences of which all groups are done: of each group its best, and so on."""
        done = [slot for slot, found in self.found.items() if len(found) == len(self.groups)]
        finished = []
        for slot in done:
            distinct: dict[tuple[int, ...], Hypothesis] = {}
            for turn in zip_longest(*self.found.pop(slot)):
                distinct |= {h.ids: h for h in best_first(h for h in turn if h is not None)}
            finished.append((slot, best_first(list(distinct.values())[: self.options.n_best])))
        return finished

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return what the best hypothesis may still begin with."""
        done = [found[0].ids for found in self.found[slot]]  # a group's best comes first
        return [*done, *(ids for group in self.groups for ids in group.possible(slot))]


class _Group(BeamSearch):
    """A beam that avoids what other groups took."""

    ranks_by_score = False

    def __init__(
        self, options: SearchOptions, rules: Rules, attend: Attend | None, width: int
    ) -> None:
        """Search with these options, among the best `width` pieces of each row.

        Twice the group's size are enough of what no other group took, which took K at most.
        """
        super().__init__(options, rules, attend)
        self.width = width
        # How often each piece was taken at this step, by slot.
        self.avoid: dict[int, Counter[int]] = {}

    def begun(self, rows: Ints) -> np.ndarray:
        """Tell of each row whether its sentence has a piece."""
        return self.steps[np.searchsorted(self.slots, rows // self.copies)] > 0

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Rank with the penalty, which is not in the totals themselves."""
        penalty = np.zeros_like(totals)
        for row, slot in enumerate(self.slots.tolist()):
            for piece, count in self.avoid[slot].items():
                penalty[row, ids[row] == piece] = self.options.diversity * count
        return super()._rank(totals - penalty, ids, width)
