"""Read a Firefox student: a `.bin` file, one or two `.spm` files and perhaps a shortlist.

Mozilla trains students without dropout and without label smoothing (`student.train.yml` of
mozilla/translations). The file does not say so, but further training must do the same: with dropout
of 0.1 a student fell from 69.5 to 50.5 BLEU in 150 steps.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headway.bundle import Bundle, set_model_tensors
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.counted import listed
from headway.data.tokenizer import PAD_ID, START_ID
from headway.errors import BundleError
from headway.interop.files import read_bytes
from headway.interop.imported import ReadModel
from headway.interop.marian.binary import TABLES, BinaryFile
from headway.interop.marian.lexical_shortlist import read_shortlist
from headway.interop.marian.model_settings import (
    SETTINGS,
    ModelSettings,
    check_settings,
    parse_settings,
)
from headway.interop.marian.pieces import Renumbered, read_pieces
from headway.interop.marian.recognition import MarianFolder
from headway.interop.vocabulary import NEVER
from headway.model.uninitialized import empty_model

EPSILON = 1e-6
"""Of LayerNorm in Marian's Transformer (`layers/generic.h`); its operator alone has 1e-9."""
OUTPUT_BIAS = "decoder_ff_logit_out_b"
_LARGEST_TOKENIZER = 2**26  # bytes
QUANTIZATION = "_QuantMultA"  # factors of activations for products of bytes
_DIRECTION = re.compile(r"\.([a-z]{2})([a-z]{2})\.")


def read_student(folder: MarianFolder) -> ReadModel:
    """Return the bundle of a student, and notes on its files.

    Raises BundleError that names the file, the array or the setting which does not fit.
    """
    weights, source_file, target_file, shortlist_file = _files(folder.path)
    file = BinaryFile(weights)
    source = _tokenizer(source_file)
    target = source if source_file == target_file else _tokenizer(target_file)
    if source.tokenizer == target.tokenizer:
        target = source
    config, settings = _configuration(file, source, target)
    tensors = _tensors(file, config, source, target)
    model = empty_model(config, "cpu")
    set_model_tensors(model, tensors, copy=False)
    shortlist = shortlist_file and read_shortlist(shortlist_file, source, target)
    languages = _DIRECTION.search(weights.name) or _DIRECTION.search(source_file.name)
    bundle = Bundle(
        config,
        model.eval(),
        source.tokenizer,
        target.tokenizer,
        # As the students are meant to be used.
        decoding=DecodingConfig(
            beam_size=1,
            length_penalty=1.0,
            alignment_layer=settings.alignment_layer,
            alignment_head=None if settings.alignment_layer is None else 0,
        ),
        source_language=languages[1] if languages else "source",
        target_language=languages[2] if languages else "target",
        shortlist=shortlist or None,
        record={"imported": {"kind": "student", "label_smoothing": 0.0}},
        card=f"# {weights.name}\n\nImported from a Firefox student of Marian.\n",
    )
    return ReadModel(bundle, _notes(bundle))


def _notes(bundle: Bundle) -> list[str]:
    notes = ["The weights were rounded to 8 bits; they are in float32 now, with the same values."]
    if bundle.shortlist is not None:
        notes.append("It has a shortlist, which is used on request: --shortlist.")
    return notes


