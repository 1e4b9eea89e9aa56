"""The reference engine: the model itself with a cache, readable and traceable."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.options import SearchOptions
from headway.model.cache import DecoderCache
from headway.model.masks import padding_mask
from headway.model.probe import probe
from headway.model.transformer import Transformer


@dataclass(slots=True)
class _Cohort:
    """Sentences that were encoded together, so that all are at the same position."""

    rows: Ints
    """The row of the state for each row of the tensors."""
    memory: Float[Tensor, "R S d_model"]
    source_mask: Bool[Tensor, "R 1 1 S"]
    cache: DecoderCache

    def take(self, rows: Ints, parents: Ints, copies: int) -> None:
        """Replace the rows by these; each continues one of the present rows, its parent."""
        if np.array_equal(parents, self.rows) and np.array_equal(rows, parents):
            return
        place = {int(row): index for index, row in enumerate(self.rows)}
        index = torch.tensor([place[int(row)] for row in parents], device=self.memory.device)
        same = np.array_equal(rows // copies, self.rows // copies)
        self.cache.reorder(index, same_sentences=same)
        if not same:
            self.memory = self.memory.index_select(0, index)
            self.source_mask = self.source_mask.index_select(0, index)
        self.rows = rows


@dataclass(slots=True)
class ReferenceState:
    """The sentences that are being translated, by cohort."""

    copies: int
    allowed: AllowedPieces
    cohorts: list[_Cohort] = field(default_factory=list)


class ReferenceEngine:
    """Decode one position at a time; sentences that were encoded together share a pass."""

    copies_weights = False

    def __init__(self, model: Transformer) -> None:
        """Use this model, which must be in eval mode."""
        self.model = model

    def start(self, slots: int, copies: int) -> ReferenceState:
        """Return a state whose slots are all free."""
        return ReferenceState(copies, AllowedPieces(slots))

    def batch(self, options: SearchOptions, slots: int) -> None:
        """Return None: there is no compiled loop."""

    def max_useful_source_pieces(self, copies: int) -> None:
        """Return None: the number depends on the sentences that were encoded together."""

    def encode(
        self,
        state: ReferenceState,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        """Encode source sentences, END included, into these slots."""
        longest = max(map(len, sources))
        padding = self.model.pad_id
        source_ids = torch.tensor(
            [[*ids] + [padding] * (longest - len(ids)) for ids in sources],
            device=self.model.output_projection.weight.device,
        )
        mask = probe(self.model, "source_mask", padding_mask(source_ids, padding))
        rows = np.asarray(slots, dtype=np.int64) * state.copies
        _forget(state, slots)
        state.allowed.begin(slots, allowed)
        memory = self.model.encode(source_ids, mask)
        cache = DecoderCache(len(self.model.decoder.layers))
        state.cohorts.append(_Cohort(rows, memory, mask, cache))

    def step(self, state: ReferenceState, rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Append the newest piece to each of these rows; return the next logits."""
        hidden = None  # (R, d_model)
        device = self.model.output_projection.weight.device
        slots = rows // state.copies
        pieces = torch.from_numpy(state.allowed.pieces(slots, previous_ids)).to(device)
        for cohort in state.cohorts:
            in_cohort = np.isin(rows, cohort.rows)
            if not in_cohort.any():
                continue
            cohort.take(rows[in_cohort], rows[in_cohort], state.copies)
            index = torch.from_numpy(in_cohort.nonzero()[0]).to(device)
            new = self.model.decode(
                pieces[index, None], cohort.memory, cohort.source_mask, cohort.cache
            )[:, 0]
            if hidden is None:
                hidden = new.new_empty(len(rows), new.size(1))
            hidden[index] = new
        assert hidden is not None, "none of these rows was encoded"
        logits = self.model.output_projection(hidden)[:, None]  # (R, 1, V), the shape in a trace
        logits = probe(self.model, "logits", logits)[:, 0]
        return state.allowed.of_all(logits, slots) if state.allowed else logits

    def reorder(self, state: ReferenceState, rows: Ints, parents: Ints) -> None:
        """Let rows[i] continue parents[i]; other rows of these slots are forgotten."""
        slots = rows // state.copies
        for cohort in state.cohorts:
            in_cohort = np.isin(slots, cohort.rows // state.copies)
            if in_cohort.any():
                untouched = cohort.rows[~np.isin(cohort.rows // state.copies, slots)]
                cohort.take(
                    np.concatenate([rows[in_cohort], untouched]),
                    np.concatenate([parents[in_cohort], untouched]),
                    state.copies,
                )


def _forget(state: ReferenceState, slots: Sequence[int]) -> None:
    """Drop the rows of these slots, and cohorts without rows."""
    for cohort in state.cohorts:
        remaining = cohort.rows[~np.isin(cohort.rows // state.copies, slots)]
        if len(remaining):
            cohort.take(remaining, remaining, state.copies)
        else:
            cohort.rows = remaining
    state.cohorts = [cohort for cohort in state.cohorts if len(cohort.rows)]
