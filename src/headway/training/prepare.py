"""From files and a configuration to what a trainer needs: text, tokenizers, model."""

import dataclasses
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from headway.bundle import Bundle
from headway.config.data import CorpusConfig, DataConfig, TokenizerConfig
from headway.config.model import Architecture
from headway.config.run import RunConfig
from headway.data.cleaning import CleaningReport
from headway.data.compression import StrPath
from headway.data.corpus import (
    Corpus,
    Pair,
    check_read_again,
    file_digest,
    fingerprint,
    matching_files,
    partners,
    read_pairs,
)
from headway.data.encoded import EncodedPair
from headway.data.hub import is_dataset
from headway.data.store import PairStore
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.data.vocabulary import add_pieces, check_pieces, check_room
from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.settings import check_sharing
from headway.training.step import seed_random


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of a run: validation and test text as read, training text to be read."""

    corpora: list[Corpus]
    valid: list[Pair]
    test: list[Pair]
    files: dict[str, str]
    """Training and validation files, in their order, with the SHA-256 of each."""
    checksum: str
    """SHA-256 of all of these."""
    training_checksum: str
    """SHA-256 of the training files."""
    valid_lines: Sequence[int] | None = None
    """Where each validation pair stands in the training file, if it is held out from there."""

    @property
    def train(self) -> list[Pair]:
        """Return all training pairs, read at once."""
        return list(chain.from_iterable(self.corpora))


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Pairs as ids, with what cleaning did to the training text."""

    train: PairStore
    valid: list[EncodedPair]
    report: CleaningReport
    valid_report: CleaningReport


def read_texts(data: DataConfig) -> Texts:
    """Find all files that the configuration names; training and validation text are required."""
    if not (data.source or data.corpora):
        raise ConfigError(
            "'data.source' is missing.",
            "Name the text files in [data], or with --source, --target, --valid-source and "
            "--valid-target.",
        )
    if data.source and data.corpora:
        raise ConfigError(
            "Both 'data.source' and 'data.corpora' name training text.",
            "Make data.source one of the corpora, [[data.corpora]].",
        )
    if not (data.valid_source or data.hold_out):
        raise ConfigError(
            "'data.valid_source' is missing.",
            "Name validation text, or hold some of the training text out with "
            "--set data.hold_out=500.",
        )
    if data.test_target and not data.test_source:
        raise ConfigError(
            "'data.test_target' is given, but 'data.test_source' is missing.",
            "Name both sides of the test text, or neither.",
        )
    _check_tags(data)
    folder = Path(data.directory)
    corpora = training_corpora(data)
    files = [file for corpus in corpora for file in corpus.files]
    named = [name for name in (data.valid_source, data.valid_target) if data.valid_source and name]
    valid_files: list[StrPath] = [name if is_dataset(name) else folder / name for name in named]
    for file in (*files, *valid_files):
        check_read_again(file)
    valid_lines = None
    if data.valid_source:
        valid = read_split(data, data.valid_source, data.valid_target)
    else:
        corpus, valid_lines, held_out = _hold_out(corpora, data.hold_out)
        corpora = [corpus]
        valid = [_tagged(data.tag, pair) for pair in held_out]
    all_files = [*files, *valid_files]
    digests = [file_digest(file) for file in all_files]
    return Texts(
        corpora=corpora,
        valid=valid,
        valid_lines=valid_lines,
        test=read_split(data, data.test_source, data.test_target) if data.test_source else [],
        files={str(file): digest.hex() for file, digest in zip(all_files, digests, strict=True)},
        checksum=fingerprint(digests),
        training_checksum=fingerprint(digests[: len(files)]),
    )


def _check_tags(data: DataConfig) -> None:
    """Refuse tags that are no pieces, and validation text with a tag that is trained nowhere."""
    for tag in data.tags:
        if any(map(str.isspace, tag)):
            raise ConfigError(
                f"The tag of a corpus is {tag!r}, which holds a space.",
                "A tag is one piece, such as <2ko>.",
            )
    trained = [corpus.tag for corpus in data.corpora]
    if trained and data.tag not in trained:
        raise ConfigError(
            f"data.tag is {data.tag!r}, but the tags of the corpora are "
            f"{', '.join(map(repr, dict.fromkeys(trained)))}.",
            "Give validation and test text the tag of one of them.",
        )


def training_corpora(data: DataConfig) -> list[Corpus]:
    """Return the training text as it is in its files, before anything is held out."""
    folder = Path(data.directory)
    corpora = []
    for named in data.corpora or [data]:
        if named.target:
            sources, targets = partners(folder, named.source, named.target)
        else:
            sources, targets = matching_files(folder, named.source), ()
        corpora.append(
            Corpus(
                sources,
                targets,
                columns=(named.source_column - 1, named.target_column - 1),
                fields=(named.source_field, named.target_field),
                reverse=named.reverse != (data.reverse and named is not data),
                tag=named.tag,
                weight=named.weight if isinstance(named, CorpusConfig) else 1.0,
            )
        )
    return corpora


def read_split(data: DataConfig, source: str, target: str) -> list[Pair]:
    """Read the pairs of two files, or of one with both sides, in the direction of the run."""
    folder = Path(data.directory)
    pairs = read_pairs(
        source if is_dataset(source) else folder / source,
        folder / target if target else None,
        source_column=data.source_column - 1,
        target_column=data.target_column - 1,
        source_field=data.source_field,
        target_field=data.target_field,
    )
    if data.reverse:
        pairs = [Pair(pair.target, pair.source) for pair in pairs]
    return [_tagged(data.tag, pair) for pair in pairs]


