"""Read a model of JoeyNMT 2: `config.yaml`, a checkpoint, vocabularies and SentencePiece models.

JoeyNMT's Transformer has the paper's sinusoids, LayerNorm's epsilon 1e-6, and in the pre-norm form
a LayerNorm behind each stack. Its dropout is also on attention weights and in the feed-forward
network.
"""

from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from headway.bundle import Bundle
from headway.data.renumbered import renumbered
from headway.data.tokenizer import Tokenizer
from headway.data.word_merges import JOINED, WordMerges
from headway.errors import BundleError, TokenizerError
from headway.interop.checkpoints.files import checkpoint_in
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer
from headway.interop.checkpoints.values import Values, decoding_config
from headway.interop.checkpoints.weights import (
    SAME_MODEL,
    Sides,
    Weights,
    layer_norm,
    linear,
    model_of,
    tables,
)
from headway.interop.files import read_bytes, read_card, read_sentencepiece
from headway.interop.imported import ReadModel
from headway.interop.pickled import read_pickle
from headway.interop.vocabulary import Vocabulary

EPSILON = 1e-6
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu"}
_SPECIAL = ("unk", "pad", "bos", "eos")  # in JoeyNMT's usual order of ids
_TEXTS = ("<unk>", "<pad>", "<s>", "</s>")
_ATTENTION = {"q_layer": "w_q", "k_layer": "w_k", "v_layer": "w_v", "output_layer": "w_o"}
# By stack: the names of attention and of its LayerNorm, theirs and ours.
_SUBLAYERS = {
    "encoder": [("src_src_att", "layer_norm", "self_attention")],
    "decoder": [
        ("trg_trg_att", "x_layer_norm", "self_attention"),
        ("src_trg_att", "dec_layer_norm", "cross_attention"),
    ],
}
# Settings of the search that a bundle does not have, with the values that have no effect.
_SEARCH: dict[str, tuple[Any, ...]] = {
    "repetition_penalty": (-1, 1),
    "no_repeat_ngram_size": (-1, 0),
    "min_output_length": (1, 0),
}


def read_joeynmt(path: Path) -> ReadModel:
    """Return the bundle of a checkpoint or of its folder, and notes on its files.

    Raises BundleError that names the file, the tensor or the setting which does not fit.
    """
    checkpoint = checkpoint_in(path, ("best.ckpt", "latest.ckpt"), "JoeyNMT")
    folder = checkpoint.parent
    settings = _settings(folder / "config.yaml")
    values = _architecture(settings.below("model"))
    sides = _sides(settings.below("data"), folder)
    decoding, notes = _decoding(settings.below("testing"))
    content = read_pickle(checkpoint, "Give a checkpoint as JoeyNMT writes it.")
    if not isinstance(content, dict) or "model_state" not in content:
        raise BundleError(
            f"{checkpoint} is not a checkpoint of JoeyNMT.", "It has a 'model_state'."
        )
    weights = Weights(content["model_state"], checkpoint)
    ours, shared = _tensors(weights, values, sides)
    config, model = model_of(values | {"shared_embeddings": shared}, ours, sides, settings.path)
    languages = [settings.below("data").below(side).get("lang", str) for side in ("src", "trg")]
    bundle = Bundle(
        config,
        model,
        *sides.tokenizers,
        decoding=decoding_config(decoding, settings.path),
        source_language=languages[0],
        target_language=languages[1],
        record={"imported": {"kind": "joeynmt"}},
        card=read_card(folder, "a model of JoeyNMT"),
    )
    return ReadModel(bundle, notes + weights.notes)


