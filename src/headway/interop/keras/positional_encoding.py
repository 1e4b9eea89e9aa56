"""Positional encoding (section 3.5): the position of a piece in the sentence."""

from typing import Any

from headway.errors import ConfigError
from headway.interop.keras.backend import keras
from headway.model.positional_encoding import sinusoid_table


@keras.saving.register_keras_serializable(package="headway")
class PositionalEncoding(keras.layers.Layer):
    """Add sines and cosines of the position to embeddings (B, L, d_model).

    Elsewhere: get_angles, positional_encoding, PositionalEmbedding, SinusoidalPositionalEncoding.
    """

    def __init__(
        self,
        length: int,
        d_model: int,
        layout: str = "interleaved",
        first: int = 0,
        **settings: Any,
    ) -> None:
        """Make the table of `length` positions; no sentence may be longer.

        layout, first: see `headway.model.positional_encoding.sinusoid_table`.
        """
        super().__init__(**settings)
        self.length = length
        self.d_model = d_model
        self.layout = layout
        self.first = first
        # Not a weight, because the formula defines it. Computed in float64, rounded once.
        self.table = sinusoid_table(length, d_model, layout, first).numpy()  # (length, d_model)

    def build(self, input_shape: Any) -> None:
        """Refuse embeddings of another width."""
        if input_shape[-1] != self.d_model:
            raise ConfigError(
                f"The embeddings have width {input_shape[-1]}, but the positions {self.d_model}.",
                "Use one d_model for both.",
            )

    def call(self, x: Any) -> Any:
        """Return x plus the encoding of its first L positions."""
        length = keras.ops.shape(x)[1]
        if isinstance(length, int) and length > self.length:
            raise ConfigError(
                f"Position {length} is beyond the table of {self.length} positions.",
                "Split the sentence, or make the table longer.",
            )
        return x + keras.ops.convert_to_tensor(self.table, dtype=x.dtype)[:length]

    def compute_output_spec(self, x: Any) -> Any:
        """Return the shape and type of x, which JAX cannot find out for an unknown length."""
        return keras.KerasTensor(x.shape, dtype=x.dtype)

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        names = ("length", "d_model", "layout", "first")
        return super().get_config() | {name: getattr(self, name) for name in names}