def _tagged(tag: str, pair: Pair) -> Pair:
    return Pair(f"{tag} {pair.source}", pair.target) if tag else pair


def untag(tag: str, pairs: Iterable[Pair]) -> list[Pair]:
    """Return validation or test text as it is in its files."""
    beginning = f"{tag} " if tag else ""
    return [Pair(pair.source.removeprefix(beginning), pair.target) for pair in pairs]


def _hold_out(corpora: list[Corpus], count: int) -> tuple[Corpus, list[int], list[Pair]]:
    """Choose `count` lines for validation; return what is left, the lines and their pairs.

    Pairs equal to a chosen one are in neither; cleaning counts them. Which ones are chosen depends
    on the number of pairs alone, so that runs with other seeds compare.
    """
    if len(corpora) > 1:
        raise ConfigError(
            f"data.hold_out is {count}, but there are {len(corpora)} corpora.",
            "Name validation text with data.valid_source and data.valid_target.",
        )
    whole = corpora[0]
    total = sum(1 for _ in whole)
    chosen = {int(index) + 1 for index in np.random.default_rng(0).permutation(total)[:count]}
    held_out = {line: pair for line, pair in whole.numbered() if line in chosen}
    rest = dataclasses.replace(
        whole,
        held_out=frozenset(held_out),
        without=frozenset(pair.stripped() for pair in held_out.values()),
    )
    if next(iter(rest), None) is None:
        raise ConfigError(
            f"data.hold_out is {count}, but there are {total} training pairs.",
            "Hold out fewer, so that some are left to train on.",
        )
    return rest, list(held_out), list(held_out.values())


def build_tokenizers(
    config: TokenizerConfig, train: Iterable[Pair], seed: int, tags: Sequence[str] = ()
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
    never_cut = list(dict.fromkeys([*config.new_pieces, *tags]))
    if config.source_model:
        source = Tokenizer.from_file(config.source_model)
        target = source if config.joint else Tokenizer.from_file(config.target_model)
        source, target = (add_pieces(side, never_cut).tokenizer for side in (source, target))
        return source, target
    pairs = evenly(train, config.sample_pairs, seed)
    sources = [pair.source for pair in pairs]
    targets = [pair.target for pair in pairs]
    if config.joint:
        joint = _train(config, sources + targets, seed, never_cut)
        return joint, joint
    return (
        _train(config, sources, seed, never_cut),
        _train(config, targets, seed, config.new_pieces),
    )


def evenly(pairs: Iterable[Pair], most: int, seed: int) -> list[Pair]:
    """Return all pairs if they are no more than that, else so many, each with the same chance.

    They are read once and stay in order (reservoir sampling).
    """
    rng = random.Random(seed)
    kept: list[tuple[int, Pair]] = []
    for number, pair in enumerate(pairs):
        if number < most:
            kept.append((number, pair))
        elif (place := rng.randrange(number + 1)) < most:
            kept[place] = (number, pair)
    return [pair for _, pair in sorted(kept)]


def _train(
    config: TokenizerConfig, texts: list[str], seed: int, never_cut: Sequence[str]
) -> Tokenizer:
    check_pieces(never_cut)
    check_room(never_cut, config.vocabulary_size)
    words = config.kind == "word"  # SentencePiece's symbols do not hold for them
    tokenizer = train_tokenizer(
        texts,
        kind=config.kind,
        vocabulary_size=config.vocabulary_size - len(never_cut) * words,
        byte_fallback=config.byte_fallback,
        character_coverage=config.character_coverage,
        normalization=config.normalization,
        seed=seed,
        symbols=() if words else never_cut,
    )
    return add_pieces(tokenizer, never_cut).tokenizer


def build_bundle(
    config: RunConfig, source: Tokenizer, target: Tokenizer, device: torch.device
) -> Bundle:
    """Build a freshly initialized model for these tokenizers, with the run's defaults."""
    if source != target:
        check_sharing(config)
    seed_random(device, config.training.seed)
    model_config = config.model.with_vocabulary(source.vocabulary_size, target.vocabulary_size)
    # A sentence longer than any in training is split: the model has never seen its positions.
    tag = max((len(source.encode(tag)) for tag in config.data.tags), default=0)
    limit = min(config.decoding.max_source_pieces, config.data.max_pieces + tag)
    return Bundle(
        config=model_config,
        model=Transformer.from_config(model_config).to(device),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=config.decoding.replace({"max_source_pieces": limit}),
        source_language=config.data.languages[0],
        target_language=config.data.languages[1],
    )


def check_positions(architecture: Architecture, encoded: EncodedTexts) -> None:
    """Refuse text that is longer than a learned table of positions."""
    if architecture.positions != "learned":
        return
    longest = 1 + max(
        encoded.train.longest()[1],
        *(len(ids) for pair in encoded.valid for ids in pair[:2]),
    )  # the start or end symbol has a position too
    if longest > architecture.max_positions:
        raise ConfigError(
            f"model.max_positions is {architecture.max_positions}, but the longest sentence takes "
            f"{longest} positions.",
            f"Raise it to {longest}, or lower data.max_pieces to {architecture.max_positions - 1}.",
        )
