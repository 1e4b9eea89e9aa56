"""The reference engine: the model itself with a cache; readable and traceable."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from headway.model.cache import DecoderCache
from headway.model.masks import padding_mask
from headway.model.transformer import Transformer


@dataclass(slots=True)
class ReferenceState:
    """Memory, mask and caches; one row for each hypothesis."""

    memory: Float[Tensor, "R S d_model"]
    source_mask: Bool[Tensor, "R 1 1 S"]
    cache: DecoderCache


class ReferenceEngine:
    """Run the decoder on one position at a time."""

    def __init__(self, model: Transformer) -> None:
        """Use this model, which must be in eval mode."""
        self.model = model

    def encode(self, source_ids: Int[Tensor, "B S"], copies: int = 1) -> ReferenceState:
        """Read the source sentences; start `copies` rows for each, next to each other."""
        mask = padding_mask(source_ids, self.model.pad_id)
        memory = self.model.encode(source_ids, mask)
        return ReferenceState(
            memory.repeat_interleave(copies, dim=0),
            mask.repeat_interleave(copies, dim=0),
            DecoderCache(len(self.model.decoder.layers)),
        )

    def step(self, state: ReferenceState, previous_ids: Int[Tensor, "R"]) -> Float[Tensor, "R V"]:
        """Take each row's newest piece; return the next logits."""
        hidden = self.model.decode(
            previous_ids[:, None], state.memory, state.source_mask, state.cache
        )
        return self.model.output_projection(hidden[:, 0])

    def reorder(self, state: ReferenceState, rows: Int[Tensor, "R"]) -> None:
        """Let row r go on from row rows[r] of the same sentence."""
        state.cache.reorder(rows, same_sentences=True)

    def compact(self, state: ReferenceState, rows: Int[Tensor, "R"]) -> None:
        """Keep only these rows, in this order."""
        state.cache.reorder(rows)
        state.memory = state.memory.index_select(0, rows)
        state.source_mask = state.source_mask.index_select(0, rows)
