"""Read a folder of Marian itself: a `.npz` file, `decoder.yml` and the vocabularies.

Positions and the epsilon of LayerNorm are Marian's own, with which the model was trained.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from headway.bundle import Bundle, set_model_tensors
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.tokenizer import LEADING_TAG, START_ID, kind_of_model, table_of
from headway.errors import BundleError, ConfigError, TokenizerError, shown
from headway.interop.files import COPY_AGAIN, read_bytes, read_card
from headway.interop.imported import ReadModel
from headway.interop.marian.model_settings import ORIGINAL, SETTINGS, check_settings, parse_settings
from headway.interop.marian.npz_file import NpzFile
from headway.interop.marian.recognition import MarianFolder
from headway.interop.marian.student import EPSILON, OUTPUT_BIAS, weight_names
from headway.interop.vocabulary import Vocabulary
from headway.model.uninitialized import empty_model

_OUTPUT = "decoder_ff_logit_out_W"
_ENTRY = re.compile(r"(.+?):\s+(\d{1,9})\s*")
_BYTE_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})")

Settings = Mapping[str, str | list[str]]


def read_original(marian: MarianFolder) -> ReadModel:
    """Return the bundle of a folder, and notes on its files.

    Raises BundleError that names the file, the array or the setting which does not fit.
    """
    folder = marian.path
    path = folder / "decoder.yml"
    decoder = parse_settings(read_bytes(path, 2**16).decode("utf-8", "replace"))
    file = NpzFile(_named(folder, decoder, "models", ".npz")[0])
    vocabularies, models = _vocabularies(folder, decoder)
    tokenizers = [
        vocabulary.tokenizer(read_bytes(model), model, leading_tags=True)
        for vocabulary, model in zip(vocabularies, models, strict=True)
    ]
    config = _configuration(file, vocabularies)
    tensors = _tensors(file, config, vocabularies)
    model = empty_model(config, "cpu")
    set_model_tensors(model, tensors, copy=False)
    tags = [piece for piece in vocabularies[0].pieces if LEADING_TAG.fullmatch(piece)]
    bundle = Bundle(
        config,
        model.eval(),
        tokenizers[0],
        tokenizers[-1],
        decoding=_decoding(decoder, path),
        record={"imported": {"kind": "marian", "tags": tags}},
        card=read_card(folder, "a folder of Marian"),
    )
    return ReadModel(bundle, _about_preprocessing(folder))


def _about_preprocessing(folder: Path) -> list[str]:
    """Return a sentence if the folder's script changes text before SentencePiece cuts it."""
    script = folder / "preprocess.sh"
    if not script.is_file() or b"normalize-punctuation" not in read_bytes(script, 2**16):
        return []
    return [
        "Its preprocess.sh normalizes punctuation with a script of Moses, which Headway does not "
        "do: give the model text that is normalized, such as by `sacremoses normalize`."
    ]


def _named(folder: Path, decoder: Settings, setting: str, ending: str) -> list[Path]:
    """Return the files that `decoder.yml` names, in this folder; else all with this ending."""
    value = decoder.get(setting, [])
    names = [value] if isinstance(value, str) else value
    paths = [folder / Path(name).name for name in names] or sorted(folder.glob(f"*{ending}"))
    if setting == "models" and len(paths) != 1:
        raise BundleError(
            f"{folder} has {len(paths)} models, and an ensemble is no single bundle.",
            "Leave one in `models` of decoder.yml.",
        )
    return paths


def _vocabularies(
    folder: Path, decoder: Settings
) -> tuple[tuple[Vocabulary, Vocabulary], tuple[Path, Path]]:
    """Return the vocabulary of each side, one object if both are one, and the `.spm` files."""
    paths = _named(folder, decoder, "vocabs", ".vocab.yml")
    paths = paths * 2 if len(paths) == 1 else paths
    if len(paths) != 2:
        raise BundleError(
            f"decoder.yml names {len(paths)} vocabularies.", "A model of one source has two."
        )
    if all(path.suffix == ".spm" for path in paths):
        models = (paths[0], paths[1])
    elif (folder / "source.spm").exists():
        models = (folder / "source.spm", folder / "target.spm")
    else:
        raise BundleError(
            f"{folder} has no source.spm: its text is cut by another program.",
            "Only models with SentencePiece can be imported.",
        )
    source = _vocabulary(paths[0])
    same = paths[0] == paths[1] or read_bytes(paths[0]) == read_bytes(paths[1])
    return (source, source if same else _vocabulary(paths[1])), models


def _vocabulary(path: Path) -> Vocabulary:
    ids = _pieces_of_model(path) if path.suffix == ".spm" else _listed(path)
    missing = [piece for piece in ("</s>", "<unk>") if piece not in ids]
    if missing:
        raise BundleError(f"{path} lacks {missing[0]}.", COPY_AGAIN)
    return Vocabulary.of_ids(ids, path, pad=None, unk=ids["<unk>"], end=ids["</s>"])


def _pieces_of_model(path: Path) -> dict[str, int]:
    data = read_bytes(path)
    try:
        kind_of_model(data)
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None
    return {text: i for i, (text, _, _) in enumerate(table_of(data))}


