"""Attention (section 3.2): how one position gathers information from others."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.errors import ConfigError
from headway.kernels.arrays import is_traced
from headway.model.cache import KeyValueCache
from headway.model.checks import check_dropout, check_sizes, check_tensor
from headway.model.dropout import dropout
from headway.model.fast.attention_in_loops import concat_in_loops, learns_in_loops
from headway.model.fast.projection import project, project_apart
from headway.model.probe import listening, probe


def scaled_dot_product_attention(
    q: Float[Tensor, "*B T d_k"],
    k: Float[Tensor, "*B S d_k"],
    v: Float[Tensor, "*B S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*B T d_v"], Float[Tensor, "*B T S"]]:
    """Compute softmax(Q K^T / sqrt(d_k)) V (equation 1); return the output and the weights.

    mask: broadcasts to the scores `(*B, T, S)`, True = may attend. A masked position gets weight
    exactly 0; a query with nothing to attend to gets weights and output of zeros.
    """
    _check_attention_shapes(q, k, v)
    check_mask(mask, (*q.shape[:-1], k.size(-2)))
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (*B, T, S)
    weights = masked_softmax(mask_scores(scores, mask), mask)
    return weights @ v, weights


def mask_scores(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*B T S"]:
    """Set forbidden scores to minus infinity: any finite value overflows fp16 or leaks weight."""
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def masked_softmax(
    masked_scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*B T S"]:
    """Normalize over the keys; a row that may attend to nothing gets zeros, never NaN.

    Computed in float32 at least: half types lose digits in the sums, and PyTorch's kernels for
    them are many times slower on a CPU.
    """
    wide = torch.promote_types(masked_scores.dtype, torch.float32)
    empty = None if mask is None else ~mask.any(dim=-1, keepdim=True)
    # Compiled and transformed code does not depend on values.
    if empty is None or not (is_traced() or empty.any()):
        weights = masked_scores.softmax(dim=-1, dtype=wide)
    else:
        # Empty rows go through the softmax as zeros, so that their gradient is zero and not NaN.
        zeros = masked_scores.masked_fill(empty, 0.0)
        weights = zeros.softmax(dim=-1, dtype=wide).masked_fill(empty, 0.0)
    return weights.to(masked_scores.dtype)


def fused_attention(
    q: Float[Tensor, "*B T d_k"],
    k: Float[Tensor, "*B S d_k"],
    v: Float[Tensor, "*B S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*B T d_v"]:
    """Compute equation 1 with PyTorch's fused kernel, which never holds the weights."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    # Kernels differ in what an empty row and its gradient are (zeros, NaN or an average). So here
    # it attends to everything, and the result, with its gradient, is replaced by zeros.
    empty = ~mask.any(dim=-1, keepdim=True)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | empty, dropout_p=dropout)
    return output.masked_fill(empty, 0.0)