def _files(folder: Path) -> tuple[Path, Path, Path, Path | None]:
    """Return the weights, both tokenizers and the shortlist."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    shortlists = [file for file in files if file.name.startswith("lex") and file.suffix == ".bin"]
    weights = [file for file in files if file.suffix == ".bin" and file not in shortlists]
    tokenizers = [file for file in files if file.suffix == ".spm"]
    for kind, paths, allowed in (
        ("weights (.bin)", weights, (1,)),
        ("vocabularies (.spm)", tokenizers, (1, 2)),
        ("shortlists (lex….bin)", shortlists, (0, 1)),
    ):
        if len(paths) not in allowed:
            names = listed(file.name for file in paths) or "none"
            raise BundleError(
                f"{folder} has {len(paths)} {kind}: {names}.",
                f"A student has {' or '.join(map(str, allowed))} of them.",
            )
    if len(tokenizers) == 2:
        sides = [[f for f in tokenizers if f.name.startswith(side)] for side in ("src", "trg")]
        if [len(side) for side in sides] != [1, 1]:
            raise BundleError(
                f"It is not clear which of {tokenizers[0].name} and {tokenizers[1].name} is for "
                "the source.",
                "Let their names begin with src and trg.",
            )
        tokenizers = [sides[0][0], sides[1][0]]
    return weights[0], tokenizers[0], tokenizers[-1], shortlists[0] if shortlists else None


def _tokenizer(path: Path) -> Renumbered:
    return read_pieces(read_bytes(path, _LARGEST_TOKENIZER), str(path))


def _configuration(
    file: BinaryFile, source: Renumbered, target: Renumbered
) -> tuple[ModelConfig, ModelSettings]:
    """Return the configuration that the settings and the shapes of a file give."""
    if SETTINGS not in file.items:
        raise file.damaged(f"It has no '{SETTINGS}', which holds the model's settings.")
    table = file.items.get("Wemb") or file.items.get("decoder_Wemb")
    hidden = file.items.get("encoder_l1_ffn_W1")
    if table is None or hidden is None or len(table.shape) != 2 or len(hidden.shape) != 2:
        raise file.damaged("It has no table of embeddings, or no feed-forward network.")
    encoder, decoder = (_depth(file, side) for side in ("encoder", "decoder"))
    sizes = {
        "dim-emb": table.shape[1],
        "transformer-dim-ffn": hidden.shape[1],
        "enc-depth": encoder,
        "dec-depth": decoder,
    }
    settings = check_settings(parse_settings(file.text(SETTINGS)), sizes)
    config = ModelConfig(
        d_model=table.shape[1],
        d_ff=hidden.shape[1],
        num_heads=settings.num_heads,
        num_encoder_layers=encoder,
        num_decoder_layers=decoder,
        decoder_past="ssru",
        dropout=0.0,
        activation=settings.activation,
        output_bias=True,
        norm_epsilon=EPSILON,
        sinusoid_layout="halved",
        zero_id=START_ID,
        shared_embeddings="all" if source is target else "target",
        source_vocab_size=len(source.old_ids),
        target_vocab_size=len(target.old_ids),
    )
    return config, settings


def _depth(file: BinaryFile, side: str) -> int:
    """Return the number of layers of the encoder or the decoder."""
    layers = {name.split("_")[1] for name in file.items if name.startswith(f"{side}_l")}
    return len(layers)


def _tensors(
    file: BinaryFile, config: ModelConfig, source: Renumbered, target: Renumbered
) -> dict[str, Tensor]:
    """Return the weights by Headway's names.

    Raises BundleError for an array that is missing, has another shape or is not known.
    """
    places = dict(weight_names(config))
    places |= _tables(file, config)
    unknown = file.items.keys() - places.keys() - {SETTINGS}
    unknown = {name for name in unknown if not name.endswith(QUANTIZATION)}
    missing = places.keys() - file.items.keys()
    if unknown or missing:
        name = min(missing or unknown)
        raise BundleError(
            f"{file.path} {'lacks' if missing else 'has'} the array '{name}'"
            f"{'' if missing else ', which Headway does not know'}.",
            "Only a model of this kind, with an SSRU in the decoder, can be imported.",
        )
    _check_shapes(file, config, places)
    return {ours: _tensor(file, name, source, target) for name, ours in places.items()}


def _check_shapes(file: BinaryFile, config: ModelConfig, places: Mapping[str, str]) -> None:
    """Refuse arrays of other shapes, before any is read and before the model is made."""
    for name, ours in places.items():
        shape, expected = file.items[name].shape, _shape(ours, config)
        if name not in TABLES and name != OUTPUT_BIAS and shape != expected:
            raise file.damaged(f"'{name}' has the shape {shape}, but must have {expected}.")


def _shape(ours: str, config: ModelConfig) -> tuple[int, ...]:
    """Return the shape of a weight in Marian: (in, out), or one row."""
    d_model, d_ff = config.d_model, config.d_ff
    if ours.endswith((".bias", "norm.weight")):
        return 1, d_ff if ours.endswith("w_1.bias") else d_model
    if "feed_forward" in ours:
        return (d_model, d_ff) if "w_1" in ours else (d_ff, d_model)
    return d_model, d_model


def _tensor(file: BinaryFile, name: str, source: Renumbered, target: Renumbered) -> Tensor:
    """Return an array as Headway has it: matrices as (out, in), rows in the order of pieces."""
    values = file.numbers(name)
    if name in TABLES:
        side = source if name == "encoder_Wemb" else target
        values = with_rows(values, side, 0.0, file, name)
    elif name == OUTPUT_BIAS:
        values = with_rows(values.reshape(-1), target, NEVER, file, name)
    elif len(values) == 1:
        values = values.reshape(-1)
    else:
        values = values.T
    return torch.from_numpy(np.ascontiguousarray(values))


def with_rows(
    values: NDArray[np.float32], side: Renumbered, fill: float, file: BinaryFile, name: str
) -> NDArray[np.float32]:
    """Return rows in Headway's order of pieces; those of <pad> and <s> have the number `fill`.

    Marian begins a translation with a vector of zeros, which is the embedding of <s> here.
    """
    if len(values) != len(side.new_ids):
        raise BundleError(
            f"{file.path}: '{name}' has {len(values):,} tokens, but the .spm file has "
            f"{len(side.new_ids):,} tokens.",
            "Give the .spm files of this model.",
        )
    rows = values[side.old_ids]
    rows[[PAD_ID, START_ID]] = fill
    return rows


def _tables(file: BinaryFile, config: ModelConfig) -> dict[str, str]:
    """Return the names of the embeddings, and that of the bias of the output."""
    bias = {OUTPUT_BIAS: "output_projection.bias"}
    if config.shared_embeddings == "all":
        return bias | {"Wemb": "source_embedding.tokens.weight"}
    return bias | {
        "encoder_Wemb": "source_embedding.tokens.weight",
        "decoder_Wemb": "target_embedding.tokens.weight",
    }


def weight_names(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Yield Marian's name and Headway's of each weight in the layers."""
    for stack, layers in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        for layer in range(layers):
            theirs, ours = f"{stack}_l{layer + 1}_", f"{stack}.layers.{layer}."
            names = _ENCODER if stack == "encoder" else _DECODERS[config.decoder_past]
            yield from ((theirs + name, ours + place) for name, place in names.items())


