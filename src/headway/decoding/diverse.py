"""Diverse beam search (Vijayakumar et al. 2018): groups of hypotheses that avoid each other.

The beam is divided into groups, each a beam of its own. At every step the groups choose one after
the other. A piece loses `diversity` for each hypothesis of an earlier group that took it at this
step. The loss affects only the choice: log-probabilities are the model's. A sentence is done when
all its groups are. The result has the best hypothesis of each group, then the second of each, until
there are enough.
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
from headway.decoding.search import Advance


class DiverseBeamSearch:
    """G beams a sentence, K rows together; copy c of group g has row `slot * K + g * K / G + c`."""

    def __init__(
        self, options: SearchOptions, rules: Rules = NO_RULES, attend: Attend | None = None
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty."""
        self.options = options
        self.copies = options.beam_size
        size = options.beam_size // options.groups
        group_options = replace(options, beam_size=size, n_best=min(size, options.n_best), groups=1)
        width = self.copies + size
        self.groups = [_Group(group_options, rules, attend, width) for _ in range(options.groups)]
        self.results: dict[int, list[list[Hypothesis]]] = {}  # of the groups that are done, by slot

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        for group in self.groups:
            group.begin(slots, requests)
        self.results |= {slot: [] for slot in slots}

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows of all groups; before its first piece a sentence has one row for all."""
        rows, newest = zip(
            *(self._rows_of_group(index) for index in range(len(self.groups))), strict=True
        )
        distinct, first = np.unique(np.concatenate(rows), return_index=True)
        return distinct, np.concatenate(newest)[first]

    def _rows_of_group(self, index: int) -> tuple[Ints, Ints]:
        """Return the rows of a group, in the numbers of the whole search, and their new pieces."""
        rows, newest = self.groups[index].rows()
        return self._in_all(index, rows, begun=self.groups[index].begun(rows)), newest

    def _in_all(self, index: int, rows: Ints, begun: np.ndarray) -> Ints:
        """Convert row numbers of a group to those of the whole search."""
        size = self.groups[index].copies
        slots, copies = rows // size, rows % size
        return slots * self.copies + np.where(begun, index * size + copies, 0)

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Let the groups choose in turn."""
        all_rows, _ = self.rows()
        chosen_counts: dict[int, Counter[int]] = defaultdict(Counter)
        rows, parents = [], []
        group_rows = [self._rows_of_group(index)[0] for index in range(len(self.groups))]
        for index, group in enumerate(self.groups):
            if not len(group_rows[index]):
                continue
            before, begun = group.rows()[0], group.begun(group.rows()[0])
            starts = dict(zip(before.tolist(), begun.tolist(), strict=True))
            group.avoid = chosen_counts
            places = np.searchsorted(all_rows, group_rows[index])
            # Each group gets a copy because a search changes its logits.
            step = group.advance(logits.index_select(0, torch.from_numpy(places).to(logits.device)))
            for slot, hypotheses in step.finished:
                self.results[slot].append(hypotheses)
            if step.rows is not None and step.parents is not None:
                rows.append(self._in_all(index, step.rows, np.ones(len(step.rows), dtype=bool)))
                from_begun = np.array([starts[p] for p in step.parents.tolist()], dtype=bool)
                parents.append(self._in_all(index, step.parents, from_begun))
            for row, piece in zip(*group.rows(), strict=True):
                chosen_counts[int(row) // group.copies][int(piece)] += 1
        order = np.argsort(np.concatenate(rows)) if rows else []
        finished = self._return_finished()
        if not rows:
            return Advance(finished)
        return Advance(finished, np.concatenate(rows)[order], np.concatenate(parents)[order])

    def _return_finished(self) -> list[tuple[int, list[Hypothesis]]]:
        """Return the sentences whose groups are all done: the best of each group, then the second.

        Hypotheses with equal pieces count once.
        """
        count = len(self.groups)
        done_slots = [slot for slot, results in self.results.items() if len(results) == count]
        finished = []
        for slot in done_slots:
            distinct: dict[tuple[int, ...], Hypothesis] = {}
            for turn in zip_longest(*self.results.pop(slot)):
                distinct |= {h.ids: h for h in best_first(h for h in turn if h is not None)}
            finished.append((slot, best_first(list(distinct.values())[: self.options.n_best])))
        return finished

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the pieces of the hypotheses that can still become the best."""
        # The best hypothesis of a group is its first.
        finished_ids = [results[0].ids for results in self.results[slot]]
        return [*finished_ids, *(ids for group in self.groups for ids in group.possible(slot))]


class _Group(BeamSearch):
    """A beam that avoids the pieces of earlier groups."""

    ranks_by_score = False

    def __init__(
        self, options: SearchOptions, rules: Rules, attend: Attend | None, width: int
    ) -> None:
        """Search with these options, among the best `width` pieces of each row.

        That is the group's size and K: earlier groups take K less the group's size at most, and
        twice the group's size must remain.
        """
        super().__init__(options, rules, attend)
        self.width = width
        # How often each piece was taken at this step, by slot.
        self.avoid: dict[int, Counter[int]] = {}

    def begun(self, rows: Ints) -> np.ndarray:
        """Return True for each row whose sentence has a piece."""
        return self.steps[np.searchsorted(self.slots, rows // self.copies)] > 0

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Rank with the loss for pieces of earlier groups; the totals stay without it."""
        loss = np.zeros_like(totals)
        for row, slot in enumerate(self.slots.tolist()):
            for piece, count in self.avoid[slot].items():
                loss[row, ids[row] == piece] = self.options.diversity * count
        return super()._rank(totals - loss, ids, width)
