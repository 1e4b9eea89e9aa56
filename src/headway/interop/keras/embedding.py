"""Embeddings (section 3.4): pieces become vectors, and vectors become scores of pieces."""

import math
from typing import Any

from headway.interop.keras.backend import keras


# Keras stores weights under the name of the class, so the name cannot change.
@keras.saving.register_keras_serializable(package="headway")
class TokenEmbedding(keras.layers.Layer):
    """Look up a vector for each piece, times sqrt(d_model); in reverse, score every piece."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        scale: bool = True,
        zero_id: int | None = None,
        **settings: Any,
    ) -> None:
        """Prepare a table of vocab_size vectors with standard deviation d_model^-0.5.

        zero_id: a piece whose vector is zeros, whatever the table has; as an output it is scored
        like any other piece.
        """
        super().__init__(**settings)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.scale = scale
        self.zero_id = zero_id

    def build(self, input_shape: Any) -> None:
        """Draw the table."""
        self.table = self.add_weight(
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            name="table",
        )

    def call(self, inputs: Any, reverse: bool = False) -> Any:
        """Return vectors (B, L, d_model) of ids (B, L); in reverse, logits of vectors."""
        if reverse:
            return keras.ops.matmul(inputs, keras.ops.transpose(self.table))
        vectors = keras.ops.take(self.table, inputs, axis=0)
        if self.zero_id is not None:
            is_zero = keras.ops.expand_dims(keras.ops.equal(inputs, self.zero_id), -1)
            vectors = keras.ops.where(is_zero, 0.0, vectors)
        return vectors * math.sqrt(self.d_model) if self.scale else vectors

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        settings = {
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
            "scale": self.scale,
            "zero_id": self.zero_id,
        }
        return super().get_config() | settings


@keras.saving.register_keras_serializable(package="headway")
class OutputBias(keras.layers.Layer):
    """Add a bias to the logits of a shared table; imported Marian models have one."""

    def build(self, input_shape: Any) -> None:
        """Start at zero."""
        self.bias = self.add_weight(shape=(input_shape[-1],), initializer="zeros", name="bias")

    def call(self, logits: Any) -> Any:
        """Return the logits plus the bias."""
        return logits + self.bias
