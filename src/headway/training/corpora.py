"""The corpora and tables that a configuration names, before they are read."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from headway.config.data import CorpusConfig, DataConfig
from headway.data.compression import StrPath
from headway.data.corpus import Corpus, matching_files, partners
from headway.data.hub import is_dataset


def training_corpora(data: DataConfig) -> list[Corpus]:
    """Return the training text of its files, before any is held out."""
    folder = Path(data.directory)
    corpora = []
    for corpus in data.corpora or [data]:
        if corpus.target:
            sources, targets = partners(folder, corpus.source, corpus.target)
        else:
            sources, targets = matching_files(folder, corpus.source), ()
        corpora.append(_corpus(data, corpus, sources, targets))
    return corpora


def _corpus(
    data: DataConfig,
    named: DataConfig | CorpusConfig,
    sources: Sequence[StrPath],
    targets: Sequence[StrPath],
) -> Corpus:
    """Return the text in these files, read with the settings of `named`."""
    return Corpus(
        tuple(sources),
        tuple(targets),
        columns=(named.source_column - 1, named.target_column - 1),
        fields=(named.source_field, named.target_field),
        languages=(data.source_language, data.target_language),
        reverse=named.reverse != (data.reverse and named is not data),
        tag=named.tag,
        weight=named.weight if isinstance(named, CorpusConfig) else 1.0,
    )


def tables(data: DataConfig) -> Iterator[tuple[StrPath, Corpus]]:
    """Yield each file with both sides, with a corpus that says how it is read."""
    return tables_of(data, training_corpora(data))


def tables_of(data: DataConfig, corpora: Sequence[Corpus]) -> Iterator[tuple[StrPath, Corpus]]:
    """Yield the same; corpora: the training text."""
    folder = Path(data.directory)
    texts = [(data.valid_source, data.valid_target), (data.test_source, data.test_target)]
    names = [source for source, target in texts if source and not target]
    files = [name if is_dataset(name) else folder / name for name in names]
    for corpus in (*corpora, _corpus(data, data, files, ())):
        if not corpus.targets:
            yield from ((file, corpus) for file in corpus.sources)
