"""From files and a configuration to what a trainer needs: text, tokenizers, batches, model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from headway.bundle import Bundle
from headway.config.data import DataConfig, TokenizerConfig
from headway.config.model import Architecture
from headway.config.run import RunConfig
from headway.data.cleaning import CleaningReport, CleaningRules, EncodedPair, clean
from headway.data.corpus import Pair, fingerprint, read_pairs
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.data.vocabulary import add_pieces, check_pieces, check_room
from headway.errors import ConfigError
from headway.evaluation.metrics import score_texts
from headway.model.transformer import Transformer
from headway.training.step import seed_random


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of a run, as read."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    checksum: str
    """SHA-256 of the training and validation files."""
    train_lines: Sequence[int] | None = None
    """Where each training pair stands in its file, if some of them are held out."""
    valid_lines: Sequence[int] | None = None
    """Where each validation pair stands in the training file, if it is held out from there."""


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Pairs as ids, with what cleaning did to the training text."""

    train: list[EncodedPair]
    valid: list[EncodedPair]
    report: CleaningReport
    valid_report: CleaningReport


def read_texts(data: DataConfig) -> Texts:
    """Read all files that the configuration names; training and validation text are required."""
    if not data.source:
        raise ConfigError(
            "'data.source' is missing.",
            "Name the text files in [data], or with --source, --target, --valid-source and "
            "--valid-target.",
        )
    if not (data.valid_source or data.hold_out):
        raise ConfigError(
            "'data.valid_source' is missing.",
            "Name validation text, or hold some of the training text out with "
            "--set data.hold_out=500.",
        )
    folder = Path(data.directory)
    files = [data.source, data.target, data.valid_source, data.valid_target]
    train = read_split(data, data.source, data.target)
    train_lines = valid_lines = None
    if data.valid_source:
        valid = read_split(data, data.valid_source, data.valid_target)
    else:
        pairs = train
        train_lines, valid_lines = _hold_out(pairs, data.hold_out)
        train, valid = ([pairs[line - 1] for line in part] for part in (train_lines, valid_lines))
    return Texts(
        train=train,
        valid=valid,
        train_lines=train_lines,
        valid_lines=valid_lines,
        test=read_split(data, data.test_source, data.test_target) if data.test_source else [],
        checksum=fingerprint([folder / name for name in files if name]),
    )


def read_split(data: DataConfig, source: str, target: str) -> list[Pair]:
    """Read the pairs of two files, or of one with both sides, in the direction of the run."""
    folder = Path(data.directory)
    pairs = read_pairs(
        folder / source,
        folder / target if target else None,
        source_column=data.source_column - 1,
        target_column=data.target_column - 1,
        source_field=data.source_field,
        target_field=data.target_field,
    )
    return [Pair(pair.target, pair.source) for pair in pairs] if data.reverse else pairs


def _hold_out(pairs: list[Pair], count: int) -> tuple[list[int], list[int]]:
    """Choose `count` lines for validation; return those left for training, and the chosen.

    Pairs equal to a chosen one are in neither.

    Which ones depends on the number of pairs alone, so that runs with other seeds compare.
    """
    chosen = np.random.default_rng(0).permutation(len(pairs))[:count]
    valid = [int(index) + 1 for index in sorted(chosen)]
    taken = {pairs[line - 1] for line in valid}
    train = [line for line, pair in enumerate(pairs, start=1) if pair not in taken]
    if not train:
        raise ConfigError(
            f"data.hold_out is {count}, but there are {len(pairs)} training pairs.",
            "Hold out fewer, so that some are left to train on.",
        )
    return train, valid


def build_tokenizers(
    config: TokenizerConfig, train: list[Pair], seed: int
) -> tuple[Tokenizer, Tokenizer]:
    """Load the tokenizers that the configuration names, or train them on the training text."""
    if config.target_model and (config.joint or not config.source_model):
        raise ConfigError(
            "tokenizer.target_model is given, but would not be used.",
            "Give tokenizer.source_model too, and set tokenizer.joint to false.",
        )
    if config.source_model and not (config.joint or config.target_model):
        raise ConfigError(
            "tokenizer.target_model is missing beside tokenizer.source_model.",
            "Give it, or set tokenizer.joint to true.",
        )
    if config.source_model:
        source = Tokenizer.from_file(config.source_model)
        target = source if config.joint else Tokenizer.from_file(config.target_model)
        source, target = (
            add_pieces(side, config.new_pieces).tokenizer for side in (source, target)
        )
        return source, target
    sources = [pair.source for pair in train]
    targets = [pair.target for pair in train]
    if config.joint:
        joint = _train(config, sources + targets, seed)
        return joint, joint
    return _train(config, sources, seed), _train(config, targets, seed)


