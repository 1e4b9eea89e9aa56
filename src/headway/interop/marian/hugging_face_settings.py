"""The settings of a Marian model of Hugging Face, checked: `config.json` and its companions."""

from pathlib import Path
from typing import Any

from headway.config.decoding import DecodingConfig
from headway.config.model import Activation, Architecture
from headway.errors import BundleError, ConfigError, shown

EPSILON = 1e-5
"""Of LayerNorm in Hugging Face's code, which has no setting for it."""

ACTIVATIONS: dict[str, Activation] = {
    "swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu",
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
}  # fmt: skip
"""Headway's name of an activation by Hugging Face's; the first of several is written."""

# Older files have settings of other models. Each must have this value, or be missing.
_REQUIRED: dict[str, Any] = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "add_bias_logits": False,
    "static_position_embeddings": True,
    "do_blenderbot_90_layernorm": False,
    "is_encoder_decoder": True,
    "tie_word_embeddings": True,
}
# Settings of the search that a bundle does not have, with the value that has no effect.
_SEARCH: dict[str, Any] = {
    "do_sample": False,
    "min_length": 0,
    "no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "forced_bos_token_id": None,
    "suppress_tokens": None,
    "renormalize_logits": False,
}
_MOST_PIECES = 512  # of a source, if the file allows more


class Settings:
    """The values of a JSON file, looked up with a check of their type."""

    def __init__(self, values: dict[str, Any], path: Path) -> None:
        """Keep the values of this file."""
        self.values = values
        self.path = path

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """Return a value; BundleError if it has another type, or is missing without a default."""
        value = self.values.get(name, default)
        if value is None and default is None:
            raise BundleError(f"{self.path} lacks '{name}'.", "Copy the folder again.")
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise self.refused(name, f"a value of type {kind.__name__}")
        return value

    def refused(self, name: str, allowed: str) -> BundleError:
        """Return the error for a value that does not fit."""
        return BundleError(
            f"'{name}' in {self.path} is {self.values.get(name)!r:.60}, but must be {allowed}.",
            "Headway can import a model that Marian could have trained, as it was converted.",
        )


def architecture_of(config: Settings) -> Architecture:
    """Return the architecture; BundleError that names the setting which does not fit."""
    kind = config.values.get("model_type")
    if kind != "marian":
        raise BundleError(
            f"{config.path} is of a model of the type {kind!r:.40}, not 'marian'.",
            "`headway import marian` reads Marian models only.",
        )
    for name, required in _REQUIRED.items():
        if config.values.get(name, required) is not required:
            raise config.refused(name, repr(required))
    activation = config.get("activation_function", str)
    if activation not in ACTIVATIONS:
        raise config.refused("activation_function", f"one of {', '.join(ACTIVATIONS)}")
    for name in ("attention_heads", "ffn_dim"):
        sides = [config.get(f"{side}_{name}", int) for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            raise config.refused(f"decoder_{name}", f"{sides[0]}, as encoder_{name} is")
    values = {
        "d_model": config.get("d_model", int),
        "d_ff": config.get("encoder_ffn_dim", int),
        "num_heads": config.get("encoder_attention_heads", int),
        "num_encoder_layers": config.get("encoder_layers", int),
        "num_decoder_layers": config.get("decoder_layers", int),
        "dropout": float(config.get("dropout", float, 0.1)),
        "attention_dropout": float(config.get("attention_dropout", float, 0.0)),
        "activation_dropout": float(config.get("activation_dropout", float, 0.0)),
        "activation": ACTIVATIONS[activation],
        "scale_embeddings": config.get("scale_embedding", bool),
        "sinusoid_layout": "split",
        "norm_epsilon": EPSILON,
        "output_bias": True,
    }
    try:
        return Architecture.parse(values, "model")
    except ConfigError as error:
        raise BundleError(f"{config.path}: {error.message}", error.remedy) from None


def decoding_of(
    config: Settings, generation: Settings, of_tokenizer: Settings, unk: int
) -> tuple[DecodingConfig, list[str]]:
    """Return the settings of the search, and remarks on those that a bundle does not have.

    generation: `generation_config.json`, which precedes the older place, `config.json`. unk: the
    id of the unknown token, which Headway never puts out.
    """
    values = config.values | generation.values
    settings = Settings(values, generation.path if generation.values else config.path)
    longest = config.get("max_position_embeddings", int, 1024)
    if type(limit := of_tokenizer.values.get("model_max_length")) is int:
        longest = min(longest, limit)
    penalty = settings.get("length_penalty", float, 1.0)
    chosen = {
        "beam_size": settings.get("num_beams", int, 1),
        "length_penalty": float(penalty),
        # The end symbol has a position too.
        "max_source_pieces": max(1, min(longest, _MOST_PIECES) - 1),
    }
    notes = [
        f"The setting {name} {shown(str(value))} of the search is not taken over; see the options "
        "of `headway translate`."
        for name, nothing in _SEARCH.items()
        if (value := values.get(name, nothing)) not in (nothing, None)
    ]
    pad = values.get("pad_token_id")
    if values.get("bad_words_ids") not in (None, [[pad]], [[pad], [unk]]):
        notes.append("Tokens other than <pad> and <unk> that bad_words_ids forbids are allowed.")
    try:
        return DecodingConfig.parse(chosen, "decoding"), notes
    except ConfigError as error:
        raise BundleError(f"{settings.path}: {error.message}", error.remedy) from None
