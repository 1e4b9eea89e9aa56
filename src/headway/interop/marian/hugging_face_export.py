"""Write a bundle as a MarianMT folder of Hugging Face, after both have given the same logits."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from headway.bundle import Bundle, load_bundle
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import PAD_ID, SPECIAL_PIECES, START_ID
from headway.errors import BundleError, ConfigError, shown
from headway.home import expanded
from headway.interop.cutting import check_sentencepiece_cuts
from headway.interop.folder import new_folder
from headway.interop.marian.hugging_face import read_hugging_face
from headway.interop.marian.hugging_face_files import (
    ACTIVATION_NAMES,
    hugging_face_files,
    same_ids,
)
from headway.interop.marian.hugging_face_settings import EPSILON
from headway.interop.marian.recognition import MarianFolder
from headway.model.customized import describe_customizations
from headway.runtime.atomic_files import write_atomically

TOLERANCE = 1e-4
"""Of logits. Both are computed in float64, so the order of dimensions changes far less."""

_LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34) * 3  # of sentences of random tokens
_BATCH = 16
_REMEDY = "Nothing was written. Please report it with `headway info` of this bundle."


@dataclass(frozen=True, slots=True)
class HuggingFaceExport:
    """The written folder, and how close it is to the bundle."""

    folder: Path
    sentences: int
    """Sentences on which both were compared."""
    largest_difference: float
    """The largest difference between logits of one token."""


def export(
    source: Bundle | str | Path, folder: str | Path, texts: Sequence[str] = ()
) -> HuggingFaceExport:
    """Write a bundle, or the bundle in a folder, as a folder that `MarianMTModel` loads.

    The written folder is read as `headway import marian` reads it. Its tokenizers must cut the
    texts into the same tokens. The logits of every token that Headway can put out must be the same
    to 1e-4, on sentences of random tokens and on `texts`, in float64.

    Raises ConfigError for a model that MarianMT cannot compute, by the name of the setting, and
    BundleError if the folder has content or the two diverge. After an error nothing is written.
    """
    bundle = source if isinstance(source, Bundle) else load_bundle(source)
    check_expressible(bundle)
    pairs = _examples(bundle, texts)
    with new_folder(folder) as fresh:
        for name, content in hugging_face_files(bundle):
            write_atomically(fresh / name, content)
        written = read_hugging_face(MarianFolder(fresh, "hugging-face")).bundle
        _compare_tokenizers(bundle, written, texts)
        difference = largest_difference(bundle, written, pairs)
        if not difference <= TOLERANCE:
            raise BundleError(
                f"The logits of the written model differ from ours by {difference:.2g}, more than "
                f"{TOLERANCE:g}.",
                _REMEDY,
            )
    return HuggingFaceExport(expanded(folder).resolve(), len(pairs), difference)


def check_expressible(bundle: Bundle) -> None:
    """Refuse, with a ConfigError, a model that MarianMT does not compute."""
    check_sentencepiece_cuts(bundle, "MarianMT")
    if changes := describe_customizations(bundle.model):
        raise ConfigError(
            f"MarianMT computes the equations of Headway's own parts, but {changes}.",
            "Export a model without parts of your own or hooks.",
        )
    config = bundle.config
    epsilons = {m.eps for m in bundle.model.modules() if isinstance(m, nn.LayerNorm)}
    width, remainder = divmod(config.d_model, config.num_heads)
    widths = [None] if remainder else [None, width]
    allowed: dict[str, tuple[object, Sequence[object]]] = {
        "decoder_past": (config.decoder_past, ["self_attention"]),
        "norm_position": (config.norm_position, ["post"]),
        "norm_epsilon": (next((e for e in epsilons if e != EPSILON), EPSILON), [EPSILON]),
        "activation": (config.activation, list(ACTIVATION_NAMES)),
        "positions": (config.positions, ["sinusoidal"]),
        "sinusoid_layout": (config.sinusoid_layout, ["interleaved", "split"]),
        "first_position": (config.first_position, [0]),
        "d_k": (config.d_k, widths),
        "d_v": (config.d_v, widths),
        "pad_id": (config.pad_id, [PAD_ID]),
        "zero_id": (config.zero_id, [None, START_ID]),
        "shared_embeddings": (
            config.shared_embeddings,
            ["all", "target"] if same_ids(bundle) else ["target"],
        ),
    }
    for name, (value, values) in allowed.items():
        if value not in values:
            alternative = "firefox" if value == "ssru" else "ctranslate2"
            raise ConfigError(
                f"{name} is {value!r}, but MarianMT has {' or '.join(map(repr, values))}.",
                f"Export a model with this setting, or use --to {alternative}.",
            )
    if config.d_model % 2:
        raise ConfigError(
            f"d_model is {config.d_model}, but the sinusoids of MarianMT need an even number.",
            "Export a model of an even width, or use --to ctranslate2.",
        )


def _examples(bundle: Bundle, texts: Sequence[str]) -> list[EncodedPair]:
    """Return the texts that are not blank, and sentences of random tokens, with random targets."""
    draw = torch.Generator().manual_seed(0)
    sizes = len(bundle.source_tokenizer), len(bundle.target_tokenizer)

    def random_ids(side: int, length: int) -> list[int]:
        first = len(SPECIAL_PIECES)
        return torch.randint(first, sizes[side], (length,), generator=draw).tolist()

    sources = [bundle.source_tokenizer.encode(text) for text in texts if text.strip()]
    sources = [ids for ids in sources if len(ids) <= bundle.decoding.max_source_pieces]
    sources += [random_ids(0, length) for length in _LENGTHS]
    return [EncodedPair(ids, random_ids(1, len(ids)), line) for line, ids in enumerate(sources)]


def _compare_tokenizers(bundle: Bundle, written: Bundle, texts: Sequence[str]) -> None:
    """Raise BundleError if the written tokenizers have other tokens, or cut a text otherwise."""
    for ours, theirs in (
        (bundle.source_tokenizer, written.source_tokenizer),
        (bundle.target_tokenizer, written.target_tokenizer),
    ):
        if not ours.has_ids_of(theirs):
            raise BundleError("The written vocabulary is not that of the bundle.", _REMEDY)
        for text in texts:
            if ours.encode(text) != theirs.encode(text):
                raise BundleError(
                    f"The written tokenizer cuts {shown(text)} into other tokens.", _REMEDY
                )


@torch.inference_mode()
def largest_difference(bundle: Bundle, written: Bundle, pairs: Sequence[EncodedPair]) -> float:
    """Return the largest difference of logits, of tokens other than <pad> and <s>, in float64."""
    models = [copy.deepcopy(each.model).cpu().double().eval() for each in (bundle, written)]
    columns = [i for i in range(len(bundle.target_tokenizer)) if i not in (PAD_ID, START_ID)]
    largest = 0.0
    for first in range(0, len(pairs), _BATCH):
        batch = collate(pairs[first : first + _BATCH])
        ours, theirs = (m(batch.source_ids, batch.target_ids)[..., columns] for m in models)
        difference = (ours - theirs)[batch.target_ids != PAD_ID]
        largest = max(largest, float(difference.abs().max()))
    return largest