def _attention(theirs: str, ours: str) -> dict[str, str]:
    names = {
        f"{theirs}_{kind}{x}": f"{ours}.w_{x}.{weight}"
        for x in "qkvo"
        for kind, weight in (("W", "weight"), ("b", "bias"))
    }
    return names | _norm(f"{theirs}_Wo", ours)


def _norm(theirs: str, ours: str) -> dict[str, str]:
    return {
        f"{theirs}_ln_scale": f"{ours}_residual.norm.weight",
        f"{theirs}_ln_bias": f"{ours}_residual.norm.bias",
    }


_FEED_FORWARD: Mapping[str, str] = {
    "ffn_W1": "feed_forward.w_1.weight",
    "ffn_b1": "feed_forward.w_1.bias",
    "ffn_W2": "feed_forward.w_2.weight",
    "ffn_b2": "feed_forward.w_2.bias",
    **_norm("ffn_ffn", "feed_forward"),
}
_ENCODER = {**_attention("self", "self_attention"), **_FEED_FORWARD}
_PASTS: dict[str, dict[str, str]] = {
    "self_attention": _attention("self", "self_attention"),
    "ssru": {
        "rnn_W": "ssru.w_x.weight",
        "rnn_Wf": "ssru.w_f.weight",
        "rnn_bf": "ssru.w_f.bias",
        **_norm("rnn_ffn", "ssru"),
    },
}
_DECODERS = {
    kind: {**past, **_attention("context", "cross_attention"), **_FEED_FORWARD}
    for kind, past in _PASTS.items()
}
