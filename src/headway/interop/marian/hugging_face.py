"""Read a folder of Hugging Face: OPUS-MT and other Marian models as transformers saves them.

Hugging Face's code and Marian's own differ in the angles of the positions and in the epsilon of
LayerNorm. The bundle computes what transformers computes from the folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.bundle import Bundle, set_model_tensors
from headway.config.model import ModelConfig
from headway.data.tokenizer import LEADING_TAG, START_ID, UNK_ID, Tokenizer
from headway.errors import BundleError, ConfigError
from headway.interop.files import read_bytes, read_card, read_json, read_json_if_there
from headway.interop.imported import ReadModel
from headway.interop.marian.hugging_face_settings import Settings, architecture_of, decoding_of
from headway.interop.marian.hugging_face_weights import (
    OUTPUT,
    OUTPUT_BIAS,
    POSITIONS,
    SHARED,
    SOURCE,
    TARGET,
    check_positions,
    layer_names,
    read_weights,
)
from headway.interop.marian.recognition import MarianFolder
from headway.interop.vocabulary import Vocabulary, ids_of
from headway.model.uninitialized import empty_model

_SAME_MODEL = "Give files that belong to one model."


@dataclass(frozen=True, slots=True)
class _Sides:
    """Vocabularies and tokenizers, source and target."""

    vocabularies: tuple[Vocabulary, Vocabulary]
    tokenizers: tuple[Tokenizer, Tokenizer]

    @property
    def separate(self) -> bool:
        return self.vocabularies[0] is not self.vocabularies[1]


def read_hugging_face(marian: MarianFolder) -> ReadModel:
    """Return the bundle of a folder, and notes on its files.

    Raises BundleError that names the file, the tensor or the setting which does not fit.
    """
    folder = marian.path
    config = Settings(read_json(folder / "config.json"), folder / "config.json")
    path = folder / "generation_config.json"
    generation = Settings(read_json_if_there(path), path)
    path = folder / "tokenizer_config.json"
    of_tokenizer = Settings(read_json_if_there(path), path)
    architecture = architecture_of(config)
    sides = _read_sides(folder, config, of_tokenizer)
    unk = int(sides.vocabularies[1].rows[UNK_ID])
    decoding, notes = decoding_of(config, generation, of_tokenizer, unk)
    tensors, more_notes = read_weights(folder)
    ours, shared = _tensors(tensors, architecture.d_model, config, sides)
    values = architecture.model_dump() | {"shared_embeddings": shared}
    written = ours.get("target_embedding.tokens.weight", ours["source_embedding.tokens.weight"])
    if not written[START_ID].any():  # as Marian begins; a fine-tune keeps it so
        values["zero_id"] = START_ID
    model_config = _model_config(config, values, sides)
    names = dict(layer_names(architecture.num_encoder_layers, architecture.num_decoder_layers))
    _check_names(tensors, names)
    ours |= {name: tensors[old] for old, name in names.items()}
    model = empty_model(model_config, "cpu")
    set_model_tensors(model, ours)
    tags = [piece for piece in sides.vocabularies[0].pieces if LEADING_TAG.fullmatch(piece)]
    bundle = Bundle(
        model_config,
        model.eval(),
        *sides.tokenizers,
        decoding=decoding,
        source_language=_language(of_tokenizer, "source_lang", "source"),
        target_language=_language(of_tokenizer, "target_lang", "target"),
        record={"imported": {"kind": "hugging-face", "tags": tags}},
        card=read_card(folder, "a folder of Hugging Face"),
    )
    return ReadModel(bundle, notes + more_notes)


def _language(settings: Settings, name: str, default: str) -> str:
    value = settings.values.get(name)
    return value if isinstance(value, str) and value else default


def _read_sides(folder: Path, config: Settings, of_tokenizer: Settings) -> _Sides:
    """Return vocabularies and tokenizers, after a check that they belong to the model."""
    if of_tokenizer.values.get("sp_model_kwargs"):
        raise of_tokenizer.refused("sp_model_kwargs", "empty")
    if not (folder / "source.spm").exists() and any(folder.glob("*.bpe")):
        raise BundleError(
            f"{folder} has a model of byte pairs for text that Moses has cut into words.",
            "Only models with SentencePiece (source.spm and target.spm) can be imported.",
        )
    _check_added_tokens(folder, of_tokenizer)
    source = _vocabulary(folder / "vocab.json", config)
    target = source
    if of_tokenizer.values.get("separate_vocabs"):
        target = _vocabulary(folder / "target_vocab.json", config)
    vocabularies = (source, target)
    tokenizers = [
        vocabulary.tokenizer(read_bytes(path), path, leading_tags=True)
        for vocabulary, path in zip(
            vocabularies, (folder / "source.spm", folder / "target.spm"), strict=True
        )
    ]
    return _Sides(vocabularies, (tokenizers[0], tokenizers[1]))


def _vocabulary(path: Path, config: Settings) -> Vocabulary:
    ids = ids_of(read_json(path), path)
    pad, end = config.get("pad_token_id", int), config.get("eos_token_id", int)
    if config.get("decoder_start_token_id", int) != pad:
        raise config.refused("decoder_start_token_id", f"{pad}, the pad_token_id")
    if "<unk>" not in ids:
        raise BundleError(f"{path} lacks <unk>.", _SAME_MODEL)
    return Vocabulary.of_ids(ids, path, pad=pad, unk=ids["<unk>"], end=end)


def _check_added_tokens(folder: Path, of_tokenizer: Settings) -> None:
    """Refuse tokens that were added to the vocabulary, because `vocab.json` lacks them."""
    added = list(read_json_if_there(folder / "added_tokens.json"))
    entries = of_tokenizer.values.get("added_tokens_decoder") or {}
    if isinstance(entries, dict):
        added += [e.get("content") for e in entries.values() if isinstance(e, dict)]
    if strange := [t for t in added if t not in ("<pad>", "<unk>", "<s>", "</s>")]:
        raise BundleError(
            f"{folder} has the added token {strange[0]!r:.40}.",
            "Import the model without it, and add it with tokenizer.new_pieces in training.",
        )


def _tensors(
    tensors: Mapping[str, Tensor], d_model: int, config: Settings, sides: _Sides
) -> tuple[dict[str, Tensor], str]:
    """Return tables and bias in Headway's order, and which tables are one.

    The settings say which tables are shared, but the tensors decide.
    """
    check_positions(tensors, d_model)
    source = _first(tensors, SOURCE, SHARED)
    target = _first(tensors, TARGET, SHARED)
    output = _first(tensors, OUTPUT, TARGET, SHARED)
    counts = [len(vocabulary) - 1 for vocabulary in sides.vocabularies]  # without <s>
    for name, size in (("vocab_size", counts[0]), ("decoder_vocab_size", counts[1])):
        if config.get(name, int, size) != size:
            raise config.refused(name, f"{size}, the number of tokens in the vocabulary")
    for table, count in ((source, counts[0]), (target, counts[1]), (output, counts[1])):
        if table.shape != (count, d_model):
            raise BundleError(
                f"A table of embeddings has the shape {tuple(table.shape)}, but the vocabulary has "
                f"{count} tokens and d_model is {d_model}.",
                _SAME_MODEL,
            )
    bias = tensors.get(OUTPUT_BIAS)
    if bias is None or bias.shape != (1, counts[1]):
        shape = "missing" if bias is None else f"of shape {tuple(bias.shape)}"
        raise BundleError(
            f"'{OUTPUT_BIAS}' is {shape}, but must be of shape {(1, counts[1])}.", _SAME_MODEL
        )
    one_output = torch.equal(target, output)
    is_shared = one_output and not sides.separate and torch.equal(source, target)
    first, second = sides.vocabularies
    ours = {
        "source_embedding.tokens.weight": first.table(source),
        "output_projection.bias": second.bias(bias[0]),
    }
    if not is_shared:
        ours["target_embedding.tokens.weight"] = second.table(target)
    if not one_output:
        ours["output_projection.weight"] = second.table(output)
    return ours, "all" if is_shared else "target" if one_output else "none"


def _first(tensors: Mapping[str, Tensor], *names: str) -> Tensor:
    """Return the first of these tensors that the file has."""
    for name in names:
        if name in tensors:
            return tensors[name]
    raise BundleError(f"The weights lack '{names[0]}'.", _SAME_MODEL)


def _model_config(config: Settings, architecture: dict[str, Any], sides: _Sides) -> ModelConfig:
    sizes = [len(vocabulary) for vocabulary in sides.vocabularies]
    sizes = {"source_vocab_size": sizes[0], "target_vocab_size": sizes[1]}
    try:
        return ModelConfig.parse(architecture | sizes, "model")
    except ConfigError as error:
        raise BundleError(f"{config.path}: {error.message}", error.remedy) from None


def _check_names(tensors: Mapping[str, Tensor], names: Mapping[str, str]) -> None:
    """Refuse a missing tensor, and one that has no place in the model."""
    if missing := sorted(names.keys() - tensors.keys()):
        raise BundleError(f"The weights lack '{missing[0]}'.", _SAME_MODEL)
    known = {*names, SHARED, SOURCE, TARGET, OUTPUT, OUTPUT_BIAS, *POSITIONS}
    if extra := sorted(tensors.keys() - known):
        raise BundleError(
            f"The weights have '{extra[0]}', which a model with these settings does not have.",
            _SAME_MODEL,
        )
