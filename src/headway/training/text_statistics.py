"""Statistics of text that need no model: frequencies of pieces, sentences and script of sources."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.scripts import main_script
from headway.data.sentences import split_sentences, splitting_language
from headway.data.store import PairStore
from headway.data.tokenizer import END_ID

_CHUNK = 1 << 20  # pieces counted at once; counting widens them
_LOOKED_AT, _SAMPLED = 100_000, 2000  # pairs of a corpus
_USUAL = 95  # percent of lines with the usual number of sentences or fewer
_IN_SCRIPT = 0.9  # share of sources in one script

Pairs = PairStore | Sequence[EncodedPair]


def frequency_loss(train: Pairs, valid: Pairs, vocabulary: int) -> float:
    """Return the loss on validation text of the frequencies of pieces in training text.

    A model whose loss is not below this knows only which pieces are frequent. One is added to each
    count, so that a piece without an occurrence has a probability too.
    """
    counts = piece_counts(train, "target", vocabulary)
    counts[END_ID] += len(train)
    pieces = piece_counts(valid, "target", vocabulary)
    pieces[END_ID] += len(valid)
    nlls = math.log(counts.sum() + vocabulary) - np.log(counts + 1)
    return float((pieces * nlls).sum() / pieces.sum())


def piece_counts(pairs: Pairs, side: str, vocabulary: int) -> NDArray[Any]:
    """Return the count of each piece on a side, without start and end symbols."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for values in _values(pairs, side):
        longer = np.bincount(values, minlength=len(counts))
        longer[: len(counts)] += counts
        counts = longer
    return counts


def _values(pairs: Pairs, side: str) -> Iterator[NDArray[Any]]:
    """Yield the pieces of a side in chunks."""
    if isinstance(pairs, PairStore):
        values = (pairs.source if side == "source" else pairs.target).values
        for start in range(0, len(values), _CHUNK):
            yield values[start : start + _CHUNK]
        return
    for start in range(0, len(pairs), _CHUNK // 64):
        rows = (getattr(pair, f"{side}_ids") for pair in pairs[start : start + _CHUNK // 64])
        yield np.fromiter(chain.from_iterable(rows), dtype=np.int64)


def describe_sources(corpora: Iterable[Iterable[Pair]], language: str) -> dict[str, Any]:
    """Return facts about training text, most on its sources, as a bundle records them.

    `several_sentences` is the share of sources with more than one sentence, and `usual_sentences`
    the number that 95 % of them do not exceed. `source_script` is the script of nine in ten of the
    sources with letters, such as `HANGUL`, and empty if there is none; `target_script` is that of
    the targets. At most 2,000 pairs of each corpus are looked at, at even distances in its first
    100,000 pairs. language: its name, or its code.
    """
    code = splitting_language(language)
    counts: list[int] = []
    scripts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for corpus in corpora:
        pairs = list(islice(corpus, _LOOKED_AT))
        for source, target in pairs[:: -(-len(pairs) // _SAMPLED) or 1]:
            counts.append(len(split_sentences(source, code)))
            scripts[0][main_script(source)] += 1
            scripts[1][main_script(target)] += 1
    several = sum(count > 1 for count in counts) / max(len(counts), 1)
    usual = np.percentile(counts or [1], _USUAL, method="inverted_cdf")
    return {
        "several_sentences": round(several, 4),
        "usual_sentences": int(usual),
        "source_script": _script_of_most(scripts[0]),
        "target_script": _script_of_most(scripts[1]),
    }


def _script_of_most(scripts: Counter[str]) -> str:
    """Return the script of nine in ten of the lines with letters; empty if there is none."""
    del scripts[""]
    total = scripts.total()
    return next((script for script, lines in scripts.items() if lines >= _IN_SCRIPT * total), "")
