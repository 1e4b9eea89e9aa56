"""Attention (section 3.2): each position gathers information from other positions."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.errors import ConfigError, hinted
from headway.errors.elsewhere import ARGUMENTS
from headway.model.cache import KeyValueCache
from headway.model.checks import (
    check_attention_inputs,
    check_attention_shapes,
    check_dropout,
    check_head_width,
    check_sizes,
)
from headway.model.dropout import dropout
from headway.model.probe import listening, probe


def scaled_dot_product_attention(
    q: Float[Tensor, "*B T d_k"],
    k: Float[Tensor, "*B S d_k"],
    v: Float[Tensor, "*B S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    drop: Callable[[Tensor], Tensor] | None = None,
    observe: Callable[[str, Tensor], Tensor] | None = None,
) -> tuple[Float[Tensor, "*B T d_v"], Float[Tensor, "*B T S"]]:
    """Compute softmax(Q K^T / sqrt(d_k)) V (equation 1); return the output and the weights.

    mask: broadcasts to the scores `(*B, T, S)`, True = may attend. A masked position has weight
    exactly 0. A query that may attend to no position has weights and output of zeros. drop: dropout
    of the weights. observe: receives `scores`, `masked_scores` and `weights` by name, and returns
    the tensor to use.

    Elsewhere: attention, attention_func, DotProductAttention, scaled_dot_product,
    ScaledDotProductAttention, ScaleDotProductAttention, SDPA, SPDA.
    """
    check_attention_shapes(q, k, v, mask)
    observe = observe or _unchanged
    scores = observe("scores", q @ k.mT / math.sqrt(q.size(-1)))  # (*B, T, S)
    masked_scores = observe("masked_scores", mask_scores(scores, mask))
    weights = observe("weights", masked_softmax(masked_scores, mask))
    return (drop(weights) if drop else weights) @ v, weights


def _unchanged(name: str, tensor: Tensor) -> Tensor:
    return tensor


def mask_scores(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*B T S"]:
    """Set masked scores to minus infinity: any finite value overflows fp16 or leaks weight."""
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def masked_softmax(
    masked_scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*B T S"]:
    """Normalize over the keys; a row without a permitted key has zeros, never NaN.

    Computes in float32 at least: half types lose digits in the sums, and PyTorch's kernels for
    them are many times slower on a CPU.
    """
    wide = torch.promote_types(masked_scores.dtype, torch.float32)
    if mask is None:
        return masked_scores.softmax(dim=-1, dtype=wide).to(masked_scores.dtype)
    # The softmax gets zeros for empty rows, so that their gradient is zero and not NaN.
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = masked_scores.masked_fill(empty, 0.0).softmax(dim=-1, dtype=wide)
    return weights.masked_fill(empty, 0.0).to(masked_scores.dtype)


def fused_attention(
    q: Float[Tensor, "*B T d_k"],
    k: Float[Tensor, "*B S d_k"],
    v: Float[Tensor, "*B S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*B T d_v"]:
    """Compute equation 1 with PyTorch's fused kernel, which does not store the weights."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    # For an empty row, kernels differ in output and gradient (zeros, NaN or an average). So here it
    # attends to all keys, and zeros then replace its output and gradient.
    empty = ~mask.any(dim=-1, keepdim=True)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | empty, dropout_p=dropout)
    return output.masked_fill(empty, 0.0)


