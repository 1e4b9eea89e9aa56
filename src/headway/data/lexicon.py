"""Which piece translates which: IBM Model 1 (Brown et al. 1993, section 4.1), by counting.

The model writes a translation piece by piece. Each target piece comes from one piece of the source,
or from none (the empty word, NULL), all equally probable, with the probability t(target | source).
Expectation-maximization finds the t under which the text is most probable: the likelihood has one
maximum, and never falls on the way. Only pieces that occur in the same pair have a count.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
IdPair = tuple[Sequence[int], Sequence[int]]

_LINKS_AT_ONCE = 2**20  # of a source piece and a target piece in one pair


@dataclass(frozen=True, slots=True)
class Lexicon:
    """t(target | source) of pieces that share a pair, (P,) each, sorted by source, then target."""

    sources: Ints
    """Source pieces; NULL is the number of source pieces."""
    targets: Ints
    probabilities: Floats
    log_likelihoods: tuple[float, ...]
    """Of the text before each iteration, and after the last one."""


def learn_lexicon(
    pairs: Sequence[IdPair], source_size: int, target_size: int, iterations: int = 5
) -> Lexicon:
    """Find t(target | source) in pairs of piece ids.

    source_size, target_size: pieces of each vocabulary. A pair has (|source| + 1) * |target|
    links, NULL included. Time and memory grow with the number of all links, 4 bytes each, and of
    the different ones among them. Raises DataError if no pair has a target.
    """
    blocks, keys = _count(_Text.of(pairs, source_size), target_size)
    if not len(keys):
        raise DataError("There is no pair with a target.", "Give sentences with translations.")
    probabilities = np.full(len(keys), 1 / target_size)
    history = []
    for _ in range(iterations):
        counts, log_likelihood = _expect(blocks, probabilities)
        history.append(log_likelihood)
        probabilities = _normalized(counts, keys // target_size)
    history.append(_expect(blocks, probabilities)[1])
    return Lexicon(keys // target_size, keys % target_size, probabilities, tuple(history))


@dataclass(slots=True)
class _LinkBlock:
    """The links of some target pieces; those of one piece are neighbours."""

    links: NDArray[np.int32]
    """Which two pieces each of them links, (L,)."""
    starts: Ints
    """Where the links of each target piece begin, (N,)."""
    sizes: Ints


@dataclass(frozen=True, slots=True)
class _Text:
    """All pairs one after the other; each source begins with NULL."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    source_sizes: Ints
    target_sizes: Ints

    @classmethod
    def of(cls, pairs: Sequence[IdPair], null: int) -> "_Text":
        return cls(
            _joined([null, *source] for source, _ in pairs),
            _joined(target for _, target in pairs),
            np.array([len(source) + 1 for source, _ in pairs], dtype=np.int64),
            np.array([len(target) for _, target in pairs], dtype=np.int64),
        )

    def spans(self) -> Iterator[slice]:
        """Yield stretches of pairs with at most `_LINKS_AT_ONCE` links, or of a single pair."""
        links = (self.source_sizes * self.target_sizes).cumsum()
        begin = 0
        while begin < len(links):
            before = int(links[begin - 1]) if begin else 0
            end = int(np.searchsorted(links, before + _LINKS_AT_ONCE, "right"))
            yield slice(begin, max(end, begin + 1))
            begin = max(end, begin + 1)


def _count(text: _Text, target_size: int) -> tuple[list[_LinkBlock], Ints]:
    """Return all links, and source * target_size + target of the different ones, ascending."""
    blocks, keys_of_blocks = [], []
    first_source, first_target = _starts(text.source_sizes), _starts(text.target_sizes)
    for span in text.spans():
        counts = text.target_sizes[span]
        sizes = np.repeat(text.source_sizes[span], counts)  # (N,)
        starts = _starts(sizes)
        begin = first_target[span.start]
        targets = np.repeat(text.targets[begin : begin + len(sizes)], sizes)
        within = np.arange(len(targets)) - np.repeat(starts, sizes)
        sources = text.sources[np.repeat(np.repeat(first_source[span], counts), sizes) + within]
        keys, links = np.unique(
            sources.astype(np.int64) * target_size + targets, return_inverse=True
        )
        blocks.append(_LinkBlock(links.astype(np.int32), starts, sizes))
        keys_of_blocks.append(keys)
    all_keys = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys_of_blocks]))
    for block, keys in zip(blocks, keys_of_blocks, strict=True):
        block.links = np.searchsorted(all_keys, keys).astype(np.int32)[block.links]
    return [block for block in blocks if len(block.starts)], all_keys


def _expect(blocks: Sequence[_LinkBlock], probabilities: Floats) -> tuple[Floats, float]:
    """Return how often each two pieces are expected to be linked, and the log-likelihood."""
    counts, log_likelihood = np.zeros(len(probabilities)), 0.0
    for block in blocks:
        share = probabilities[block.links]
        total = np.add.reduceat(share, block.starts)  # (N,)
        log_likelihood += float(np.log(total / block.sizes).sum())
        share /= np.repeat(total, block.sizes)
        counts += np.bincount(block.links, weights=share, minlength=len(counts))
    return counts, log_likelihood


def _normalized(counts: Floats, sources: Ints) -> Floats:
    """Divide the counts by their sum for each source piece."""
    starts = np.flatnonzero(np.diff(sources, prepend=-1))
    sizes = np.diff(starts, append=len(sources))
    return counts / np.repeat(np.add.reduceat(counts, starts), sizes)


def _starts(sizes: Ints) -> Ints:
    return sizes.cumsum() - sizes


def _joined(sequences: Iterable[Sequence[int]]) -> NDArray[np.int32]:
    return np.fromiter((i for sequence in sequences for i in sequence), dtype=np.int32)
