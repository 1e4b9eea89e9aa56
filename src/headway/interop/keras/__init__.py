"""The paper's model in Keras 3, on TensorFlow, JAX or PyTorch; needs the extra `keras`.

The functional form that Keras courses teach, with the weights of a bundle:

    from headway.interop.keras import from_bundle, greedy_decode
    model = from_bundle("runs/demo")
    model.summary()
"""

import sys

from headway.errors.elsewhere import missing
from headway.interop.keras.attention import MultiHeadAttention, attention
from headway.interop.keras.generation import greedy_decode
from headway.interop.keras.masks import look_ahead_mask, padding_mask
from headway.interop.keras.positional_encoding import PositionalEncoding
from headway.interop.keras.training import (
    BatchDataset,
    LabelSmoothedCrossEntropy,
    PaperSchedule,
    RecipeSchedule,
    compile_model,
)
from headway.interop.keras.transformer import (
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    transformer,
    transformer_from_config,
)
from headway.interop.keras.weights import from_bundle, to_bundle

__all__ = [
    "BatchDataset",
    "LabelSmoothedCrossEntropy",
    "MultiHeadAttention",
    "PaperSchedule",
    "PositionalEncoding",
    "RecipeSchedule",
    "attention",
    "compile_model",
    "decoder",
    "decoder_layer",
    "encoder",
    "encoder_layer",
    "from_bundle",
    "greedy_decode",
    "look_ahead_mask",
    "padding_mask",
    "to_bundle",
    "transformer",
    "transformer_from_config",
]


def __getattr__(name: str) -> object:
    """Explain a name of other code."""
    raise missing(sys.modules[__name__], name)