class MultiHeadAttention(nn.Module):
    """Attend with several heads at once (section 3.2.2).

    Intermediates: `projected_q projected_k projected_v` (B, T or S, H * d).
    `q k v` (B, H, T or S, d). `scores masked_scores weights` (B, H, T, S).
    `heads` (B, H, T, d_v). `concat` (B, T, H * d_v). `output` (B, T, d_model).

    Elsewhere: BaseAttention, CausalSelfAttention, CrossAttention, GlobalSelfAttention,
    MultiheadAttention, MultiHeadAttentionBlock, MultiHeadAttentionLayer, MultiHeadedAttention,
    MultiHeadSelfAttention, SelfAttention, split_heads, transpose_output, transpose_qkv.
    """

    @hinted(**ARGUMENTS)
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        """Make the four projections; d_k and d_v are d_model / num_heads by default.

        dropout: on the weights, 0 in the paper.
        """
        super().__init__()
        check_sizes({"d_model": d_model, "num_heads": num_heads, "d_k": d_k, "d_v": d_v})
        check_dropout(dropout)
        self.d_model = d_model
        self.d_k = head_width(d_model, num_heads) if d_k is None else d_k
        self.d_v = head_width(d_model, num_heads) if d_v is None else d_v
        self.num_heads = num_heads
        # Deviation (projection biases): the paper has none; bias=False removes ours.
        self.w_q = nn.Linear(d_model, num_heads * self.d_k, bias=bias)
        self.w_k = nn.Linear(d_model, num_heads * self.d_k, bias=bias)
        self.w_v = nn.Linear(d_model, num_heads * self.d_v, bias=bias)
        self.w_o = nn.Linear(num_heads * self.d_v, d_model, bias=bias)
        self.dropout = dropout

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        """Let each query gather from the values; mask broadcasts to (B, H, T, S).

        mask: has two axes (T, S) or all four; with three it is unclear whether B or H is missing.
        cache: keys and values of earlier calls. In self-attention `key` and `value` then hold only
        the newest positions; in cross-attention they are the whole memory, projected once.
        """
        check_attention_inputs(self, query, key, value, mask, cached=cache is not None)
        q, k, v = self.project(query, key, value, cache)  # (B, H, T, d_k), 2 of (B, H, S, d)
        if listening() or not use_fused_kernel(q.device):
            observe = partial(probe, self)
            heads, _ = scaled_dot_product_attention(q, k, v, mask, self.drop, observe)
        else:
            heads = fused_attention(q, k, v, mask, self.dropout if self.training else 0.0)
        heads = probe(self, "heads", heads)  # (B, H, T, d_v)
        concat = probe(self, "concat", heads.transpose(1, 2).flatten(2))  # (B, T, H * d_v)
        return probe(self, "output", self.w_o(concat))

    def project(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        cache: KeyValueCache | None = None,
    ) -> tuple[Float[Tensor, "B H T d_k"], Float[Tensor, "B H M d_k"], Float[Tensor, "B H M d_v"]]:
        """Project all three and split them into heads; M is S, or the length of the cache."""
        q = self.split("q", self.w_q(query))
        if cache is None:
            return q, *self.keys_and_values(key, value)
        return q, *cache.update(lambda: self.keys_and_values(key, value))

    def keys_and_values(
        self, key: Float[Tensor, "B S d_model"], value: Float[Tensor, "B S d_model"]
    ) -> tuple[Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_v"]]:
        """Project the keys and the values and split them into heads."""
        return self.split("k", self.w_k(key)), self.split("v", self.w_v(value))

    def split(self, name: str, projected: Float[Tensor, "B L width"]) -> Float[Tensor, "B H L d"]:
        """Split a projection into heads; name: q, k or v."""
        check_head_width(self, name, projected.size(-1))
        projected = probe(self, f"projected_{name}", projected)
        split = projected.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, L, d)
        return probe(self, name, split)

    def drop(self, weights: Float[Tensor, "B H T S"]) -> Float[Tensor, "B H T S"]:
        """Apply dropout to the weights, while training."""
        return dropout(weights, self.dropout, self.training)


def use_fused_kernel(device: torch.device) -> bool:
    """Return True if the fused kernel is faster on this device (benchmarks/log/001)."""
    return device.type != "cpu"


def head_width(d_model: int, num_heads: int) -> int:
    """Return d_model / num_heads; ConfigError if that is not a whole number."""
    if d_model % num_heads:
        if d_model < num_heads:
            raise ConfigError(
                f"d_model {d_model} is less than num_heads {num_heads}.",
                f"The width comes first: MultiHeadAttention({num_heads}, {d_model}).",
            )
        above = d_model + num_heads - d_model % num_heads
        raise ConfigError(
            f"d_model {d_model} is not divisible by num_heads {num_heads} "
            f"(remainder {d_model % num_heads}).",
            f"Use d_model {above}, or another number of heads, or set d_k and d_v.",
        )
    return d_model // num_heads
