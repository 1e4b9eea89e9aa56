"""The tokenizers of a run: given, kept by an earlier run, or trained on the training text."""

import dataclasses
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from headway.config.data import TokenizerConfig
from headway.config.run import RunConfig
from headway.counted import counted
from headway.data.corpus import Pair
from headway.data.store import made_once, partial_folder, writing_to
from headway.data.tokenizer import Tokenizer, VocabularyTooLargeError, train_tokenizer
from headway.data.vocabulary import add_pieces, check_pieces, check_room
from headway.errors import ConfigError
from headway.runtime.atomic_files import replace
from headway.training.reporting import SILENT, Reporter, Show
from headway.training.texts import Texts

_SHOWN = 10_000  # pairs from one sign of progress to the next


@dataclass(frozen=True, slots=True)
class FoundTokenizers:
    """The tokenizers of both sides, with what the user should know of them."""

    sides: tuple[Tokenizer, Tokenizer]
    summary: str = ""
    """How they were trained, if they were."""
    unused: list[str] = field(default_factory=list)
    """Settings that given tokenizers leave unused, in sentences."""
    largest: int | None = None
    """The size taken because the text gives fewer tokens than the default; else None."""

    @property
    def remarks(self) -> list[str]:
        """Return all sentences for the user."""
        return [*filter(None, [self.summary]), *self.notes]

    @property
    def notes(self) -> list[str]:
        """Return the sentences on settings."""
        if self.largest is None:
            return self.unused
        default = TokenizerConfig().vocabulary_size
        return [
            f"This text gives at most {self.largest:,} tokens, so the vocabulary has as many, not "
            f"{default:,}, the default of tokenizer.vocabulary_size.",
            *self.unused,
        ]

    def as_found(self, config: RunConfig) -> RunConfig:
        """Return the configuration with the size of the vocabulary that was taken."""
        return config if self.largest is None else _with_size(config, self.largest)


def find_tokenizers(
    config: RunConfig, texts: Texts, reporter: Reporter = SILENT
) -> FoundTokenizers:
    """Load the tokenizers that the configuration names, or train them on the training text.

    If `data.shards` names a folder, tokenizers trained on the same text before are read from it,
    and new ones are kept there. reporter: shows how many pairs have been read. Raises
    VocabularyTooLargeError if a size that is set is more than the text gives. If none is set, the
    largest possible one is taken then.
    """
    try:
        return _find(config, texts, reporter)
    except VocabularyTooLargeError as error:
        if "vocabulary_size" in config.tokenizer.model_fields_set:
            raise
        largest = error.most
    while True:  # with a vocabulary for each side, the other one may be smaller
        try:
            tokenizers = _find(_with_size(config, largest), texts, reporter)
        except VocabularyTooLargeError as error:
            largest = error.most
        else:
            return dataclasses.replace(tokenizers, largest=largest)


def _with_size(config: RunConfig, size: int) -> RunConfig:
    """Return the configuration with this size of the vocabulary."""
    tokenizer = config.tokenizer.replace({"vocabulary_size": size})
    return config.model_copy(update={"tokenizer": tokenizer})


def _find(config: RunConfig, texts: Texts, reporter: Reporter) -> FoundTokenizers:
    """Return the tokenizers of exactly this configuration."""
    data, tokenizer = config.data, config.tokenizer

    def build() -> FoundTokenizers:
        with reporter.preparing("Training a tokenizer") as show:
            pairs = _CountedPairs(chain.from_iterable(texts.corpora), show)
            sides = build_tokenizers(tokenizer, pairs, config.training.seed, data.tags)
        return FoundTokenizers(sides, _summary(tokenizer, pairs.with_text))

    if tokenizer.source_model:
        sides = build_tokenizers(tokenizer, (), config.training.seed, data.tags)
        return FoundTokenizers(sides, unused=_unused(tokenizer, sides))
    if not data.shards:
        return build()
    settings = [tokenizer.model_dump(exclude={"sampling"}), config.training.seed, data.tags]
    folder = Path(data.directory) / data.shards / f"pieces-{texts.name_of_what_is_made(settings)}"
    paths = [folder / "source.model", folder / "target.model"]
    summary = ""
    if not folder.exists():  # with both models there no lock is needed: it may be read-only
        with made_once(folder):
            if not folder.exists():
                trained = build()
                summary = trained.summary
                _keep(folder, dict(zip(paths, trained.sides, strict=True)))
    return FoundTokenizers((Tokenizer.from_file(paths[0]), Tokenizer.from_file(paths[1])), summary)


