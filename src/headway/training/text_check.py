"""What there is to say about the text of a run before it is trained on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from headway.config.data import DataConfig
from headway.data.corpus import Corpus, Pair
from headway.data.survey import Finding, other_scripts, overlap, survey
from headway.data.tokenizer import Tokenizer
from headway.training.texts import Texts, training_corpora, untag

_CHUNK = 10_000  # lines encoded at once
LOOKED_AT = 1_000_000  # pairs of each text that are looked at for what is suspicious


@dataclass(frozen=True, slots=True)
class Unknown:
    """How many pieces of a text the vocabulary does not know."""

    unknown: int
    pieces: int


@dataclass(frozen=True, slots=True)
class CorpusShare:
    """What is trained on of a corpus, and how much of the training that is."""

    files: list[str]
    """Those of its sources, then those of its targets, if they have files of their own."""
    reverse: bool
    tag: str
    weight: float
    pairs: int
    share: float
    """Of all pairs of an epoch, in the long run."""


def shares(corpora: Sequence[Corpus], sizes: Sequence[int]) -> list[CorpusShare]:
    """Return the share of each corpus of which so many pairs are left to train on."""
    dealt = [corpus.weight * size for corpus, size in zip(corpora, sizes, strict=True)]
    return [
        CorpusShare(
            files=[str(file) for file in corpus.files],
            reverse=corpus.reverse,
            tag=corpus.tag,
            weight=corpus.weight,
            pairs=size,
            share=pairs / sum(dealt),
        )
        for corpus, size, pairs in zip(corpora, sizes, dealt, strict=True)
    ]


def looked_at(
    data: DataConfig, texts: Texts, most: int | None = None
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield what each text is called and its pairs, or the first `most` of very many.

    most: a million if unset. Training text is as in its files, with what is held out of it, so
    that lines are those there. What is validated with is, too: without its tag.
    """
    corpora: list[tuple[str, Iterable[Pair]]] = [
        (f"training, corpus {number}", corpus)
        for number, corpus in enumerate(training_corpora(data), start=1)
    ]
    if len(corpora) == 1:
        corpora = [("training", corpora[0][1])]
    most = LOOKED_AT if most is None else most
    others = {"validation": texts.valid, "test": texts.test}
    untagged = [(name, untag(data.tag, pairs)) for name, pairs in others.items()]
    for name, pairs in (*corpora, *untagged):
        first = list(islice(pairs, most + 1))
        if len(first) > most:
            name, first = f"{name}, first {most:,} pairs", first[:most]
        if first:
            yield name, first


def is_held_out(name: str, texts: Texts) -> bool:
    """Tell whether a text is a part of the training text, and looked at there."""
    return name.startswith("validation") and texts.valid_lines is not None


def findings(pairs: dict[str, list[Pair]], texts: Texts, tag: str) -> dict[str, list[Finding]]:
    """Return what is suspicious; a source in text of another tag has another translation there.

    Corpora of one tag should have the scripts of the first of them.
    """
    train, others = (
        list(islice(chain.from_iterable(corpora), LOOKED_AT))
        for corpora in (
            [corpus for corpus in texts.corpora if corpus.tag == tag],
            [corpus for corpus in texts.corpora if corpus.tag != tag],
        )
    )
    found = {}
    of_tag: dict[str, tuple[int, list[Pair]]] = {}
    corpora = enumerate(texts.corpora, start=1)
    for name, some in pairs.items():
        if name.startswith("training"):
            number, corpus = next(corpora)
            first, usual = of_tag.setdefault(corpus.tag, (number, some))
            found[name] = survey(some) + other_scripts(usual, some, f"in corpus {first}")
        elif not is_held_out(name, texts):
            found[name] = survey(some) + overlap(train, some, others)
    return found


def unknown(pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer) -> Unknown:
    """Count the pieces of both sides."""
    sources, targets = zip(*pairs, strict=True)
    total = missing = 0
    for tokenizer, texts in ((source, sources), (target, targets)):
        for start in range(0, len(texts), _CHUNK):
            for ids in tokenizer.encode_batch(list(texts[start : start + _CHUNK])):
                total += len(ids)
                missing += tokenizer.unknown_count(ids)
    return Unknown(missing, total)
