"""Masks (section 3.2.3): the positions that a query may attend to. Boolean, True = may attend.

`keras.layers.MultiHeadAttention` has the same polarity; many published Keras implementations have
the opposite one, 1 = padding, and add it to the scores times -1e9.
"""

from typing import Any

from headway.errors import ConfigError
from headway.interop.keras.backend import keras


def padding_mask(ids: Any, pad_id: int = 0) -> Any:
    """Allow every real piece, forbid padding: ids (B, S) to a mask (B, 1, 1, S).

    Elsewhere: create_padding_mask, key_padding_mask, masking1.
    """
    return PaddingMask(pad_id)(ids)


def look_ahead_mask(ids: Any, pad_id: int = 0) -> Any:
    """Allow position t to see real pieces up to t and nothing later: (B, T) to (B, 1, T, T).

    Elsewhere: causal_mask, create_look_ahead_mask, get_causal_attention_mask, masing2, masking2,
    nopeak_mask, subsequent_mask, target_mask.
    """
    return LookAheadMask(pad_id)(ids)


@keras.saving.register_keras_serializable(package="headway")
class PaddingMask(keras.layers.Layer):
    """The layer behind `padding_mask`."""

    def __init__(self, pad_id: int = 0, **settings: Any) -> None:
        """Remember which piece is padding."""
        super().__init__(**settings)
        self.pad_id = pad_id

    def call(self, ids: Any) -> Any:
        """Compare with padding and add the axes of heads and queries."""
        _check_ids(ids)
        return keras.ops.not_equal(ids, self.pad_id)[:, None, None, :]

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        return super().get_config() | {"pad_id": self.pad_id}


@keras.saving.register_keras_serializable(package="headway")
class LookAheadMask(PaddingMask):
    """The layer behind `look_ahead_mask`: nothing later, and no padding."""

    def call(self, ids: Any) -> Any:
        """Join both conditions."""
        real = super().call(ids)
        # A cumulative sum of ones gives positions even if the length is not known yet.
        position = keras.ops.cumsum(keras.ops.ones_like(ids), axis=1)  # (B, T)
        earlier = position[:, None, :] <= position[:, :, None]  # (B, T, T): rows ask
        return keras.ops.logical_and(real, earlier[:, None])


def check_mask(mask: Any, queries: Any, keys: Any) -> None:
    """Refuse a mask that is not boolean or cannot broadcast to (…, queries, keys).

    queries, keys: the two lengths; while a model is built they may be unknown.
    """
    if not hasattr(mask, "dtype"):
        mask = keras.ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype != "bool":
        raise ConfigError(
            f"The mask has type {dtype}, but must be boolean with True = may attend.",
            "Convert it: `mask == 1` where 1 meant attend, `mask == 0` where it meant hide.",
        )
    for axis, wanted in ((-2, queries), (-1, keys)):
        size = mask.shape[axis] if len(mask.shape) >= -axis else 1
        known = isinstance(size, int) and isinstance(wanted, int)
        if known and size not in (1, wanted):
            raise ConfigError(
                f"The mask has shape {tuple(mask.shape)}, which does not broadcast to {queries} "
                f"queries and {keys} keys: rows are queries, columns are keys.",
                "Make it with padding_mask or look_ahead_mask.",
            )


def _check_ids(ids: Any) -> None:
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if len(ids.shape) != 2 or "int" not in dtype:
        raise ConfigError(
            f"The ids have shape {tuple(ids.shape)} and type {dtype}, but must be integers of "
            "shape (B, L).",
            "Give a batch of ids; it may have one sentence.",
        )