def _summary(config: TokenizerConfig, pairs: int) -> str:
    """Return one sentence about trained tokenizers; pairs: those with text on a side."""
    sampled = f", {config.sample_pairs:,} of them sampled" if pairs > config.sample_pairs else ""
    return (
        f"Tokenizer: {config.kind}, {config.vocabulary_size:,} tokens, trained on the text of "
        f"{counted(pairs, 'pair')}{sampled}, before any is dropped."
    )


def _keep(folder: Path, sides: dict[Path, Tokenizer]) -> None:
    """Write models of pieces into a folder, which appears only when it has both."""
    partial = partial_folder(folder)
    with writing_to(folder):
        for path, side in sides.items():
            (partial / path.name).write_bytes(side.to_bytes())
        replace(partial, folder)


def _unused(config: TokenizerConfig, sides: tuple[Tokenizer, Tokenizer]) -> list[str]:
    """Return the settings that are not used because models of pieces are given, in sentences."""
    paths = [path for path in (config.source_model, config.target_model) if path]
    sizes = {side.vocabulary_size for side in sides}
    unused = [
        f"tokenizer.{name}"
        for name in config.set_for_training
        if name != "vocabulary_size" or config.vocabulary_size not in sizes
    ]
    sentences = []
    if unused:
        models = f"{' and '.join(paths)} {'is' if len(paths) == 1 else 'are'} given"
        sentences.append(f"Not used, because {models}: {', '.join(unused)}.")
    if "kind" not in config.model_fields_set and config.sampling is None:
        return sentences
    sampling = f", and so is its sampling at {config.sampling}" if config.sampling else ""
    kinds = dict(zip(paths, (side.kind for side in sides), strict=False))
    return sentences + [
        f"tokenizer.kind '{config.kind}' is not used: {path} is of kind '{kind}'{sampling}."
        for path, kind in kinds.items()
        if kind != config.kind
    ]


class _CountedPairs:
    """Pairs that are counted and shown while they are read."""

    def __init__(self, pairs: Iterable[Pair], show: Show) -> None:
        self.pairs = pairs
        self.show = show
        self.count = 0
        self.with_text = 0

    def __iter__(self) -> Iterator[Pair]:
        for pair in self.pairs:
            self.count += 1
            self.with_text += any(map(str.strip, pair))
            yield pair
            if self.count % _SHOWN == 0:
                self.show(self.count)
        self.show(self.count)


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
            "tokenizer.source_model is given, but tokenizer.target_model is missing.",
            "Give both, or set tokenizer.joint to true.",
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


def evenly(pairs: Iterable[Pair], limit: int, seed: int) -> list[Pair]:
    """Return at most `limit` pairs, each with the same chance, in their order.

    The pairs are read once (reservoir sampling).
    """
    rng = random.Random(seed)
    sample: list[tuple[int, Pair]] = []
    for number, pair in enumerate(pairs):
        if number < limit:
            sample.append((number, pair))
        elif (place := rng.randrange(number + 1)) < limit:
            sample[place] = (number, pair)
    return [pair for _, pair in sorted(sample)]


def _train(
    config: TokenizerConfig, texts: list[str], seed: int, never_cut: Sequence[str]
) -> Tokenizer:
    check_pieces(never_cut)
    check_room(never_cut, config.vocabulary_size)
    words = config.kind == "word"  # they take no symbols of SentencePiece
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