class MultiHeadAttention(nn.Module):
    """Attend with several heads at once (section 3.2.2).

    Intermediates: `projected_q projected_k projected_v` (B, T or S, H * d), `q k v` (B, H, T or S,
    d), `scores masked_scores weights` (B, H, T, S), `heads` (B, H, T, d_v), `concat`
    (B, T, H * d_v), `output` (B, T, d_model).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        """Make the four projections; d_k and d_v are d_model / num_heads unless given.

        dropout: on the weights, 0 in the paper.
        """
        super().__init__()
        check_sizes({"d_model": d_model, "num_heads": num_heads, "d_k": d_k, "d_v": d_v})
        check_dropout(dropout)
        self.d_model = d_model
        self.d_k = head_width(d_model, num_heads) if d_k is None else d_k
        self.d_v = head_width(d_model, num_heads) if d_v is None else d_v
        self.num_heads = num_heads
        # Deviation (projection biases): the paper has none; bias=False leaves ours out.
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

        mask: has two axes (T, S) or all four; three would leave open which of B and H is missing.
        cache: keys and values of earlier steps; `key` and `value` then hold the newest only.

        While training on a CPU with Numba there are first derivatives only (`attention_in_loops`).
        """
        if type(self) is MultiHeadAttention:
            self.check_widths()
        if cache is None:
            self._check_inputs(query, key, value, mask)
            # Equation 1 and its gradient in loops: the same to rounding, faster on a CPU. What
            # somebody has changed is computed as it is written here.
            if type(self) is MultiHeadAttention and learns_in_loops(self, query, key, value):
                return project(concat_in_loops(self, query, key, value, mask), self.w_o)
        if cache is None:
            q, k, v = self._project(query, key, value)  # (B, H, T, d_k), 2 of (B, H, S, d)
        else:
            q = self._split("q", self.w_q(query))
            k, v = cache.update(lambda: self.keys_and_values(key, value))
        if not listening() and use_fused_kernel(q.device):
            heads = fused_attention(q, k, v, mask, self.dropout if self.training else 0.0)
        else:
            heads = self._explicit(q, k, v, mask)  # (B, H, T, d_v)
        concat = probe(self, "concat", heads.transpose(1, 2).flatten(2))  # (B, T, H * d_v)
        return probe(self, "output", self.w_o(concat))

    def check_widths(self) -> None:
        """Raise ConfigError where the projections are not of num_heads times d_k and d_v.

        Some of what computes this attention splits by the number of heads, some by their widths.
        """
        for name, linear, width in (
            ("w_q", self.w_q, self.d_k),
            ("w_k", self.w_k, self.d_k),
            ("w_v", self.w_v, self.d_v),
        ):
            wanted = self.num_heads * width
            made = getattr(linear, "out_features", wanted)  # somebody's own part may not say
            if made != wanted:
                raise ConfigError(
                    f"{name} makes {made} numbers, but {self.num_heads} heads of {width} are "
                    f"{wanted}.",
                    "Set num_heads, d_k and d_v together, or make another MultiHeadAttention.",
                )

    def keys_and_values(
        self, key: Float[Tensor, "B S d_model"], value: Float[Tensor, "B S d_model"]
    ) -> tuple[Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_v"]]:
        """Project and split the keys and the values."""
        if key is value:
            projected_k, projected_v = project_apart(key, self.w_k, self.w_v)
        else:
            projected_k, projected_v = self.w_k(key), self.w_v(value)
        return self._split("k", projected_k), self._split("v", projected_v)

    def _project(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
    ) -> tuple[Float[Tensor, "B H T d_k"], Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_v"]]:
        """Project and split all three; what comes of the same input together."""
        if query is key is value:
            q, k, v = project_apart(query, self.w_q, self.w_k, self.w_v)
            return self._split("q", q), self._split("k", k), self._split("v", v)
        return self._split("q", self.w_q(query)), *self.keys_and_values(key, value)

    def _explicit(
        self,
        q: Float[Tensor, "B H T d_k"],
        k: Float[Tensor, "B H S d_k"],
        v: Float[Tensor, "B H S d_v"],
        mask: Bool[Tensor, "..."] | None,
    ) -> Float[Tensor, "B H T d_v"]:
        """Compute equation 1, one operation per line, each result with its name."""
        scores = probe(self, "scores", q @ k.mT / math.sqrt(self.d_k))  # (B, H, T, S)
        masked_scores = probe(self, "masked_scores", mask_scores(scores, mask))
        weights = probe(self, "weights", masked_softmax(masked_scores, mask))
        return probe(self, "heads", dropout(weights, self.dropout, self.training) @ v)

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
        for name, x in (("query", query), ("key", key), ("value", value)):
            check_tensor(name, x)
            if x.dim() != 3 or x.size(-1) != self.d_model:
                raise ConfigError(
                    f"{name} has shape {tuple(x.shape)}, but must be (B, L, {self.d_model}).",
                    "Give a batch, if only of one, of the width that the module was made for.",
                )
        if key.size(1) != value.size(1):
            raise ConfigError(
                f"There are {key.size(1)} keys and {value.size(1)} values; each key needs one.",
                "Give keys and values of the same length.",
            )
        if query.size(0) != key.size(0) and 1 not in (query.size(0), key.size(0)):
            raise ConfigError(
                f"There are {query.size(0)} sentences of queries and {key.size(0)} of keys.",
                "Give batches of one size.",
            )
        if mask is not None:
            check_tensor("mask", mask)
            _check_axes(mask)
            check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))

    def _split(self, name: str, projected: Float[Tensor, "B L width"]) -> Float[Tensor, "B H L d"]:
        projected = probe(self, f"projected_{name}", projected)
        split = projected.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, L, d)
        return probe(self, name, split)


def use_fused_kernel(device: torch.device) -> bool:
    """Tell whether it is the faster of two equal paths; measurements are in benchmarks/NOTES.md."""
    return device.type != "cpu"


def head_width(d_model: int, num_heads: int) -> int:
    """Return d_model / num_heads; ConfigError when that is no whole number."""
    if d_model % num_heads:
        above = d_model + num_heads - d_model % num_heads
        raise ConfigError(
            f"d_model {d_model} is not divisible by num_heads {num_heads} "
            f"(remainder {d_model % num_heads}).",
            f"Use d_model {above}, or another number of heads, or set d_k and d_v.",
        )
    return d_model // num_heads


def _check_attention_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    if q.size(-1) != k.size(-1):
        raise ConfigError(
            f"Queries have width {q.size(-1)} and keys {k.size(-1)}; both must be d_k.",
            "Project both to the same width.",
        )
    if k.size(-2) != v.size(-2):
        raise ConfigError(
            f"There are {k.size(-2)} keys and {v.size(-2)} values; each key needs one value.",
            "Give keys and values of the same length.",
        )


def check_mask(mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean or does not broadcast to the scores' shape."""
    if mask is None:
        return
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise ConfigError(
            f"The mask has type {mask.dtype}, but must be boolean with True = may attend.",
            "Convert it: `mask == 1` where 1 meant attend, `mask == 0` where it meant hide.",
        )
    # The axes that a mask lacks always broadcast.
    backwards = zip(mask.shape[::-1], shape[::-1], strict=False)
    fits = all(size in (1, wanted) for size, wanted in backwards)
    if mask.dim() > len(shape) or not fits:
        raise ConfigError(
            f"The mask has shape {tuple(mask.shape)}, which does not broadcast to the scores "
            f"{tuple(shape)}: rows are queries, columns are keys.",
            "Make it with padding_mask, look_ahead_mask or target_mask of headway.model.masks.",
        )


def _check_axes(mask: Tensor) -> None:
    if mask.dim() == 3:
        raise ConfigError(
            f"The mask has three axes, {tuple(mask.shape)}; the scores of several heads have four, "
            "(B, H, T, S).",
            "For one mask a sentence use mask[:, None], for one a head mask[None].",
        )
