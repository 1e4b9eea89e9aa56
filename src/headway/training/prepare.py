"""Preparation of a run: from its configuration and text to encoded pairs and a new model.

Nothing is printed, and nothing is written but encoded text and tokenizers where `data.shards` keeps
them. Each process of a run (`begin.py`) and `headway check` (`check.py`) prepare in the same way.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from headway.bundle import Bundle, Change, OwnParts, apply_change
from headway.config.run import RunConfig
from headway.data.tokenizer import Tokenizer
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.errors import ConfigError
from headway.model.customized import lost_buffers
from headway.model.transformer import Transformer
from headway.training.encode import EncodedTexts, encode_texts
from headway.training.precision import choose_precision
from headway.training.random_numbers import fresh_weights, seed_random
from headway.training.reporting import SILENT, Reporter
from headway.training.run_stream import build_stream
from headway.training.settings import check_sharing, check_tokenizers
from headway.training.stream import BatchStream
from headway.training.texts import Texts
from headway.training.tokenizers import find_tokenizers


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run before its first step."""

    config: RunConfig
    texts: Texts
    encoded: EncodedTexts
    stream: BatchStream
    bundle: Bundle
    """The model with fresh weights, and its tokenizers."""
    precision: str
    """float32 or bfloat16."""
    remarks: list[str]
    """Sentences for the user, in order."""


def prepare(
    config: RunConfig,
    texts: Texts,
    device: torch.device,
    *,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
    known_length: int = 0,
    change: Change | None = None,
    encoded_folder: Path | None = None,
    divided: bool = False,
    reporter: Reporter = SILENT,
) -> PreparedRun:
    """Prepare a run on this device.

    tokenizers: found or trained if unset; then the result's configuration has the size of the
    vocabulary. known_length: tokens of a source that the model which training starts from takes.
    change: puts the user's own parts into the new model.
    encoded_folder: where `keep_encoded` may have put the encoded pairs of this run. divided: the
    weights will be divided among processes, so the model stays on the CPU until then. reporter:
    shows progress. Raises ConfigError or DataError if text and settings do not fit together.
    """
    remarks: list[str] = []
    if tokenizers is None:
        trained = find_tokenizers(config, texts, reporter)
        tokenizers, remarks = trained.sides, trained.remarks
        config = trained.as_found(config)
    check_tokenizers(config, *tokenizers)
    encoded = encode_texts(
        texts,
        *tokenizers,
        config.data,
        kept=encoded_folder,
        keep_texts=config.tokenizer.sampling is not None,
        reporter=reporter,
    )
    stream = build_stream(config, texts, encoded, tokenizers)
    check_positions(config, encoded, tokenizers[0])
    # A model that is to be divided may be too large for one device.
    model_device = torch.device("cpu") if divided else device
    bundle = build_bundle(
        config, *tokenizers, model_device, known_length=known_length, shared=change is not None
    )
    if change:
        remarks = [*remarks, *_changed(bundle, change, model_device)]
        bundle = replace(bundle, code=change.code if isinstance(change, OwnParts) else b"")
    precision = choose_precision(config.training.precision, device)
    return PreparedRun(config, texts, encoded, stream, bundle, precision, remarks)


def build_bundle(
    config: RunConfig,
    source: Tokenizer,
    target: Tokenizer,
    device: torch.device,
    *,
    known_length: int = 0,
    shared: bool = False,
) -> Bundle:
    """Build a freshly initialized model for these tokenizers, with the run's defaults.

    known_length: tokens of a source that the model which training starts from takes.
    shared: draw from the default generators, which a user's own parts also use.
    """
    if not source.has_ids_of(target):
        check_sharing(config)
    seed = config.training.seed
    if shared:
        seed_random(device, seed)
    model_config = config.model.with_vocabulary(source.vocabulary_size, target.vocabulary_size)
    # The model never sees later positions in training, so longer sentences are split.
    limit = max(config.data.max_pieces + _tag_pieces(config, source), known_length)
    limit = min(config.decoding.max_source_pieces, limit)
    with nullcontext() if shared else fresh_weights(seed):
        model = Transformer.from_config(model_config)
    return Bundle(
        config=model_config,
        model=model.to(device),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=config.decoding.replace({"max_source_pieces": limit}),
        source_language=config.data.languages[0],
        target_language=config.data.languages[1],
    )


def check_positions(config: RunConfig, encoded: EncodedTexts, source: Tokenizer) -> None:
    """Refuse text that is longer than a learned table of positions; source: cuts the tags."""
    architecture = config.model
    if architecture.positions != "learned":
        return
    validation_lengths = (len(ids) for pair in encoded.valid for ids in pair[:2])
    # The start or end symbol has a position, too.
    longest = 1 + max([encoded.train.longest()[1], *validation_lengths])
    if longest > architecture.max_positions:
        # data.max_pieces does not count the tag.
        max_pieces = architecture.max_positions - 1 - _tag_pieces(config, source)
        or_lower = f", or lower data.max_pieces to {max_pieces}" if max_pieces >= 1 else ""
        raise ConfigError(
            f"model.max_positions is {architecture.max_positions}, but the longest sentence takes "
            f"{longest} positions.",
            f"Raise it to {longest}{or_lower}.",
        )


def _tag_pieces(config: RunConfig, source: Tokenizer) -> int:
    """Return the number of pieces of the longest tag, 0 without tags."""
    return max((len(source.encode(tag)) for tag in config.data.tags), default=0)


def _changed(bundle: Bundle, change: Change, device: torch.device) -> list[str]:
    """Put the user's own parts into the model; return a remark if they do not decode stepwise."""
    apply_change(change, bundle.model)
    bundle.model.to(device)
    if buffers := lost_buffers(bundle.model):
        raise ConfigError(
            f"{buffers[0]} is a buffer, which neither checkpoints nor bundles hold.",
            "Make it a parameter, or persistent=False if it can be computed again.",
        )
    mismatch = find_stepwise_mismatch(bundle.model)
    return [mismatch] if mismatch else []
