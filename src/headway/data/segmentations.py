"""Draw among all the ways to cut a word into unigram pieces (Kudo 2018).

Forward filtering, backward sampling: the first pass goes through a word from its beginning, and
sums the weights of all ways to each place. The second pass goes back from the end, and draws one
piece after the other by these sums. Both passes work on thousands of words at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headway.data.ragged import Ints, Ragged, starts_of
from headway.data.sampler import Sampler, code_points
from headway.data.tokenizer import Tokenizer

_UNKNOWN_PENALTY = 10.0  # SentencePiece's, below the lowest score of a piece
_CODE_POINT = 21  # bits

Floats = NDArray[np.float64]


class UnigramSampler(Sampler):
    """Draws among all segmentations, each with its probability to the power alpha.

    Kudo, "Subword Regularization" (2018), with all segmentations instead of the l best.
    """

    def __init__(self, tokenizer: Tokenizer, alpha: float) -> None:
        """Prepare to draw; a large alpha always finds the most probable segmentation."""
        super().__init__(tokenizer)
        normal = self.scores[list(self.ids.values())]
        unknown = normal.min(initial=0.0) - _UNKNOWN_PENALTY
        self._weights = alpha * np.append(self.scores, unknown)  # logarithms, by id
        self._pieces = Trie(self.ids)

    def cut(self, words: Sequence[str], drawn: Ints, rng: np.random.Generator) -> Ragged:
        """Return the codes of each drawn word."""
        return self._lattice(code_points(words)).draw(drawn, rng)

    def _lattice(self, words: Ragged) -> "Lattice":
        """Return every piece that fits into these words.

        A word of n characters has n + 1 places, so the places of word w are shifted by w.
        """
        lengths = words.lengths()
        word_of = np.repeat(np.arange(len(words)), lengths)
        word_ends = words.starts[1:][word_of]
        matches = list(self._pieces.matches(words.values, word_ends))
        single = np.zeros(len(words.values), dtype=bool)
        for starts, length, _ in matches[:1]:
            assert length == 1
            single[starts] = True
        alone = np.flatnonzero(~single)
        starts = np.concatenate([*(starts for starts, _, _ in matches), alone])
        codes = np.concatenate(
            [*(ids for _, _, ids in matches), self.num_pieces + words.values[alone]]
        )
        lengths_of_pieces = [np.full(len(starts), length) for starts, length, _ in matches]
        ends = starts + np.concatenate([*lengths_of_pieces, np.ones_like(alone)])
        weights = self._weights[np.minimum(codes, self.num_pieces)]
        depths = ends - words.starts[word_of[starts]]
        shift = word_of[starts]
        return Lattice.of(
            starts + shift,
            ends + shift,
            depths,
            codes,
            weights,
            words.starts + np.arange(len(words) + 1),
        )


class Trie:
    """Finds the pieces that begin at each character."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        """Take the text and the id of each piece."""
        children: dict[int, int] = {}  # node and code point to node
        ends = [-1]  # the id of the piece that ends at a node
        for text, i in ids.items():
            node = 0
            for character in text:
                key = node << _CODE_POINT | ord(character)
                node = children.setdefault(key, len(ends))
                if node == len(ends):
                    ends.append(-1)
            ends[node] = i
        self._keys = np.array(sorted(children), dtype=np.int64)
        self._children = np.array([children[key] for key in sorted(children)], dtype=np.int64)
        self._ends = np.array(ends, dtype=np.int64)

    def matches(self, points: Ints, word_ends: Ints) -> Iterator[tuple[Ints, int, Ints]]:
        """Yield, length by length, where pieces of that length begin, the length, and their ids.

        word_ends: where the word of each character ends; no piece goes beyond.
        """
        starts, nodes, length = np.arange(len(points)), np.zeros(len(points), dtype=np.int64), 0
        while len(starts) and len(self._keys):
            keys = nodes << _CODE_POINT | points[starts + length]
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            known = self._keys[places] == keys
            starts, nodes = starts[known], self._children[places[known]]
            length += 1
            ids = self._ends[nodes]
            yield starts[ids >= 0], length, ids[ids >= 0]
            inside = starts + length < word_ends[starts]
            starts, nodes = starts[inside], nodes[inside]


@dataclass(frozen=True, slots=True)
class Lattice:
    """The pieces that fit into some words, sorted by where they end."""

    starts: Ints
    """The place where each piece begins."""
    codes: Ints
    bounds: Floats
    """Places where pieces end are numbered. The pieces that end at number g divide the interval
    from g to g + 1 by their probabilities; this is where the part of each piece ends."""
    numbers: Ints
    """The number of each place where pieces end."""
    lasts: Ints
    """The last piece that ends at number g."""
    word_starts: Ints
    """The first place of each word, and the place after the last word."""

    @classmethod
    def of(
        cls, starts: Ints, ends: Ints, depths: Ints, codes: Ints, weights: Floats, word_starts: Ints
    ) -> "Lattice":
        """Compute the shares; depths are the distances from a word's beginning to a piece's end."""
        num_places = int(word_starts[-1])
        order = np.argsort(depths * num_places + ends, kind="stable")
        starts, ends, depths = starts[order], ends[order], depths[order]
        codes, weights = codes[order], weights[order]
        firsts = np.flatnonzero(np.diff(ends, prepend=-1))  # of those that end at one place
        counts = np.diff(firsts, append=len(ends))
        numbers = np.zeros(num_places, dtype=np.int64)
        numbers[ends[firsts]] = np.arange(len(firsts))
        bounds = np.empty(len(ends))
        forward = np.zeros(num_places)  # logarithm of the summed weights of all ways to a place
        changes = np.flatnonzero(np.diff(depths[firsts], prepend=0, append=0))
        for first, last in pairwise(changes):
            begin, count = firsts[first], counts[first:last]
            pieces = slice(begin, begin + count.sum())
            groups = firsts[first:last] - begin
            logs = forward[starts[pieces]] + weights[pieces]
            most = np.maximum.reduceat(logs, groups)
            shares = np.exp(logs - np.repeat(most, count))
            totals = np.add.reduceat(shares, groups)
            forward[ends[firsts[first:last]]] = most + np.log(totals)
            shares /= np.repeat(totals, count)
            summed = np.cumsum(shares)
            summed -= np.repeat(summed[groups] - shares[groups], count)
            bounds[pieces] = np.repeat(np.arange(first, last), count) + summed.clip(0.0, 1.0)
        return cls(starts, codes, bounds, numbers, firsts + counts - 1, word_starts)

    def draw(self, words: Ints, rng: np.random.Generator) -> Ragged:
        """Return the codes of these words, each drawn independently, from end to beginning."""
        going = np.arange(len(words))
        places, beginnings = self.word_starts[words + 1] - 1, self.word_starts[words]
        steps: list[tuple[Ints, Ints]] = []
        while len(going):
            groups = self.numbers[places]
            chosen = np.searchsorted(self.bounds, groups + rng.random(len(going)), side="right")
            chosen = np.minimum(chosen, self.lasts[groups])  # where a sum was rounded up
            steps.append((going, self.codes[chosen]))
            places = self.starts[chosen]
            on = places > beginnings[going]
            going, places = going[on], places[on]
        counts = np.zeros(len(words), dtype=np.int64)
        for going, _ in steps:
            counts[going] += 1
        starts = starts_of(counts)
        codes = np.empty(starts[-1], dtype=np.int64)
        for step, (going, drawn) in enumerate(steps, start=1):
            codes[starts[going + 1] - step] = drawn
        return Ragged(codes, starts)