def _train(config: TokenizerConfig, texts: list[str], seed: int) -> Tokenizer:
    check_pieces(config.new_pieces)
    check_room(config.new_pieces, config.vocabulary_size)
    words = config.kind == "word"  # SentencePiece's symbols do not hold for them
    tokenizer = train_tokenizer(
        texts,
        kind=config.kind,
        vocabulary_size=config.vocabulary_size - len(config.new_pieces) * words,
        byte_fallback=config.byte_fallback,
        character_coverage=config.character_coverage,
        normalization=config.normalization,
        seed=seed,
        symbols=() if words else config.new_pieces,
    )
    return add_pieces(tokenizer, config.new_pieces).tokenizer


def encode_texts(
    texts: Texts, source: Tokenizer, target: Tokenizer, data: DataConfig
) -> EncodedTexts:
    """Clean and encode; validation pairs are dropped only where no loss could be computed."""
    rules = CleaningRules(
        max_pieces=data.max_pieces,
        over_long=data.too_long,
        max_ratio=data.max_ratio,
        drop_duplicates=data.drop_duplicates,
        drop_identical=data.drop_identical,
    )
    train, report = clean(
        texts.train,
        source.encode_batch,
        target.encode_batch,
        rules=rules,
        normalize_target=target.normalize,
        lines=texts.train_lines,
    )
    valid, valid_report = clean(
        texts.valid,
        source.encode_batch,
        target.encode_batch,
        rules=CleaningRules(max_pieces=data.max_pieces, over_long="cut"),
        lines=texts.valid_lines,
    )
    return EncodedTexts(train, valid, report, valid_report)


def build_bundle(
    config: RunConfig, source: Tokenizer, target: Tokenizer, device: torch.device
) -> Bundle:
    """Build a freshly initialized model for these tokenizers, with the run's defaults."""
    if config.model.shared_embeddings == "all" and source != target:
        raise ConfigError(
            "model.shared_embeddings is 'all', but the two sides have vocabularies of their own.",
            "Set tokenizer.joint to true, or model.shared_embeddings to 'target' or 'none'.",
        )
    seed_random(device, config.training.seed)
    model_config = config.model.with_vocabulary(source.vocabulary_size, target.vocabulary_size)
    # A sentence longer than any in training is split: the model has never seen its positions.
    limit = min(config.decoding.max_source_pieces, config.data.max_pieces)
    return Bundle(
        config=model_config,
        model=Transformer.from_config(model_config).to(device),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=config.decoding.replace({"max_source_pieces": limit}),
        source_language=config.data.languages[0],
        target_language=config.data.languages[1],
    )


def check_metrics(config: RunConfig) -> None:
    """Refuse a metric that validation could not compute, before anything is trained."""
    training, evaluation = config.training, config.evaluation
    score_texts(["a"], ["a"], evaluation.metrics, evaluation.bleu_tokenize)
    if training.best_metric != "loss" and not (
        training.best_metric in evaluation.metrics and training.validation_sentences
    ):
        raise ConfigError(
            f"best_metric is '{training.best_metric}', but validation does not compute it.",
            "Add it to evaluation.metrics and set training.validation_sentences above 0.",
        )


def check_positions(architecture: Architecture, encoded: EncodedTexts) -> None:
    """Refuse text that is longer than a learned table of positions."""
    if architecture.positions != "learned":
        return
    longest = 1 + max(
        len(ids) for pair in (*encoded.train, *encoded.valid) for ids in pair[:2]
    )  # the start or end symbol has a position too
    if longest > architecture.max_positions:
        raise ConfigError(
            f"model.max_positions is {architecture.max_positions}, but the longest sentence takes "
            f"{longest} positions.",
            f"Raise it to {longest}, or lower data.max_pieces to {architecture.max_positions - 1}.",
        )