def _listed(path: Path) -> dict[str, int]:
    """Return the ids of a vocabulary, one piece a line, as Marian writes it."""
    ids: dict[str, int] = {}
    for line in read_bytes(path).decode("utf-8", "replace").split("\n"):
        if not line.strip():
            continue
        entry = _ENTRY.fullmatch(line)
        piece = _unquoted(entry[1]) if entry else None
        if entry is None or piece is None or piece in ids:
            raise BundleError(
                f"{path} has the line {shown(line)}, which is not a token with its id, or one that "
                "is there already.",
                COPY_AGAIN,
            )
        ids[piece] = int(entry[2])
    return ids


def _unquoted(text: str) -> str | None:
    """Return the text of a piece as YAML quotes it; None if it is not quoted rightly."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'") if len(text) > 2 and text.endswith("'") else None
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(_BYTE_ESCAPE.sub(r"\\u00\1", text), strict=False)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _configuration(file: NpzFile, vocabularies: tuple[Vocabulary, Vocabulary]) -> ModelConfig:
    """Return the configuration that the settings and the shapes of a file give."""
    target = "Wemb" if "Wemb" in file.names else "decoder_Wemb"
    d_model, d_ff = (file.numbers(n).shape[1] for n in (target, "encoder_l1_ffn_W1"))
    depths = [_depth(file, stack) for stack in ("encoder", "decoder")]
    sizes = {
        "dim-emb": d_model,
        "transformer-dim-ffn": d_ff,
        "enc-depth": depths[0],
        "dec-depth": depths[1],
    }
    known = check_settings(parse_settings(file.settings()), sizes, ORIGINAL)
    shared = "all" if target == "Wemb" and vocabularies[0] is vocabularies[1] else "target"
    values = {
        "d_model": d_model,
        "d_ff": d_ff,
        "num_heads": known.num_heads,
        "num_encoder_layers": depths[0],
        "num_decoder_layers": depths[1],
        "activation": known.activation,
        "output_bias": True,
        "norm_epsilon": EPSILON,
        "sinusoid_layout": "halved",
        "zero_id": START_ID,
        "shared_embeddings": "none" if _OUTPUT in file.names else shared,
        "source_vocab_size": len(vocabularies[0]),
        "target_vocab_size": len(vocabularies[1]),
    }
    try:
        return ModelConfig.parse(values, "model")
    except ConfigError as error:
        raise BundleError(f"{file.path}: {error.message}", error.remedy) from None


def _depth(file: NpzFile, stack: str) -> int:
    return len({name.split("_")[1] for name in file.names if name.startswith(f"{stack}_l")})


def _tensors(
    file: NpzFile, config: ModelConfig, vocabularies: tuple[Vocabulary, Vocabulary]
) -> dict[str, Tensor]:
    """Return the weights by Headway's names; BundleError for an array that does not fit."""
    places = dict(weight_names(config))
    one_table = "Wemb" in file.names
    tables = {
        "Wemb" if one_table else "encoder_Wemb": ("source_embedding.tokens.weight", 0),
        "Wemb" if one_table else "decoder_Wemb": ("target_embedding.tokens.weight", 1),
    }
    if one_table and vocabularies[0] is vocabularies[1]:
        tables = {"Wemb": ("source_embedding.tokens.weight", 0)}
    known = {*places, *tables, OUTPUT_BIAS, _OUTPUT, SETTINGS}
    if extra := sorted(file.names - known):
        raise file.damaged(f"It has '{extra[0]}', which a model of this kind does not have.")
    tensors = {}
    for theirs, ours in places.items():
        array = file.numbers(theirs)
        is_row = len(array) == 1 and ours.endswith(("bias", "norm.weight"))
        tensors[ours] = _tensor(array.reshape(-1) if is_row else array.T)
    for theirs, (ours, side) in tables.items():
        tensors[ours] = vocabularies[side].table(_rows(file, theirs, vocabularies[side], 0))
    if _OUTPUT in file.names:
        rows = _rows(file, _OUTPUT, vocabularies[1], 1).T
        tensors["output_projection.weight"] = vocabularies[1].table(rows)
    bias = _rows(file, OUTPUT_BIAS, vocabularies[1], 1)[0]
    return tensors | {"output_projection.bias": vocabularies[1].bias(bias)}


def _rows(file: NpzFile, name: str, vocabulary: Vocabulary, axis: int) -> Tensor:
    """Return a matrix with a row, or a column, for each piece of the file's vocabulary."""
    array = file.numbers(name)
    pieces = int((vocabulary.rows >= 0).sum())
    if array.shape[axis] != pieces:
        raise file.damaged(f"'{name}' has {array.shape[axis]} tokens, but the vocabulary {pieces}.")
    return _tensor(array)


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def _decoding(decoder: Settings, path: Path) -> DecodingConfig:
    """Return the settings of the search; Marian's `normalize` is the length penalty."""
    beam, normalize = decoder.get("beam-size", "12"), decoder.get("normalize", "0")
    numbers = {"true": "1", "false": "0"}
    try:
        values = {
            "beam_size": int(str(beam)),
            "length_penalty": float(numbers.get(str(normalize), str(normalize))),
        }
        return DecodingConfig.parse(values, "decoding")
    except ConfigError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None
    except ValueError:
        raise BundleError(
            f"beam-size {beam!r} or normalize {normalize!r} in {path} is not a number.",
            "Change it there.",
        ) from None
