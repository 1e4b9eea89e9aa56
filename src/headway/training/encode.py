"""From text to pieces: cleaned, encoded, and kept where the next run finds them."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from headway.config.data import DataConfig
from headway.config.run import RunConfig
from headway.data.cleaning import Cleaning, CleaningReport, clean
from headway.data.corpus import Corpus, Pair
from headway.data.deck import Deck, IntArray
from headway.data.examining import CleaningRules, Examiner
from headway.data.ragged import Ragged
from headway.data.sampling import build_sampler
from headway.data.seen import Seen
from headway.data.store import (
    PairStore,
    StoreWriter,
    kept_store,
    made_once,
    open_store,
    partial_folder,
    write_store,
    writing_to,
)
from headway.data.tokenizer import Tokenizer
from headway.processes import cores, ending_is_named
from headway.training.prepare import EncodedTexts, Texts, build_tokenizers, untag
from headway.training.reporting import Reporter, Show
from headway.training.settings import cleaning_rules
from headway.training.stream import BatchStream, Resample

_FORM = 2  # of what is kept; another number makes all of it anew
_CHUNK = 10_000  # texts resampled at once
_MOST_PROCESSES = 8  # that clean and encode; one reads text for no more


def encode_texts(
    texts: Texts,
    source: Tokenizer,
    target: Tokenizer,
    data: DataConfig,
    *,
    kept: Path | None = None,
    keep_texts: bool = False,
    reporter: Reporter | None = None,
) -> EncodedTexts:
    """Clean and encode; validation pairs are dropped only where no loss could be computed.

    Training pairs are kept in the folder `data.shards`, if it is named, under a name made from
    the content of the files and all that decides how they are encoded. kept: where `keep_encoded`
    may have put the training pairs of this very run. keep_texts: for resampling.
    """
    rules = cleaning_rules(data)
    made = None  # where they are kept once they are made
    if data.shards:
        key = _key(texts, source, target, rules, keep_texts)
        kept = made = Path(data.directory) / data.shards / f"pairs-{key}"
    with made_once(made) if made and not kept_store(made) else nullcontext():
        if kept is not None and kept_store(kept):
            train, record = open_store(kept)
            report = CleaningReport(**record)
        else:
            writer = StoreWriter(
                made, vocabulary=max(len(source), len(target)), keep_texts=keep_texts
            )
            with writer, ending_is_named(), _preparing(reporter, "Encoding text") as show:
                train, report = _encode(texts.corpora, source, target, rules, writer, show)
    valid, valid_report = clean(
        untag(data.tag, texts.valid),
        source.encode_batch,
        target.encode_batch,
        rules=CleaningRules(max_pieces=data.max_pieces, too_long="cut"),
        lines=texts.valid_lines,
        name="Validation text: ",
    )
    tag = _tag(source, data.tag)
    valid = [pair._replace(source_ids=tag + pair.source_ids) for pair in valid]
    return EncodedTexts(train, valid, report, valid_report)


def keep_encoded(encoded: EncodedTexts, folder: Path) -> None:
    """Keep the training pairs of a run in its folder, if they are not there yet."""
    if not kept_store(folder):
        write_store(encoded.train, folder, asdict(encoded.report))


def find_tokenizers(
    config: RunConfig, texts: Texts, reporter: Reporter | None = None
) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of a run; those trained on the same text before, if they are kept."""
    data = config.data

    def build() -> tuple[Tokenizer, Tokenizer]:
        with _preparing(reporter, "Training a tokenizer") as show:
            pairs = _counted(chain.from_iterable(texts.corpora), show)
            return build_tokenizers(config.tokenizer, pairs, config.training.seed, data.tags)

    if config.tokenizer.source_model:
        sides = build()
        _say_unused(config, sides, reporter or Reporter(quiet=True))
        return sides
    if not data.shards:
        return build()
    settings = [config.tokenizer.model_dump(exclude={"sampling"}), config.training.seed, data.tags]
    folder = Path(data.directory) / data.shards / f"pieces-{_hash([*_origin(texts), settings])}"
    paths = [folder / "source.model", folder / "target.model"]
    with made_once(folder):
        if not folder.exists():
            sides = build()
            partial = partial_folder(folder)
            with writing_to(folder):
                for path, side in zip(paths, sides, strict=True):
                    (partial / path.name).write_bytes(side.to_bytes())
                partial.rename(folder)
    return Tokenizer.from_file(paths[0]), Tokenizer.from_file(paths[1])


def build_stream(
    config: RunConfig, texts: Texts, encoded: EncodedTexts, tokenizers: tuple[Tokenizer, Tokenizer]
) -> BatchStream:
    """Return the order of the training pairs: corpora by their weights, batches by length."""
    training, alpha = config.training, config.tokenizer.sampling
    weights = [corpus.weight for corpus in texts.corpora]
    return BatchStream(
        encoded.train,
        max_tokens=training.batch_tokens,
        accumulate=training.accumulate,
        seed=training.seed,
        deck=Deck(encoded.train.sizes, weights, training.seed),
        resample=None
        if alpha is None
        else resampling(texts, *tokenizers, alpha, config.data.max_pieces, _longest_side(config)),
    )


