"""Check that a changed model decodes position by position as it was trained.

Training gives the decoder a whole target, translation one position at a time with a cache of those
before. Tests prove that Headway's own parts give equal results both ways; parts of a user may not.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.model.cache import DecoderCache
from headway.model.customized import changed_parts, changes_in_words
from headway.model.embedding import InputEmbedding
from headway.model.masks import padding_mask
from headway.model.modes import evaluating
from headway.model.transformer import Transformer

_SOURCE, _TARGET = 5, 6
_TOLERANCE = 1e-3  # of the largest number; rounding in float32 is a thousandth of that


def find_stepwise_mismatch(model: Transformer) -> str:
    """Describe where a changed model decodes differently step by step; empty if it does not.

    Decodes a few pieces both ways in eval mode. Random numbers and the model's mode stay as they
    were; what its parts raise when they are given a cache is passed on.
    """
    if not changed_parts(model):
        return ""
    device = model.output_projection.weight.device
    devices = [device] if device.type == "cuda" else []
    with evaluating(model), torch.no_grad(), torch.random.fork_rng(devices):
        whole, stepwise = _both_ways(model, device)
    far = (whole - stepwise).abs().amax(dim=-1) > _TOLERANCE * whole.abs().max()
    if not far.any():
        return ""
    return (
        f"At target position {int(far.nonzero()[0])} this model gives other results one position "
        "at a time, as translation does, than for all positions at once, as training does: "
        f"{changes_in_words(model)}. A part of the decoder that looks at other positions must keep "
        "those before in the cache, and see none after its own."
    )


def _both_ways(
    model: Transformer, device: torch.device
) -> tuple[Float[Tensor, "T d_model"], Float[Tensor, "T d_model"]]:
    """Decode some pieces at once and one by one."""
    source_ids = _some_pieces(model.source_embedding, model.pad_id, _SOURCE).to(device)
    target_ids = _some_pieces(model.target_embedding, model.pad_id, _TARGET).to(device)
    mask = padding_mask(source_ids, model.pad_id)
    memory = model.encode(source_ids, mask)
    whole = model.decode(target_ids, memory, mask)
    cache = DecoderCache(len(model.decoder.layers))
    steps = [model.decode(piece, memory, mask, cache) for piece in target_ids.split(1, dim=1)]
    return whole[0], torch.cat(steps, dim=1)[0]


def _some_pieces(embedding: InputEmbedding, pad_id: int, count: int) -> Int[Tensor, "1 L"]:
    """Return pieces that are not padding, no more than there are positions for."""
    learned = getattr(embedding.positions, "weight", None)
    count = count if learned is None else min(count, len(learned))
    size = len(embedding.tokens.weight)
    return (pad_id + 1 + torch.arange(count) % (size - 1))[None] % size