def _settings(path: Path) -> Values:
    """Return the settings of a training; BundleError for those of an older version."""
    try:
        values = yaml.safe_load(read_bytes(path))
    except (yaml.YAMLError, ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise BundleError(f"{path} is not valid YAML, or has no settings.", SAME_MODEL)
    settings = Values(values, path)
    data = settings.below("data")
    if isinstance(data.values.get("src"), str):
        raise BundleError(
            f"{path} is of JoeyNMT 1, because 'data.src' is a text.",
            "Write the settings in the form of JoeyNMT 2, with 'layer_norm: pre'.",
        )
    return settings


def _architecture(model: Values) -> dict[str, Any]:
    """Return the values of our configuration, without vocabularies."""
    encoder, decoder = model.below("encoder"), model.below("decoder")
    values: list[dict[str, Any]] = []
    for stack in (encoder, decoder):
        stack.demand({"type": "transformer", "alpha": 1.0})
        if stack.get("type", str) != "transformer":
            raise stack.refused("type", "'transformer'")
        activation = stack.get("activation", str, "relu")
        if activation not in _ACTIVATIONS:
            raise stack.refused("activation", f"one of {', '.join(_ACTIVATIONS)}")
        # Without this setting, JoeyNMT's encoder is pre-norm without a final LayerNorm.
        position = stack.get("layer_norm", str, "post" if stack is decoder else None)
        if position not in ("pre", "post"):
            raise stack.refused("layer_norm", "'pre' or 'post'")
        values.append(
            {
                "d_model": stack.get("hidden_size", int, 512),
                "d_ff": stack.get("ff_size", int, 2048),
                "num_heads": stack.get("num_heads", int, 4 if stack is encoder else 8),
                "activation": _ACTIVATIONS[activation],
                "norm_position": position,
            }
        )
    for name, theirs in zip(
        values[0], ("hidden_size", "ff_size", "num_heads", "activation", "layer_norm"), strict=True
    ):
        if values[0][name] != values[1][name]:
            raise decoder.refused(theirs, f"{values[0][name]!r}, as the encoder's is")
    dropout = float(encoder.get("dropout", float, 0.1))
    return values[0] | {
        "num_encoder_layers": encoder.get("num_layers", int, 8),
        "num_decoder_layers": decoder.get("num_layers", int, 4),
        "dropout": dropout,
        "attention_dropout": dropout,
        "activation_dropout": dropout,
        "norm_epsilon": EPSILON,
        "scale_embeddings": _scale(model, encoder, decoder),
    }


def _scale(model: Values, encoder: Values, decoder: Values) -> bool:
    """Return True if embeddings are multiplied by sqrt(d_model)."""
    sides = [stack.below("embeddings") for stack in (encoder, decoder)]
    scale = sides[0].get("scale", bool, False)
    # Tied embeddings are those of the encoder, with its settings.
    if not model.get("tied_embeddings", bool, False) and scale is not sides[1].get(
        "scale", bool, False
    ):
        raise sides[1].refused("scale", f"{scale}, as the encoder's is")
    return scale


def _sides(data: Values, folder: Path) -> Sides:
    """Return vocabularies and tokenizers of both languages."""
    special = data.below("special_symbols")
    special.demand({"lang_tags": []})
    if special.values.get("sep_token") is not None:
        raise special.refused("sep_token", "unset, because prompts cannot be imported")
    pairs = [
        _side(data.below(side), special, folder / f"{side}_vocab.txt", folder)
        for side in ("src", "trg")
    ]
    (first, cut), (second, written) = pairs
    return Sides((first, second), (cut, written))


def _side(side: Values, special: Values, path: Path, folder: Path) -> tuple[Vocabulary, Tokenizer]:
    """Return vocabulary and tokenizer of one language."""
    side.demand({"lowercase": False, "normalize": False})
    subwords = side.below("tokenizer_cfg")
    subwords.demand({"pretokenizer": "none"})
    texts = [special.get(f"{name}_token", str, t) for name, t in zip(_SPECIAL, _TEXTS, strict=True)]
    ids = [special.get(f"{name}_id", int, i) for i, name in enumerate(_SPECIAL)]
    try:
        lines = read_bytes(path).decode().splitlines()
    except UnicodeDecodeError:
        raise BundleError(f"{path} is not in UTF-8.", SAME_MODEL) from None
    listed = list(dict.fromkeys([*texts, *lines]))
    for name, text, i in zip(_SPECIAL, texts, ids, strict=True):
        if not 0 <= i < len(listed) or listed[i] != text:
            raise BundleError(
                f"'data.special_symbols.{name}_id' in {special.path} is {i}, but in {path} "
                f"{text} has the id {listed.index(text)}.",
                SAME_MODEL,
            )
    unk, pad, bos, eos = ids
    other_ids = [i for i in range(len(listed)) if i not in ids]
    vocabulary = Vocabulary.in_order([pad, unk, bos, eos], other_ids, listed)
    try:
        return vocabulary, _tokenizer(side, subwords, vocabulary.pieces, folder)
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None


def _tokenizer(side: Values, subwords: Values, pieces: list[str], folder: Path) -> Tokenizer:
    """Return the tokenizer of one language with the ids of its vocabulary."""
    level = side.get("level", str)
    if level == "word":
        return plain_tokenizer(pieces, "word")
    if level == "char":
        return plain_tokenizer(pieces, "char")
    if level != "bpe":
        raise side.refused("level", "'word', 'bpe' or 'char'")
    name = "tokenizer_type" if "tokenizer_type" in side.values else "bpe_type"
    program = side.get(name, str, "sentencepiece")
    if program == "subword-nmt":
        subwords.demand({"separator": JOINED})
        codes = folder / Path(subwords.get("codes", str)).name
        try:
            merges = WordMerges.read(read_bytes(codes))
        except TokenizerError as error:
            raise BundleError(f"{codes}: {error.message}", error.remedy) from None
        return plain_tokenizer(pieces, "word", trimmed=True, merges=merges, limited=True)
    if program != "sentencepiece":
        raise side.refused(name, "'sentencepiece' or 'subword-nmt'")
    # JoeyNMT copies the model into the folder; the setting has the path of the training.
    model = folder / Path(subwords.get("model_file", str)).name
    return renumbered(read_sentencepiece(model), pieces, limited=True)


def _decoding(testing: Values) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of the search, and notes on those that a bundle does not have."""
    name = "alpha" if "alpha" in testing.values else "beam_alpha"
    chosen = {
        "beam_size": testing.get("beam_size", int, 1),
        "length_penalty": max(float(testing.get(name, float, -1)), 0.0),
    }
    notes = [
        f"The setting {name} {value!r:.40} of the search is not taken over; see the options of "
        "`headway translate`."
        for name, nothing in _SEARCH.items()
        if (value := testing.values.get(name, nothing[0])) not in nothing
    ]
    return chosen, notes


def _tensors(
    weights: Weights, values: dict[str, Any], sides: Sides
) -> tuple[dict[str, Tensor], str]:
    """Return all tensors under our names, and which tables are one."""
    width, inner = values["d_model"], values["d_ff"]
    sizes = [len(vocabulary) for vocabulary in sides.vocabularies]
    ours, shared = tables(
        weights.take("src_embed.lut.weight", sizes[0], width),
        weights.take("trg_embed.lut.weight", sizes[1], width),
        weights.take("decoder.output_layer.weight", sizes[1], width),
        sides,
    )
    for stack, sublayers in _SUBLAYERS.items():
        weights.check_positions(f"{stack}.pe.pe", width, "interleaved")
        for layer in range(values[f"num_{stack}_layers"]):
            at = f"{stack}.layers.{layer}"
            for attention, norm, name in sublayers:
                for theirs, projection in _ATTENTION.items():
                    ours |= linear(
                        f"{at}.{name}.{projection}",
                        weights,
                        f"{at}.{attention}.{theirs}",
                        width,
                        width,
                    )
                ours |= layer_norm(f"{at}.{name}_residual.norm", weights, f"{at}.{norm}", width)
            inside, outside = f"{at}.feed_forward", f"{at}.feed_forward.pwff_layer"
            ours |= linear(f"{inside}.w_1", weights, f"{outside}.0", inner, width)
            ours |= linear(f"{inside}.w_2", weights, f"{outside}.3", width, inner)
            ours |= layer_norm(f"{inside}_residual.norm", weights, f"{inside}.layer_norm", width)
        if values["norm_position"] == "pre":
            ours |= layer_norm(f"{stack}.norm", weights, f"{stack}.layer_norm", width)
    weights.check_nothing_left()
    return ours, shared