def _longest_side(config: RunConfig) -> int:
    """Return how many pieces a side may have, with its tag, after it is cut by chance.

    What was checked before the first step are the pieces as they were cut first.
    """
    longest = config.training.batch_tokens - 1
    if config.model.positions == "learned":
        longest = min(longest, config.model.max_positions - 1)
    return longest


def resampling(
    texts: Texts,
    source: Tokenizer,
    target: Tokenizer,
    alpha: float,
    max_pieces: int,
    longest_side: int,
) -> Resample:
    """Return what cuts the pairs of a block by chance, each time into other pieces.

    A pair keeps the pieces that it has if one side would have more than max_pieces, or with its tag
    more than longest_side.
    """
    source_sampler = build_sampler(source, alpha)
    target_sampler = source_sampler if source == target else build_sampler(target, alpha)
    tags = Ragged.of([_tag(source, corpus.tag) for corpus in texts.corpora])

    def resample(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> PairStore:
        starts = range(0, len(rows), _CHUNK)
        chunks = [cut(store, rows[i : i + _CHUNK], (*numbers, i)) for i in starts]
        sources, targets = (Ragged.joined(sides) for sides in zip(*chunks, strict=True))
        return PairStore(sources, targets, rows)

    def cut(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> tuple[Ragged, Ragged]:
        sources, targets = zip(*(store.text(row) for row in rows.tolist()), strict=True)
        seeds = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
        text = source_sampler.sample(sources, int(seeds[0]))
        source = tags.pick(store.corpora(rows)).beside(text)
        target = target_sampler.sample(targets, int(seeds[1]))
        fits = np.maximum(text.lengths(), target.lengths()) <= max_pieces
        fits &= np.maximum(source.lengths(), target.lengths()) <= longest_side
        kept = np.arange(len(rows)) + np.where(fits, 0, len(rows))
        return (
            Ragged.joined([source, store.source.pick(rows)]).pick(kept),
            Ragged.joined([target, store.target.pick(rows)]).pick(kept),
        )

    return resample


def _encode(
    corpora: list[Corpus],
    source: Tokenizer,
    target: Tokenizer,
    rules: CleaningRules,
    writer: StoreWriter,
    show: Show,
) -> tuple[PairStore, CleaningReport]:
    """Go through all training text once."""
    whole, seen = CleaningReport(), Seen()
    processes = min(cores(), _MOST_PROCESSES)
    for number, corpus in enumerate(corpora, start=1):
        examiner = Examiner(
            rules.reversed() if corpus.reverse else rules,
            source.encode_batch,
            target.encode_batch,
            target.normalize,
            corpus.without,
            corpus.tag,
        )
        cleaning = Cleaning(examiner, seen=seen, processes=processes)
        tag = _tag(source, corpus.tag)
        writer.begin_corpus()
        for some in cleaning.cleaned(corpus.candidates()):
            writer.add(some.with_tag(tag))
            show(whole.total + cleaning.report.total)
        name = f"corpus {number}: " if len(corpora) > 1 else ""
        cleaning.report.check(name)
        whole.include(cleaning.report, name)
    return writer.finish(asdict(whole)), whole


def _tag(source: Tokenizer, tag: str) -> list[int]:
    """Return the pieces that precede a source; the longest length is that of the text itself."""
    return source.encode(tag) if tag else []


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


def _preparing(reporter: Reporter | None, what: str) -> AbstractContextManager[Show]:
    return (reporter or Reporter(quiet=True)).preparing(what)


def _counted(pairs: Iterable[Pair], show: Show) -> Iterator[Pair]:
    """Yield the pairs, and show how many they are."""
    count = 0
    for count, pair in enumerate(pairs, start=1):
        yield pair
        if count % _CHUNK == 0:
            show(count)
    show(count)


def _key(
    texts: Texts, source: Tokenizer, target: Tokenizer, rules: CleaningRules, keep_texts: bool
) -> str:
    """Return a name for the encoded text that changes with everything that it depends on."""
    tokenizers = [hashlib.sha256(side.to_bytes()).hexdigest() for side in (source, target)]
    return _hash([*_origin(texts), asdict(rules), tokenizers, keep_texts])


def _origin(texts: Texts) -> list[Any]:
    """Return the content of the training text and how it is read, as plain values."""
    corpora = [
        [len(c.sources), len(c.targets), c.columns, c.fields, c.reverse, c.tag]
        for c in texts.corpora
    ]
    return [_FORM, texts.training_checksum, corpora, texts.valid_lines]


def _hash(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]
