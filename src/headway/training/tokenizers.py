"""The tokenizers of a run: given, found where an earlier run left them, or trained on its text."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from headway.config.data import TokenizerConfig
from headway.config.run import RunConfig
from headway.counted import counted
from headway.data.corpus import Pair
from headway.data.store import made_once, partial_folder, writing_to
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.data.vocabulary import add_pieces, check_pieces, check_room
from headway.errors import ConfigError
from headway.runtime.atomic_files import replace
from headway.training.reporting import SILENT, Reporter, Show
from headway.training.texts import Texts

_SHOWN = 10_000  # pairs after which their number is shown anew


def find_tokenizers(
    config: RunConfig, texts: Texts, reporter: Reporter = SILENT
) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of a run; those trained on the same text before, if they are kept."""
    data, tokenizer = config.data, config.tokenizer

    def say(count: int) -> None:
        most = f", {tokenizer.sample_pairs:,} of them sampled" * (count > tokenizer.sample_pairs)
        reporter.say(
            f"Training a tokenizer: {tokenizer.kind}, {tokenizer.vocabulary_size:,} pieces, from "
            f"{counted(count, 'pair')}{most}."
        )

    def build() -> tuple[Tokenizer, Tokenizer]:
        with reporter.preparing("Training a tokenizer") as show:
            pairs = _counted(chain.from_iterable(texts.corpora), show, say)
            return build_tokenizers(config.tokenizer, pairs, config.training.seed, data.tags)

    if config.tokenizer.source_model:
        sides = build()
        _say_unused(config, sides, reporter)
        return sides
    if not data.shards:
        return build()
    settings = [config.tokenizer.model_dump(exclude={"sampling"}), config.training.seed, data.tags]
    name = texts.name_of_what_is_made(settings)
    folder = Path(data.directory) / data.shards / f"pieces-{name}"
    paths = [folder / "source.model", folder / "target.model"]
    if not folder.exists():  # nor is a lock written where all is there, and may be read only
        with made_once(folder):
            if not folder.exists():
                _keep(folder, dict(zip(paths, build(), strict=True)))
    return Tokenizer.from_file(paths[0]), Tokenizer.from_file(paths[1])


def _keep(folder: Path, sides: dict[Path, Tokenizer]) -> None:
    """Write models of pieces into a folder that is there only when it has both."""
    partial = partial_folder(folder)
    with writing_to(folder):
        for path, side in sides.items():
            (partial / path.name).write_bytes(side.to_bytes())
        replace(partial, folder)


def _say_unused(config: RunConfig, sides: tuple[Tokenizer, Tokenizer], reporter: Reporter) -> None:
    """Say what was set that is not used, where models of pieces are given."""
    tokenizer = config.tokenizer
    paths = [path for path in (tokenizer.source_model, tokenizer.target_model) if path]
    sizes = {side.vocabulary_size for side in sides}
    unused = [
        f"tokenizer.{name}"
        for name in tokenizer.set_for_training
        if name != "vocabulary_size" or tokenizer.vocabulary_size not in sizes
    ]
    if unused:
        reporter.say(f"Not used, for {' and '.join(paths)} is given: {', '.join(unused)}.")
    if "kind" not in tokenizer.model_fields_set and tokenizer.sampling is None:
        return
    sampled = f", and so is its sampling at {tokenizer.sampling}" if tokenizer.sampling else ""
    for path, kind in dict(zip(paths, (side.kind for side in sides), strict=False)).items():
        if kind != tokenizer.kind:
            reporter.say(
                f"tokenizer.kind '{tokenizer.kind}' is not used: {path} is of kind '{kind}'"
                f"{sampled}."
            )


def _counted(pairs: Iterable[Pair], show: Show, say: Show) -> Iterator[Pair]:
    """Yield the pairs, and show how many they are; say it once all have been read."""
    count = 0
    for count, pair in enumerate(pairs, start=1):
        yield pair
        if count % _SHOWN == 0:
            show(count)
    show(count)
    say(count)


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
