"""Counts of the training text by which a search guesses the next pieces of a translation.

How often a piece follows others is a tree: the children of a node are the pieces that have followed
the pieces on the way to it. Which piece translates which is the table of IBM Model 1. The guesses
are made by `headway.kernels.drafts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from headway.data.lexicon import IdPair, learn_lexicon
from headway.data.shortlist import choose_pairs
from headway.data.tokenizer import END_ID, START_ID
from headway.errors import DataError

Ints = NDArray[np.int64]

_LONGEST = 4  # pieces that are counted together
_MOST_NODES = 2**20  # 12 bytes each
_MOST_TRANSLATIONS = 10  # of a source piece
_LEAST_PROBABILITY = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class DraftCounts:
    """Which pieces follow others, and which pieces translate which."""

    starts: Ints
    """Where the children of each node begin, and the end of the last, (N + 1,). The first nodes are
    the pieces of the target vocabulary."""
    pieces: NDArray[np.int32]
    """The last piece of each node, ascending among the children of a node, (N,)."""
    counts: NDArray[np.int32]
    """How often the pieces of each node occur one after the other, (N,)."""
    translation_starts: Ints
    """Where the translations of each source piece begin, and the end of the last, (V + 1,)."""
    translations: NDArray[np.int32]
    """Target pieces of source piece s: translations[starts[s] : starts[s + 1]]."""
    probabilities: NDArray[np.float32]
    """t(target piece | source piece) of each translation."""
    target_size: int
    """Pieces of the target vocabulary."""

    def to_bytes(self) -> bytes:
        """Return the content of a safetensors file."""
        return save_safetensors(
            {name: getattr(self, name).astype(kind) for name, kind in _TENSORS.items()}
        )

    @classmethod
    def from_bytes(cls, data: bytes, source_size: int, target_size: int) -> "DraftCounts":
        """Return the counts in a file's content; DataError if they are not for these sizes."""
        try:
            tensors = load_safetensors(data)
        except SafetensorError:
            raise DataError("It is not a safetensors file.") from None
        if {name: (t.dtype, t.ndim) for name, t in tensors.items()} != {
            name: (np.dtype(kind), 1) for name, kind in _TENSORS.items()
        }:
            raise DataError(f"It does not hold {', '.join(_TENSORS)}, in one dimension each.")
        starts, pieces, counts, translation_starts, translations, probabilities = (
            tensors[name] for name in _TENSORS
        )
        if len(translation_starts) != source_size + 1:
            raise DataError(
                f"It is for {len(translation_starts) - 1} source tokens, but the model has "
                f"{source_size}."
            )
        if len(pieces) < target_size or not np.array_equal(
            pieces[:target_size], np.arange(target_size)
        ):
            raise DataError(f"It does not begin with the {target_size} target tokens.")
        if not len(starts) - 1 == len(counts) == len(pieces) or (counts[target_size:] < 1).any():
            raise DataError("It does not have a count for each token.")
        for places, first, last in (
            (starts, target_size, len(pieces)),
            (translation_starts, 0, len(translations)),
        ):
            if places[0] != first or places[-1] != last or (places[1:] < places[:-1]).any():
                raise DataError("Its tokens do not follow one another.")
        for ids in (pieces, translations):
            if len(ids) and not 0 <= ids.min() <= ids.max() < target_size:
                raise DataError(f"It has tokens beyond the {target_size} of the model.")
        if (
            len(probabilities) != len(translations)
            or not ((probabilities >= 0) & (probabilities <= 1)).all()
        ):
            raise DataError("It does not have a probability for each translation.")
        return cls(
            starts.astype(np.int64), pieces, counts,
            translation_starts.astype(np.int64), translations, probabilities, target_size,
        )  # fmt: skip


_TENSORS = {
    "starts": np.int32,
    "pieces": np.int32,
    "counts": np.int32,
    "translation_starts": np.int32,
    "translations": np.int32,
    "probabilities": np.float32,
}


def count_drafts(
    pairs: Sequence[IdPair], source_size: int, target_size: int, *, least: int = 2
) -> DraftCounts:
    """Count in pairs of piece ids, without the special pieces at the ends.

    source_size, target_size: pieces of the model's vocabularies. least: how often up to four pieces
    must occur together; more often if they would be more than a million nodes. Only the pairs of
    `choose_pairs` are counted. Raises DataError if no pair has a target.
    """
    chosen = [(source, [*target, END_ID]) for source, target in choose_pairs(pairs)]
    lexicon = learn_lexicon(chosen, source_size, target_size)
    texts = [target for _, target in chosen]
    starts, pieces, counts = _tree(texts, target_size, least)
    while len(pieces) - target_size > _MOST_NODES:
        least += 1
        starts, pieces, counts = _tree(texts, target_size, least)
    order = np.lexsort((-lexicon.probabilities, lexicon.sources))
    sources, probabilities = lexicon.sources[order], lexicon.probabilities[order]
    rank = np.arange(len(order)) - np.searchsorted(sources, sources)
    kept = (sources < source_size) & (rank < _MOST_TRANSLATIONS)
    kept &= probabilities >= _LEAST_PROBABILITY
    return DraftCounts(
        starts, pieces, counts,
        np.searchsorted(sources[kept], np.arange(source_size + 1)),
        lexicon.targets[order][kept].astype(np.int32), probabilities[kept].astype(np.float32),
        target_size,
    )  # fmt: skip


def _tree(
    texts: Sequence[Sequence[int]], target_size: int, least: int
) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Return starts, pieces and counts of `DraftCounts`; nodes below `least` are left out.

    The nodes of one more piece follow those of one less, so that children are neighbours.
    """
    sizes = np.array([len(text) + 1 for text in texts])
    flat = np.fromiter((i for text in texts for i in (START_ID, *text)), np.int64)
    left = np.repeat(sizes.cumsum(), sizes) - np.arange(len(flat))  # pieces from each place on
    places, nodes = np.arange(len(flat)), flat
    pieces, counts = [np.arange(target_size)], [np.bincount(flat, minlength=target_size)]
    parents, size = [], target_size
    for length in range(2, _LONGEST + 1):
        inside = left[places] >= length
        places, nodes = places[inside], nodes[inside]
        keys = nodes * target_size + flat[places + length - 1]
        keys, which, often = np.unique(keys, return_inverse=True, return_counts=True)
        kept = often >= least
        numbers = size - 1 + kept.cumsum()
        parents.append(keys[kept] // target_size)
        pieces.append(keys[kept] % target_size)
        counts.append(often[kept])
        places, nodes = places[kept[which]], numbers[which][kept[which]]
        size += int(kept.sum())
    starts = target_size + np.searchsorted(np.concatenate(parents), np.arange(size + 1))
    return starts, np.concatenate(pieces).astype(np.int32), np.concatenate(counts).astype(np.int32)
