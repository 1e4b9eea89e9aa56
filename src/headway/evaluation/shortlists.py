"""A shortlist for a model: learned from text, with its coverage and its effect on translations."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from headway.bundle import Bundle
from headway.data.shortlist import choose_pairs, learn_shortlist
from headway.data.texts import as_texts
from headway.data.tokenizer import UNK_ID
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, DataError
from headway.evaluation.metrics import Score, check_metrics, score_texts


@dataclass(frozen=True, slots=True)
class ShortlistCoverage:
    """The part of some references that could be written with the shortlist."""

    sentences: int
    pieces: int
    """Of all references."""
    covered_pieces: float
    """Share of the pieces that are in the list of their sentence."""
    covered_sentences: float
    """Share of the sentences with all of their pieces in the list."""
    mean_size: float
    """Average number of pieces in the list of a sentence."""
    largest_size: int
    vocabulary: int
    """Number of all target pieces."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the same for people."""
        return [
            f"Covered: {self.covered_pieces:.2%} of {self.pieces:,} tokens of the references; "
            f"all tokens of {self.covered_sentences:.1%} of {self.sentences:,} sentences",
            f"List of a sentence: {self.mean_size:,.0f} tokens on average, "
            f"{self.largest_size:,} at most, of {self.vocabulary:,}",
        ]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a shortlist on translations."""

    without: list[Score]
    restricted: list[Score]
    changed: float
    """Share of translations whose text differs."""
    seconds_without: float
    seconds_restricted: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "without": [score.as_dict() for score in self.without],
            "restricted": [score.as_dict() for score in self.restricted],
            "changed": self.changed,
            "seconds_without": round(self.seconds_without, 2),
            "seconds_restricted": round(self.seconds_restricted, 2),
        }

    def lines(self) -> list[str]:
        """Return the same for people."""
        return [
            f"Changed: {self.changed:.1%} of the translations; "
            f"{self.seconds_restricted:.1f} s with the shortlist, {self.seconds_without:.1f} s "
            "without",
            *(
                f"{after.name}: {after.value:.2f} with, {before.value:.2f} without "
                f"({after.value - before.value:+.2f})  {after.signature}"
                for before, after in zip(self.without, self.restricted, strict=True)
            ),
        ]


def with_shortlist(
    bundle: Bundle,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    frequent: int = 100,
    per_piece: int = 100,
    min_probability: float = 0.0,
) -> Bundle:
    """Return the bundle with a shortlist that is learned from parallel text.

    The numbers are those of `headway.data.shortlist.learn_shortlist`. The bundle's record has them,
    the number of pairs that were learned from, and the number of all pairs.
    """
    sources, targets = _sides(sources, targets, "target")
    source, target = bundle.source_tokenizer, bundle.target_tokenizer
    ids = list(zip(source.encode_batch(sources), target.encode_batch(targets), strict=True))
    numbers: dict[str, Any] = {
        "frequent": frequent, "per_piece": per_piece, "min_probability": min_probability
    }  # fmt: skip
    shortlist = learn_shortlist(ids, source, target, **numbers)
    learned = {"pairs": len(choose_pairs(ids)), "pairs_given": len(ids), **numbers}
    return replace(bundle, shortlist=shortlist, record=bundle.record | {"shortlist": learned})


def coverage(
    bundle: Bundle, sources: Iterable[str], references: Iterable[str]
) -> ShortlistCoverage:
    """Count which pieces of the references are in the lists of their sources.

    Raises ConfigError if the bundle has no shortlist, DataError if nothing can be counted.
    """
    if bundle.shortlist is None:
        raise ConfigError("The model has no shortlist.", "Learn one with `headway shortlist`.")
    sources, references = _sides(sources, references, "reference")
    lists = map(bundle.shortlist.pieces_for, bundle.source_tokenizer.encode_batch(sources))
    targets = bundle.target_tokenizer.encode_batch(references)
    sizes, covered = [], []
    for pieces, target in zip(lists, targets, strict=True):
        sizes.append(len(pieces))
        is_known = np.asarray(target) != UNK_ID  # the unknown piece is never written
        covered.append(int((np.isin(target, pieces) & is_known).sum()))
    lengths = [len(target) for target in targets]
    if not sum(lengths):
        raise DataError("The references have no token.", "Give sentences with translations.")
    return ShortlistCoverage(
        sentences=len(sizes),
        pieces=sum(lengths),
        covered_pieces=sum(covered) / sum(lengths),
        covered_sentences=float(np.mean(np.equal(covered, lengths))),
        mean_size=float(np.mean(sizes)),
        largest_size=max(sizes),
        vocabulary=len(bundle.target_tokenizer),
    )


def _sides(sources: Iterable[str], texts: Iterable[str], name: str) -> tuple[list[str], list[str]]:
    """Return both sides as lists; DataError unless they are texts of the same number."""
    first, second = as_texts(sources, "sources"), as_texts(texts, f"{name}s")
    if len(first) != len(second):
        raise DataError(
            f"There are {len(first):,} sources and {len(second):,} {name}s.",
            f"Give one {name} for each source, in the same order.",
        )
    return first, second


def effect(
    translator: TextTranslator,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    metrics: Iterable[str] = ("bleu", "chrf"),
    tokenize: str = "13a",
) -> Effect:
    """Translate with the shortlist and without it, and compare.

    metrics, tokenize: see `headway.score_texts`.
    """
    metrics = check_metrics(metrics, tokenize)  # before the work, not after it
    sources, references = _sides(sources, references, "reference")
    texts: list[list[str]] = []
    seconds = []
    choices = [replace(translator.options, shortlist=shortlist) for shortlist in (False, True)]
    search = partial(translator.translate, mend_runaways=False, split_sentences=False)
    for options in choices:  # the time to compile code at its first use does not count
        search(sources[:2], options=options)
    for options in choices:
        started = time.perf_counter()
        translations = search(sources, options=options)
        texts.append([translation.text for translation in translations])
        seconds.append(time.perf_counter() - started)
    without, restricted = (score_texts(text, references, metrics, tokenize) for text in texts)
    changed = sum(map(str.__ne__, *texts))
    return Effect(without, restricted, changed / len(texts[0]), seconds[0], seconds[1])
