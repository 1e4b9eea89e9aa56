"""The text of a run before training: findings, unknown pieces, shares of corpora."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from headway.config.data import DataConfig
from headway.data.corpus import Corpus, Pair
from headway.data.exchanged import exchanged_as_a_whole
from headway.data.finding import Finding, by_harm
from headway.data.form import Form
from headway.data.repeats import Repeats
from headway.data.survey import (
    Scripts,
    main_scripts,
    other_languages,
    other_scripts,
    overlap,
    survey,
    unrelated,
)
from headway.data.tokenizer import Tokenizer
from headway.data.trained_direction import TrainedDirection
from headway.data.two_languages import TwoLanguages
from headway.data.word_links import are_of_other_sources
from headway.errors import shown
from headway.training.corpora import training_corpora
from headway.training.texts import Texts, untag

_CHUNK = 10_000  # lines encoded at once
_NAMED = 10  # unknown texts
LOOKED_AT = 1_000_000  # most pairs of each text that are surveyed


@dataclass(frozen=True, slots=True)
class Unknown:
    """The pieces of a text that the vocabulary does not know."""

    unknown: int
    pieces: int
    different: int
    """Number of different characters (words for the kind `word`) that they stand for."""
    most: dict[str, int]
    """The ten most frequent of these, with their counts."""

    def __str__(self) -> str:
        """Return a sentence; invisible characters are escaped."""
        counted = f"{self.unknown:,} of {self.pieces:,} tokens unknown"
        named = ", ".join(f"{shown(text)} {times:,}" for text, times in self.most.items())
        more = ", …" if len(self.most) < self.different else ""
        return f"{counted}: {named}{more}" if named else counted


@dataclass(frozen=True, slots=True)
class CorpusShare:
    """The part of a corpus that is trained on, and its share of the training."""

    files: list[str]
    """Files of its sources, then those of its targets if these are separate."""
    reverse: bool
    tag: str
    weight: float
    pairs: int
    share: float
    """Of all pairs of an epoch, in the long run."""


def shares(corpora: Sequence[Corpus], sizes: Sequence[int]) -> list[CorpusShare]:
    """Return the share of each corpus in the training; sizes: its pairs after cleaning."""
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


class TextToCheck(NamedTuple):
    """A text that is surveyed, or its first pairs if it is very long."""

    name: str
    """Its name, such as `training, corpus 2`."""
    tag: str
    pairs: list[Pair]


def texts_to_check(
    data: DataConfig, texts: Texts, limit: int | None = None
) -> Iterator[TextToCheck]:
    """Yield each text, training text first, with at most `limit` pairs.

    limit: a million if unset. Training text is that of its files, held-out lines included, so that
    line numbers are those of the files. Validation and test text have no tag either.
    """
    corpora: list[tuple[str, str, Iterable[Pair]]] = [
        (f"training, corpus {number}", corpus.tag, corpus)
        for number, corpus in enumerate(training_corpora(data), start=1)
    ]
    if len(corpora) == 1:
        corpora = [("training", *corpora[0][1:])]
    limit = LOOKED_AT if limit is None else limit
    held_out = {"validation": texts.valid, "test": texts.test}
    untagged = [(name, data.tag, untag(data.tag, pairs)) for name, pairs in held_out.items()]
    for name, tag, pairs in (*corpora, *untagged):
        first = list(islice(pairs, limit + 1))
        if len(first) > limit:
            name, first = f"{name}, first {limit:,} pairs", first[:limit]
        if first:
            yield TextToCheck(name, tag, first)


def is_held_out(name: str, texts: Texts) -> bool:
    """Return True if a text is part of the training text, and surveyed there."""
    return name.startswith("validation") and texts.valid_lines is not None


def findings(
    data: DataConfig, texts: Texts, direction: TrainedDirection | None = None
) -> Iterator[tuple[str, list[Pair], list[Finding] | None]]:
    """Yield the name and pairs of each text to check, with its findings, worst first.

    Held-out text is surveyed as part of the training text, so its only findings are sources that
    the remaining text has with another translation; they are None if there are none. A source has
    another translation in training text of another tag, so only equal pairs are reported there.
    Corpora of one tag should have the scripts of the first of them, and
    that one those of the languages, or the direction of the model that training starts from.
    """
    usual: dict[str, _Usual] = {}
    repeats = Repeats()
    train: tuple[list[Pair], list[Pair]] | None = None
    for number, (name, tag, pairs) in enumerate(texts_to_check(data, texts), start=1):
        if name.startswith("training"):
            languages = TwoLanguages.of(pairs)
            problems = survey(pairs, languages)
            if tag in usual:
                first = usual[tag]
                where = f"corpus {first.number}"
                problems += exchanged_as_a_whole(pairs, first.languages, where) or other_scripts(
                    first.scripts, pairs, f"in {where}"
                )
            else:
                if tag == data.tag:
                    starts = direction.findings(pairs, data.languages) if direction else []
                    problems += starts or other_languages(data.languages, pairs)
                usual[tag] = _Usual(number, main_scripts(pairs), languages, Form(pairs))
            problems += repeats.of_next(pairs, tag)
            yield name, pairs, _with_examples(by_harm(problems), pairs)
        elif is_held_out(name, texts):
            train = train or _with_tag_and_without(texts.corpora, data.tag)
            shared = [f for f in overlap(train[0], pairs) if f.id == "source-in-training"]
            yield name, pairs, _with_examples(shared, pairs) or None
        else:
            train = train or _with_tag_and_without(texts.corpora, data.tag)
            suspicious = _of_held_out(pairs, train, usual[data.tag])
            yield name, pairs, _with_examples(suspicious, pairs)


def _with_examples(problems: Iterable[Finding], pairs: Sequence[Pair]) -> list[Finding]:
    return [problem.with_example(pairs) for problem in problems]


def _of_held_out(
    pairs: list[Pair], train: tuple[list[Pair], list[Pair]], usual: "_Usual"
) -> list[Finding]:
    """Return the findings in validation or test text, by itself and compared with training text."""
    problems = overlap(train[0], pairs, train[1])
    languages = usual.languages
    if exchanged := exchanged_as_a_whole(pairs, languages):
        # Its scripts add nothing to that, and single lines of it may still differ.
        problems = [problem for problem in problems if not problem.id.startswith("other-script")]
        languages = None
    else:
        problems += usual.form.unlike(pairs)
    by_itself = survey(pairs, languages)
    if not (exchanged or _are_moved(by_itself)) and are_of_other_sources(pairs, train[0]):
        problems.append(unrelated(len(pairs)))
    return by_harm(exchanged + problems + by_itself)


def _are_moved(problems: Iterable[Finding]) -> bool:
    return any(problem.id in ("misaligned", "unrelated") for problem in problems)


class _Usual(NamedTuple):
    """The properties of the first corpus of a tag; other text of the tag is compared with them."""

    number: int
    scripts: Scripts
    languages: TwoLanguages | None
    form: Form


def _with_tag_and_without(corpora: Sequence[Corpus], tag: str) -> tuple[list[Pair], list[Pair]]:
    """Return the first pairs of the corpora with this tag, and those of all others."""
    with_tag = (corpus for corpus in corpora if corpus.tag == tag)
    without = (corpus for corpus in corpora if corpus.tag != tag)
    first, second = (
        list(islice(chain.from_iterable(corpora), LOOKED_AT)) for corpora in (with_tag, without)
    )
    return first, second


def unknown(pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer) -> Unknown:
    """Count the unknown pieces of both sides."""
    sides = zip(*pairs, strict=True)
    total = missing = 0
    unknown_texts: Counter[str] = Counter()
    for tokenizer, texts in zip((source, target), sides, strict=True):
        for start in range(0, len(texts), _CHUNK):
            chunk = list(texts[start : start + _CHUNK])
            for text, ids in zip(chunk, tokenizer.encode_batch(chunk), strict=True):
                total += len(ids)
                if unknown_here := tokenizer.unknown_count(ids):
                    missing += unknown_here
                    unknown_texts.update(tokenizer.unknown_texts(text))
    most_frequent = dict(unknown_texts.most_common(_NAMED))
    return Unknown(missing, total, len(unknown_texts), most_frequent)
