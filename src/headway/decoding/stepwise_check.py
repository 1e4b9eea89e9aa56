"""Check that a changed model computes the same step by step as for a whole target.

Training passes a whole target to the decoder; translation passes one position at a time, with a
cache of the earlier ones. Tests prove that Headway's own parts give equal results both ways. Parts
of the user's own may not.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.model.cache import DecoderCache
from headway.model.customized import changed_parts, describe_customizations
from headway.model.embedding import InputEmbedding
from headway.model.masks import padding_mask
from headway.model.modes import evaluating
from headway.model.transformer import Transformer

_SOURCE, _TARGET = 5, 6
_TOLERANCE = 1e-3  # of the largest number; float32 rounds to a thousandth of that


def find_stepwise_mismatch(model: Transformer) -> str:
    """Describe the first difference of a changed model that decodes step by step; empty if none.

    A few pieces are decoded both ways in eval mode. Random numbers and the model's mode do not
    change. Errors of its parts are not caught.
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
        "at a time, as in translation, than for all positions together, as in training: "
        f"{describe_customizations(model)}. A part of the decoder that attends to other positions "
        "must keep the earlier ones in the cache, and must not see later ones."
    )


def _both_ways(
    model: Transformer, device: torch.device
) -> tuple[Float[Tensor, "T d_model"], Float[Tensor, "T d_model"]]:
    """Decode some pieces together, and one by one."""
    source_ids = _some_pieces(model.source_embedding, model.pad_id, _SOURCE).to(device)
    target_ids = _some_pieces(model.target_embedding, model.pad_id, _TARGET).to(device)
    mask = padding_mask(source_ids, model.pad_id)
    memory = model.encode(source_ids, mask)
    whole = model.decode(target_ids, memory, mask)
    cache = DecoderCache(len(model.decoder.layers))
    steps = [model.decode(piece, memory, mask, cache) for piece in target_ids.split(1, dim=1)]
    return whole[0], torch.cat(steps, dim=1)[0]


def _some_pieces(embedding: InputEmbedding, pad_id: int, count: int) -> Int[Tensor, "1 L"]:
    """Return pieces without padding, at most as many as the model has positions."""
    learned = getattr(embedding.positions, "weight", None)
    count = count if learned is None else min(count, len(learned))
    size = len(embedding.tokens.weight)
    return (pad_id + 1 + torch.arange(count) % (size - 1))[None] % size
