"""Guesses of the next pieces of a translation, from counts in the training text.

A piece is probable if it often follows the last pieces, and if it translates a source piece. The
counts are a tree: the children of a node are the pieces that have followed the pieces on the path
to it. The model alone decides which guesses are right (`search_loop`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints
from headway.kernels.codegen.numba_compiler import compiled_exactly, inlined

Ids = NDArray[np.int32]

_LONGEST_CONTEXT = 3
_LEAST_CHANCE = np.float32(0.25)  # that all guesses up to this one are right, in benchmarks/log/085
_ANY_TRANSLATION = np.float32(0.02)  # for pieces that are not known to translate a source piece
_REPEATED = np.float32(0.3)  # factor for pieces that the translation already has


class Counts(NamedTuple):
    """How often pieces follow others, and which pieces translate which."""

    starts: Ints
    """Where the children of each node begin, and the end of the last, (N + 1,). The first nodes
    are the V pieces themselves."""
    pieces: Ids
    """The last piece of each node, ascending among its siblings, (N,)."""
    counts: Ids
    """How often the pieces of each node occur together, (N,)."""
    translation_starts: Ints
    """Where the translations of each source piece begin, and the end of the last."""
    translations: Ids
    probabilities: Floats


@compiled_exactly
def guess_pieces(
    starts: Ints,
    pieces: Ids,
    counts: Ids,
    translation_starts: Ints,
    translations: Ids,
    probabilities: Floats,
    source: Ids,
    ids: Ids,
    step: int,
    most: int,
    start: int,
    end: int,
    scratch: Floats,
    touched: Ints,
) -> None:
    """Write guesses after the first `step` pieces of a translation into `ids`; -1 ends them.

    The first arrays are those of `Counts`. source: the pieces of the sentence. ids: has room for
    `most` more pieces and the end. start and end: the special pieces; no piece follows `end`.
    scratch: zeros, (2, V). touched: scratch, (V,).
    """
    fitness, scores = scratch[0], scratch[1]
    for piece in source:
        for t in range(translation_starts[piece], translation_starts[piece + 1]):
            fitness[translations[t]] = max(fitness[translations[t]], probabilities[t])
    chance = np.float32(1.0)
    for place in range(step, step + most):
        size, free = 0, np.float32(1.0)
        for length in range(min(_LONGEST_CONTEXT, place + 1), 0, -1):
            node = _find(starts, pieces, ids, place - length, place, start)
            if node >= 0 and starts[node + 1] > starts[node]:
                first, last = starts[node], starts[node + 1]
                total = np.float32(0.0)
                for child in range(first, last):
                    total += np.float32(counts[child])
                # Witten and Bell 1991: a context that has had many followers has more new ones.
                kinds = np.float32(last - first)
                share = free / (total + kinds)
                for child in range(first, last):
                    piece = pieces[child]
                    if scores[piece] == 0:
                        touched[size] = piece
                        size += 1
                    scores[piece] += share * np.float32(counts[child])
                free *= kinds / (total + kinds)
        for s in range(place):
            if fitness[ids[s]] > _ANY_TRANSLATION:
                scores[ids[s]] *= _REPEATED
        best, top, total = -1, np.float32(0.0), np.float32(0.0)
        for i in range(size):
            piece = touched[i]
            score = scores[piece] * (fitness[piece] + _ANY_TRANSLATION)
            scores[piece] = np.float32(0.0)
            total += score
            if score > top:
                best, top = piece, score
        chance *= top / total if best >= 0 else np.float32(0.0)
        ids[place] = best if chance >= _LEAST_CHANCE else -1
        if ids[place] < 0 or best == end:
            break
    for piece in source:
        for t in range(translation_starts[piece], translation_starts[piece + 1]):
            fitness[translations[t]] = np.float32(0.0)


@inlined
def _find(starts: Ints, pieces: Ids, ids: Ids, first: int, last: int, start: int) -> int:
    """Return the node of pieces first to last; -1 if they do not occur. Piece -1 is the start."""
    node = np.int64(ids[first]) if first >= 0 else np.int64(start)
    for place in range(first + 1, last):
        low, high = starts[node], starts[node + 1]
        stop = high
        while low < high:
            middle = (low + high) // 2
            if pieces[middle] < ids[place]:
                low = middle + 1
            else:
                high = middle
        if low == stop or pieces[low] != ids[place]:
            return -1
        node = low
    return int(node)
