"""Masks (section 3.2.3): the positions that each position may attend to.

A mask is boolean, True = may attend, as in `torch.nn.functional.scaled_dot_product_attention`.
`torch.nn.MultiheadAttention` has the opposite meaning.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headway.errors import ConfigError


def padding_mask(ids: Int[Tensor, "B S"], pad_id: int = 0) -> Bool[Tensor, "B 1 1 S"]:
    """Allow every real piece, forbid padding; broadcasts over heads and queries.

    Elsewhere: attention_mask, create_padding_mask, get_attn_pad_mask, get_attn_padding_mask,
    get_pad_mask, key_padding_mask, make_pad_mask, make_src_mask, masked_softmax, masking1,
    memory_key_padding_mask, sequence_mask, src_key_padding_mask, src_mask, tgt_key_padding_mask,
    valid_lens.
    """
    if not isinstance(ids, Tensor) or ids.dim() != 2:
        shape = f"have shape {tuple(ids.shape)}" if isinstance(ids, Tensor) else "are no tensor"
        raise ConfigError(
            f"The ids {shape}; they must be a tensor of shape (B, L), one row a sentence.",
            "For one sentence give ids[None]; a mask is made of ids, not of their embeddings.",
        )
    return (ids != pad_id)[:, None, None, :]


def look_ahead_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 T T"]:
    """Allow position t to attend to positions up to t, and to none later.

    >>> look_ahead_mask(3)[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]

    Elsewhere: causal_mask, create_look_ahead_mask, generate_square_subsequent_mask,
    get_attn_subsequent_mask, get_causal_attention_mask, get_subsequent_mask, make_no_peak_mask,
    nopeak_mask, subsequent_mask.
    """
    if isinstance(length, Tensor) and length.dim() > 0:
        raise ConfigError(
            f"The length is a tensor of shape {tuple(length.shape)}, but must be a number.",
            "Give ids.size(1), or use target_mask(ids), which also hides padding.",
        )
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def target_mask(target_ids: Int[Tensor, "B T"], pad_id: int = 0) -> Bool[Tensor, "B 1 T T"]:
    """Combine both conditions for the decoder: no later position, and no padding.

    Elsewhere: attn_mask, create_mask, create_masks, make_std_mask, make_tgt_mask, make_trg_mask,
    masing2, masking2, tgt_mask, trg_mask.
    """
    real = padding_mask(target_ids, pad_id)
    return real & look_ahead_mask(target_ids.size(1), target_ids.device)
