"""Attention (section 3.2): how one position gathers information from others."""

import functools
import math
from collections.abc import Callable
from typing import Any

from headway.errors import ConfigError
from headway.interop.keras.backend import keras
from headway.interop.keras.masks import check_mask
from headway.model.attention import head_width

ops = keras.ops


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, dropout: Callable[[Any], Any] | None = None
) -> tuple[Any, Any]:
    """Compute softmax(Q K^T / sqrt(d_k)) V (equation 1); return the output and the weights.

    q (…, T, d_k), k (…, S, d_k), v (…, S, d_v); mask: boolean, broadcasts to (…, T, S), True =
    may attend. A masked position gets weight exactly 0; a query that may attend to nothing gets
    weights and output of zeros. dropout: on the weights that multiply the values; the returned
    weights have none.

    Elsewhere: attention_func, scaled_dot_product_attention, ScaledDotProductAttention,
    ScaleDotProductAttention, SDPA, SPDA.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ConfigError(
            f"Queries have width {q.shape[-1]} and keys {k.shape[-1]}; both must be d_k.",
            "Project both to the same width.",
        )
    scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])  # (…, T, S)
    if mask is not None:
        check_mask(mask, q.shape[-2], k.shape[-2])
    weights = _softmax(scores) if mask is None else _masked_softmax(scores, mask)
    return ops.matmul(weights if dropout is None else dropout(weights), v), weights


def _masked_softmax(scores: Any, mask: Any) -> Any:
    # Empty rows go through the softmax unmasked, so that their gradient is zero and not NaN.
    some = ops.any(mask, axis=-1, keepdims=True)
    hidden = ops.logical_and(ops.logical_not(mask), some)
    weights = _softmax(ops.where(hidden, -math.inf, scores))
    return ops.where(some, weights, 0.0)


# Keras stores weights under the name of the class, so the name cannot change.
@keras.saving.register_keras_serializable(package="headway")
class MultiHeadAttention(keras.layers.Layer):
    """Attend with several heads at once (section 3.2.2).

    Called with a dictionary: `query` (B, T, d_model), `key` and `value` (B, S, d_model), and, if
    some are to be hidden, `mask`, which broadcasts to (B, H, T, S).

    Elsewhere: MultiheadAttention, MultiHeadAttentionLayer, MultiHeadedAttention, split_heads.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        **settings: Any,
    ) -> None:
        """Make the four projections; d_k and d_v are d_model / num_heads unless given.

        dropout: on the weights, 0 in the paper.
        """
        super().__init__(**settings)
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = head_width(d_model, num_heads) if d_k is None else d_k
        self.d_v = head_width(d_model, num_heads) if d_v is None else d_v
        self.bias = bias
        self.w_q = _projection(num_heads * self.d_k, bias, "w_q")
        self.w_k = _projection(num_heads * self.d_k, bias, "w_k")
        self.w_v = _projection(num_heads * self.d_v, bias, "w_v")
        self.w_o = keras.layers.Dense(d_model, use_bias=bias, name="w_o")
        self.dropout = keras.layers.Dropout(dropout)

    def build(self, input_shape: dict[str, Any]) -> None:
        """Make the weights; all inputs have width d_model."""
        for projection in (self.w_q, self.w_k, self.w_v):
            projection.build((None, None, self.d_model))
        self.w_o.build((None, None, self.num_heads * self.d_v))

    def call(self, inputs: dict[str, Any], training: bool = False) -> Any:
        """Return the mixture of values for each query, (B, T, d_model)."""
        self._check_names(inputs)
        q = self._split(self.w_q(inputs["query"]), self.d_k)  # (B, H, T, d_k)
        k = self._split(self.w_k(inputs["key"]), self.d_k)  # (B, H, S, d_k)
        v = self._split(self.w_v(inputs["value"]), self.d_v)  # (B, H, S, d_v)
        drop = functools.partial(self.dropout, training=training) if self.dropout.rate else None
        heads, _ = attention(q, k, v, inputs.get("mask"), drop)
        together = ops.transpose(heads, (0, 2, 1, 3))  # (B, T, H, d_v)
        length = ops.shape(together)[1]
        return self.w_o(ops.reshape(together, (-1, length, self.num_heads * self.d_v)))

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        return super().get_config() | {
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "bias": self.bias,
            "dropout": self.dropout.rate,
        }

    def _check_names(self, inputs: Any) -> None:
        wanted = {"query", "key", "value"}
        names = set(inputs) if isinstance(inputs, dict) else set()
        if not wanted <= names <= wanted | {"mask"}:
            what = f"the names {', '.join(sorted(names))}" if names else type(inputs).__name__
            raise ConfigError(
                f"MultiHeadAttention was called with {what}.",
                'Call it with {"query": …, "key": …, "value": …}, and "mask" if something is '
                "hidden.",
            )

    def _split(self, projected: Any, width: int) -> Any:
        """Cut (B, L, H * width) into heads (B, H, L, width)."""
        length = ops.shape(projected)[1]
        heads = ops.reshape(projected, (-1, length, self.num_heads, width))
        return ops.transpose(heads, (0, 2, 1, 3))


def _softmax(scores: Any) -> Any:
    # keras.ops.softmax warns of a single key, whose weight is rightly 1.
    return ops.exp(ops.log_softmax(scores, axis=-1))


def _projection(units: int, bias: bool, name: str) -> Any:
    # As one matrix of three times the width would start; see model/initialization.py.
    start = keras.initializers.VarianceScaling(0.5, mode="fan_avg", distribution="uniform")
    return keras.layers.Dense(units, use_bias=bias, kernel_initializer=start, name=name)
