"""Write a bundle as a Firefox student: `.bin`, `.spm`, shortlist and settings of the engines."""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.bundle import Bundle, load_bundle, model_tensors
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.data.languages import is_language, language_code
from headway.data.shortlist import Shortlist
from headway.data.tokenizer import END_ID, SPECIAL_PIECES, START_ID, UNK_ID
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.errors import BundleError, ConfigError
from headway.home import expanded
from headway.interop.cutting import check_sentencepiece_cuts
from headway.interop.folder import new_folder
from headway.interop.marian.binary import (
    INT8,
    INTGEMM8,
    StoredArray,
    binary_file,
    floats,
    whole_numbers,
)
from headway.interop.marian.engine_files import engine_files
from headway.interop.marian.lexical_shortlist import MAGIC
from headway.interop.marian.model_settings import SETTINGS
from headway.interop.marian.pieces import written_pieces
from headway.interop.marian.recognition import MarianFolder
from headway.interop.marian.student import (
    EPSILON,
    OUTPUT_BIAS,
    QUANTIZATION,
    read_student,
    weight_names,
)
from headway.model.customized import describe_customizations

_LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34) * 3
_ROUNDING = 0.05  # of a matrix; bytes round by 0.01 to 0.03
_RANDOM_LIMIT = 40  # pieces of a translation of noise
_REMEDY = "Nothing was written. Please report it with `headway info` of this bundle."
# What Marian computes, by setting.
_NEEDED = {
    "decoder_past": "ssru",
    "norm_position": "post",
    "activation": "relu",
    "positions": "sinusoidal",
    "sinusoid_layout": "halved",
    "first_position": 0,
    "zero_id": START_ID,
    "norm_epsilon": EPSILON,
    "attention_bias": True,
    "feed_forward_bias": True,
    "output_bias": True,
    "scale_embeddings": True,
    "d_k": None,
    "d_v": None,
}
# Settings that a student's file does not have, and that change no number of a translation.
_UNWRITTEN = {
    "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "max_positions": 1024,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FirefoxExport:
    """The written folder, and how much rounding to 8 bits changes."""

    folder: Path
    sentences: int
    """Sentences that were translated with the rounded weights as well."""
    changed: int
    """Of these, how many have another translation."""


def export(
    source: Bundle | str | Path, folder: str | Path, texts: Sequence[str] = ()
) -> FirefoxExport:
    """Write a bundle, or the bundle in a folder, with an SSRU as a student for Firefox's engines.

    texts: sentences to compare on; they also show how large the activations are, which decides how
    they are rounded. Without texts, sentences of random pieces do. The written files are read
    again, and must hold the bundle's numbers up to rounding. Raises ConfigError for a model that
    Marian does not compute.
    """
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    check_expressible(bundle)
    requests = _requests(bundle, texts)
    ours = _translate(bundle, requests)
    scales = activation_scales(bundle, requests, ours)
    with new_folder(folder) as fresh:
        for name, data in student_files(bundle, scales).items():
            (fresh / name).write_bytes(data)
        written = read_student(MarianFolder(fresh, "student")).bundle
        _compare(bundle, written)
        theirs = _translate(written, requests)
    changed = sum(mine != peer for mine, peer in zip(ours, theirs, strict=True))
    return FirefoxExport(expanded(folder).resolve(), len(requests), changed)


def check_expressible(bundle: Bundle) -> None:
    """Refuse, with a ConfigError, a model that Marian does not compute."""
    check_sentencepiece_cuts(bundle, "Firefox")
    if changes := describe_customizations(bundle.model):
        raise ConfigError(
            f"Marian computes the equations of Headway's own parts, but {changes}.",
            "Export a model without parts of your own or hooks.",
        )
    for name, needed in _NEEDED.items():
        value = getattr(bundle.config, name)
        if value != needed:
            raise ConfigError(
                f"{name} is {value!r}; a Firefox student has {needed!r}.",
                "Export a model with this setting, such as one trained with preset 'student'.",
            )
    if bundle.config.shared_embeddings != ("all" if bundle.joint else "target"):
        raise ConfigError(
            f"shared_embeddings is '{bundle.config.shared_embeddings}'; a Firefox student has "
            "'all' with one vocabulary and 'target' with two.",
            "Export a model with shared tables.",
        )


def student_files(bundle: Bundle, scales: dict[str, float]) -> dict[str, bytes]:
    """Return the files of a student by name; scales: of `activation_scales`."""
    languages = bundle.source_language, bundle.target_language
    codes = [language_code(name).partition("-")[0] for name in languages if is_language(name)]
    pair = "".join(codes) if list(map(len, codes)) == [2, 2] else "xxyy"
    weights, shortlist = f"model.{pair}.intgemm.alphas.bin", f"lex.50.50.{pair}.s2t.bin"
    files = {weights: binary_file(_arrays(bundle, scales))}
    sides = ("", "") if bundle.joint else ("src", "trg")
    vocabularies = [f"{side}vocab.{pair}.spm" for side in sides]
    tokenizers = bundle.source_tokenizer, bundle.target_tokenizer
    files |= {
        name: written_pieces(tokenizer)
        for name, tokenizer in zip(vocabularies, tokenizers, strict=True)
    }
    if bundle.shortlist is not None:
        files[shortlist] = shortlist_file(bundle.shortlist)
    shortlist_if_present = shortlist if shortlist in files else None
    return files | engine_files(bundle, weights, vocabularies, shortlist_if_present)


def _arrays(bundle: Bundle, scales: dict[str, float]) -> dict[str, StoredArray]:
    """Return all arrays of the `.bin` file, in the order of their names, settings last."""
    tensors = {name: t.float().numpy() for name, t in model_tensors(bundle.model).items()}
    arrays = {}
    for theirs, ours in weight_names(bundle.config):
        values = tensors[ours]
        if values.ndim == 2:
            arrays[theirs] = whole_numbers(values.T, by_rows=False)
            arrays[theirs + QUANTIZATION] = _scale(scales[ours.removesuffix(".weight")])
        else:
            arrays[theirs] = floats(values[None])
    source = tensors["source_embedding.tokens.weight"]
    target = tensors.get("target_embedding.tokens.weight", source)
    tables = {"Wemb": target} if bundle.joint else {"encoder_Wemb": source, "decoder_Wemb": target}
    for name, table in tables.items():
        arrays[name] = whole_numbers(_in_marians_order(table), by_rows=True)
    output = scales["output_projection"]
    name = "Wemb" if bundle.joint else "decoder_Wemb"
    # Marian stores this one rounded, like the table that it belongs to.
    arrays[name + QUANTIZATION] = (
        INTGEMM8, (1, 1), bytes([127]) + np.float32(127 / output).tobytes(),
    )  # fmt: skip
    arrays["none" + QUANTIZATION] = _scale(output)
    bias = tensors["output_projection.bias"]
    arrays[OUTPUT_BIAS] = floats(_in_marians_order(bias)[None])
    settings = _settings(bundle).encode() + b"\0"
    return dict(sorted(arrays.items())) | {SETTINGS: (INT8, (len(settings),), settings)}


def _scale(value: float) -> StoredArray:
    return floats(np.array([[value]], np.float32))


def _in_marians_order(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows of </s>, <unk> and all pieces that follow the special ones."""
    return np.concatenate([rows[[END_ID, UNK_ID]], rows[len(SPECIAL_PIECES) :]])


def _settings(bundle: Bundle) -> str:
    config = bundle.config
    layer = bundle.decoding.alignment_layer
    settings = {
        "bert-train-type-embeddings": "true",
        "bert-type-vocab-size": 2,
        "dec-cell": "ssru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "dec-depth": config.num_decoder_layers,
        "dim-emb": config.d_model,
        "dim-rnn": 1024,
        "dim-vocabs": [config.source_vocab_size - 2, config.target_vocab_size - 2],
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "enc-depth": config.num_encoder_layers,
        "enc-type": "bidirectional",
        "input-types": [],
        "layer-normalization": "false",
        "lemma-dim-emb": 0,
        "output-omit-bias": "false",
        "right-left": "false",
        "skip": "false",
        "tied-embeddings": "false" if bundle.joint else "true",
        "tied-embeddings-all": "true" if bundle.joint else "false",
        "tied-embeddings-src": "false",
        "transformer-aan-activation": "swish",
        "transformer-aan-depth": 2,
        "transformer-aan-nogate": "false",
        "transformer-decoder-autoreg": "rnn",
        "transformer-dim-aan": 2048,
        "transformer-dim-ffn": config.d_ff,
        "transformer-ffn-activation": "relu",
        "transformer-ffn-depth": 2,
        "transformer-guided-alignment-layer": "last" if layer is None else layer + 1,
        "transformer-heads": config.num_heads,
        "transformer-no-projection": "false",
        "transformer-pool": "false",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": '""',
        "transformer-preprocess": '""',
        "transformer-tied-layers": [],
        "transformer-train-position-embeddings": "false",
        "type": "transformer",
        "ulr": "false",
        "ulr-dim-emb": 0,
        "ulr-trainable-transformation": "false",
        "version": "v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100",
    }
    return "".join(f"{name}: {_yaml(value)}\n" for name, value in settings.items())


def _yaml(value: object) -> str:
    if isinstance(value, list):
        return "".join(f"\n  - {entry}" for entry in value) if value else "[]"
    return str(value)


def shortlist_file(shortlist: Shortlist) -> bytes:
    """Return the content of Marian's file, in Marian's ids.

    Marian gives every sentence the first pieces of the vocabulary. Ours are any pieces, so the list
    of </s>, which every sentence has, holds them.
    """
    lists = np.split(shortlist.found, shortlist.starts[1:-1])
    lists[END_ID] = np.union1d(lists[END_ID], shortlist.always)
    rows = [lists[END_ID], lists[UNK_ID], *lists[len(SPECIAL_PIECES) :]]
    rows_without_special = [row[np.isin(row, (0, START_ID), invert=True)] for row in rows]
    order = np.zeros(shortlist.target_size, np.int64)
    order[UNK_ID], order[len(SPECIAL_PIECES) :] = 1, np.arange(2, shortlist.target_size - 2)
    pieces = order[np.concatenate(rows_without_special)].astype("<u4")
    starts = np.cumsum([0, *map(len, rows_without_special)]).astype("<u8")
    best = max(map(len, rows_without_special))
    counts = struct.pack("<4Q", 2, best, len(starts), len(pieces))  # the first 2: </s>, <unk>
    content = counts + starts.tobytes() + pieces.tobytes()
    return struct.pack("<2Q", MAGIC, checksum(content)) + content


def checksum(content: bytes) -> int:
    """Return Marian's checksum of a shortlist: over words of 64 bits, the last bytes left out."""
    total, mask = 0, 2**64 - 1
    for word in np.frombuffer(content[: len(content) // 8 * 8], "<u8").tolist():
        total ^= word + 0x9E3779B9 + (total << 6) + (total >> 2) & mask
    return total


def _requests(bundle: Bundle, texts: Sequence[str]) -> list[Request]:
    """Return the texts that are not blank, or sentences of random pieces."""
    encoded = [bundle.source_tokenizer.encode(text) for text in texts if text.strip()]
    if encoded:
        more = bundle.decoding.max_extra_pieces
        return [Request([*ids, END_ID], len(ids) + more) for ids in encoded]
    draw = np.random.default_rng(0)
    first, last = len(SPECIAL_PIECES), bundle.config.source_vocab_size
    return [
        Request([*draw.integers(first, last, length).tolist(), END_ID], _RANDOM_LIMIT)
        for length in _LENGTHS
    ]


def _translate(bundle: Bundle, requests: Sequence[Request]) -> list[tuple[int, ...]]:
    """Return the pieces of greedy translations."""
    engine = build_engine(bundle.model, "packed", "float32")
    results = search_all(engine, SearchOptions(1, 0.0), requests)
    return [hypotheses[0].ids for hypotheses in results]


def activation_scales(
    bundle: Bundle, requests: Sequence[Request], targets: Sequence[tuple[int, ...]]
) -> dict[str, float]:
    """Return for each product the factor that makes 127 of its largest input.

    By the path of the product; the inputs are those of the translations of the requests.
    """
    pairs = [
        EncodedPair(list(request.source_ids[:-1]), list(target), line)
        for line, (request, target) in enumerate(zip(requests, targets, strict=True))
    ]
    largest: dict[str, float] = {}
    with torch.no_grad(), _largest_inputs(bundle.model, largest):
        for first in range(0, len(pairs), 16):
            batch = collate(pairs[first : first + 16])
            bundle.model(batch.source_ids, batch.target_ids)
    return {path: 127 / max(value, 1e-6) for path, value in largest.items()}


@contextmanager
def _largest_inputs(model: nn.Module, largest: dict[str, float]) -> Iterator[None]:
    """Note the largest magnitude of each product's input while the block runs."""

    def note(path: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def hook(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            value = float(inputs[0].abs().max())
            largest[path] = max(value, largest.get(path, 0.0))

        return hook

    products = {
        path: part
        for path, part in model.named_modules()
        if isinstance(part, nn.Linear) or path == "output_projection"
    }
    hooks = [part.register_forward_pre_hook(note(path)) for path, part in products.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _compare(bundle: Bundle, written: Bundle) -> None:
    """Refuse files that do not hold the bundle's numbers and pieces."""
    if bundle.config.replace(_UNWRITTEN) != written.config.replace(_UNWRITTEN):
        raise BundleError("The written settings are not those of the bundle.", _REMEDY)
    theirs = model_tensors(written.model)
    for name, ours in model_tensors(bundle.model).items():
        rows = ours.float()
        difference = (rows - theirs[name]).abs()
        if "embedding" in name or name == "output_projection.bias":
            difference = difference[[UNK_ID, END_ID, *range(len(SPECIAL_PIECES), len(rows))]]
        allowed = _ROUNDING * float(rows.norm()) if rows.dim() == 2 else 0.0
        if not float(difference.norm()) <= allowed:
            raise BundleError(f"The numbers of {name} are not those of the bundle.", _REMEDY)
    for mine, other in (
        (bundle.source_tokenizer, written.source_tokenizer),
        (bundle.target_tokenizer, written.target_tokenizer),
    ):
        if list(mine.table()) != list(other.table()):
            raise BundleError("The written vocabulary is not that of the bundle.", _REMEDY)
