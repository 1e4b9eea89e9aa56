"""From text to pieces: pairs are cleaned, encoded, and kept for the next run."""

import hashlib
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from headway.config.data import DataConfig
from headway.data.cleaning import Cleaning, CleaningReport, clean
from headway.data.corpus import Corpus
from headway.data.duplicates import Seen
from headway.data.encoded import EncodedPair
from headway.data.pair_rules import CleaningRules, Examiner
from headway.data.store import (
    PairStore,
    StoreWriter,
    kept_store,
    made_once,
    open_store,
    write_store,
)
from headway.data.tokenizer import Tokenizer
from headway.data.two_languages import TwoLanguages
from headway.runtime.processes import cores, ending_is_named
from headway.training.reporting import SILENT, Reporter, Show
from headway.training.settings import cleaning_rules
from headway.training.texts import Texts, untag

_LEARNED_FROM = 200_000  # pairs that teach the languages of a corpus
_MOST_PROCESSES = 8  # that clean and encode; the process that reads text feeds no more


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Pairs as ids, with the reports of cleaning."""

    train: PairStore
    valid: list[EncodedPair]
    report: CleaningReport
    valid_report: CleaningReport


def encode_texts(
    texts: Texts,
    source: Tokenizer,
    target: Tokenizer,
    data: DataConfig,
    *,
    kept: Path | None = None,
    keep_texts: bool = False,
    reporter: Reporter = SILENT,
) -> EncodedTexts:
    """Clean and encode; validation pairs are dropped only if no loss could be computed.

    If `data.shards` names a folder, training pairs are kept there, under a name that depends on the
    content of the files and on all settings of encoding. kept: where `keep_encoded` may have put
    the training pairs of this run. keep_texts: also keep the texts, for resampling.
    """
    rules = cleaning_rules(data)
    new_folder = None  # the folder for newly encoded pairs
    if data.shards:
        key = _key(texts, source, target, rules, keep_texts)
        kept = new_folder = Path(data.directory) / data.shards / f"pairs-{key}"
    with made_once(new_folder) if new_folder and not kept_store(new_folder) else nullcontext():
        if kept is not None and kept_store(kept):
            train, record = open_store(kept)
            report = CleaningReport(**record)
        else:
            writer = StoreWriter(
                new_folder, vocabulary=max(len(source), len(target)), keep_texts=keep_texts
            )
            with writer, ending_is_named(), reporter.preparing("Encoding text") as show:
                train, report = _encode(texts.corpora, source, target, rules, writer, show)
    valid: list[EncodedPair] = []
    valid_report = CleaningReport()
    if data.validates:
        valid, valid_report = clean(
            untag(data.tag, texts.valid),
            source.encode_batch,
            target.encode_batch,
            rules=CleaningRules(max_pieces=data.max_pieces, too_long="cut"),
            lines=texts.valid_lines,
            name="Validation text: ",
        )
    tag = source.encode(data.tag)
    valid = [pair._replace(source_ids=tag + pair.source_ids) for pair in valid]
    return EncodedTexts(train, valid, report, valid_report)


def keep_encoded(encoded: EncodedTexts, folder: Path) -> None:
    """Keep the training pairs of a run in its folder, unless it has them already."""
    if not kept_store(folder):
        write_store(encoded.train, folder, asdict(encoded.report))


def _encode(
    corpora: list[Corpus],
    source: Tokenizer,
    target: Tokenizer,
    rules: CleaningRules,
    writer: StoreWriter,
    show: Show,
) -> tuple[PairStore, CleaningReport]:
    """Clean and encode all training text."""
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
            _languages(corpus) if rules.drop_exchanged else None,
        )
        cleaning = Cleaning(examiner, seen=seen, processes=processes, near=corpus.near)
        tag = source.encode(corpus.tag)
        writer.begin_corpus()
        for chunk in cleaning.cleaned(corpus.candidates()):
            writer.add(chunk.with_tag(tag))
            show(whole.total + cleaning.report.total)
        name = f"corpus {number}: " if len(corpora) > 1 else ""
        cleaning.report.check(name)
        whole.include(cleaning.report, name)
    return writer.finish(asdict(whole)), whole


def _languages(corpus: Corpus) -> TwoLanguages | None:
    """Return the languages of a corpus, learned from its first pairs."""
    return TwoLanguages.of(list(islice(corpus, _LEARNED_FROM)))


def _key(
    texts: Texts, source: Tokenizer, target: Tokenizer, rules: CleaningRules, keep_texts: bool
) -> str:
    """Return a name of the encoded text that changes with everything that it depends on."""
    tokenizers = [hashlib.sha256(side.to_bytes()).hexdigest() for side in (source, target)]
    return texts.name_of_what_is_made(asdict(rules), tokenizers, keep_texts)
