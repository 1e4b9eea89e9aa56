"""A lexical shortlist: the few pieces of the vocabulary that a sentence's translation may need.

Most of a vocabulary has nothing to do with a sentence. It is enough to choose from the translations
of its pieces in the training text, and from pieces that are frequent in any text. Choosing among
hundreds of pieces costs less than among thousands (Schwenk et al. 2007; Mi et al. 2016).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from headway.data.lexicon import IdPair, learn_lexicon
from headway.data.tokenizer import BYTE, SPECIAL_PIECES, Tokenizer
from headway.errors import ConfigError, DataError

Ints = NDArray[np.int64]

# Links of all pairs that are learned from, 4 bytes each; half a million sentences have that many.
_MOST_LINKS = 2**27
_MOST_LINKS_OF_A_PAIR = 2**20  # two sides of a thousand pieces; a longer text is not a sentence
# More single characters are not an alphabet: Hangul and Han are learned like other pieces.
_LARGEST_ALPHABET = 256


@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """For each source piece, the target pieces that may translate it, and some for every one."""

    always: Ints
    """Target pieces for every sentence, ascending; the special ones come first."""
    starts: Ints
    """Where the target pieces of each source piece begin in `found`, and their end, (V + 1,)."""
    found: Ints
    """Target pieces of source piece s, best first: found[starts[s] : starts[s + 1]]."""
    target_size: int
    """Pieces of the target vocabulary."""

    def pieces_for(self, source_ids: Iterable[int]) -> Ints:
        """Return the pieces that the translation of a sentence may consist of, ascending."""
        chosen = np.zeros(self.target_size, dtype=bool)
        chosen[self.always] = True
        for piece in set(source_ids):
            chosen[self.found[self.starts[piece] : self.starts[piece + 1]]] = True
        return np.flatnonzero(chosen)

    def to_bytes(self) -> bytes:
        """Return the content of a safetensors file."""
        tensors = {name: getattr(self, name).astype(np.int32) for name in _TENSORS}
        return save_safetensors(tensors)

    @classmethod
    def from_bytes(cls, data: bytes, source_size: int, target_size: int) -> "Shortlist":
        """Return the shortlist in a file's content; DataError if it is not for these sizes."""
        try:
            tensors = load_safetensors(data)
        except SafetensorError:
            raise DataError("It is not a safetensors file.") from None
        if tensors.keys() != set(_TENSORS) or any(t.ndim != 1 for t in tensors.values()):
            raise DataError(f"It does not hold {', '.join(_TENSORS)}, in one dimension each.")
        always, starts, candidates = (tensors[name].astype(np.int64) for name in _TENSORS)
        if len(starts) != source_size + 1:
            raise DataError(
                f"It is for {len(starts) - 1} source tokens, but the tokenizer has {source_size}."
            )
        if starts[0] != 0 or starts[-1] != len(candidates) or (np.diff(starts) < 0).any():
            raise DataError("Its source tokens do not follow one another.")
        special = np.arange(len(SPECIAL_PIECES))
        first = always[: len(special)]
        if not np.array_equal(first, special) or (np.diff(always) <= 0).any():
            raise DataError("Its tokens for every sentence do not ascend from the special ones.")
        for pieces in (always, candidates):
            if len(pieces) and not 0 <= pieces.min() <= pieces.max() < target_size:
                raise DataError(f"It has tokens beyond the {target_size} of the tokenizer.")
        return cls(always, starts, candidates, target_size)


_TENSORS = ("always", "starts", "found")


def learn_shortlist(
    pairs: Sequence[IdPair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    *,
    frequent: int = 100,
    per_piece: int = 100,
    min_probability: float = 0.0,
) -> Shortlist:
    """Learn a shortlist from pairs of piece ids, by IBM Model 1.

    frequent: how many of the most frequent target pieces every sentence gets. per_piece: how many
    target pieces each source piece gets, the most probable ones of at least min_probability. To
    spell any word, every sentence also gets the special pieces, the bytes of a tokenizer that has
    them, and single characters if they are an alphabet (256 at most). It is learned from
    `choose_pairs`, so that time and memory stay bounded.
    """
    _check(frequent, per_piece, min_probability)
    source_size, target_size = len(source_tokenizer), len(target_tokenizer)
    lexicon = learn_lexicon(choose_pairs(pairs), source_size, target_size)
    order = np.lexsort((-lexicon.probabilities, lexicon.sources))
    sources = lexicon.sources[order]
    rank = np.arange(len(order)) - np.searchsorted(sources, sources)
    kept = (sources < source_size) & (rank < per_piece)
    kept &= lexicon.probabilities[order] >= min_probability
    starts = np.searchsorted(sources[kept], np.arange(source_size + 1))
    always = np.union1d(_spelling(target_tokenizer), _most_frequent(pairs, frequent, target_size))
    return Shortlist(always, starts, lexicon.targets[order][kept], target_size)


def choose_pairs(pairs: Sequence[IdPair]) -> Sequence[IdPair]:
    """Return the pairs that a shortlist is learned from.

    Pairs of more than 2^20 links, a thousand pieces on both sides, are left out, because one costs
    as much as thousands of others. If all links are more than 2^27, pairs are taken at even
    distances.
    """
    sizes = [(len(source) + 1) * len(target) for source, target in pairs]
    short = [pair for pair, size in zip(pairs, sizes, strict=True) if size <= _MOST_LINKS_OF_A_PAIR]
    links = sum(size for size in sizes if size <= _MOST_LINKS_OF_A_PAIR)
    return short[:: max(-(-links // _MOST_LINKS), 1)]


def _check(frequent: int, per_piece: int, min_probability: float) -> None:
    for name, value in (("frequent", frequent), ("per_piece", per_piece)):
        if value < 0:
            raise ConfigError(f"{name} is {value}, but must be at least 0.", "100 is usual.")
    if not 0 <= min_probability <= 1:
        raise ConfigError(
            f"min_probability is {min_probability}, but must be from 0 to 1.",
            "0 keeps all that per_piece allows.",
        )


def _spelling(tokenizer: Tokenizer) -> Ints:
    """Return the special pieces, bytes, and single characters if they are an alphabet."""
    byte, characters = [], []
    for index, (_, _, kind) in enumerate(tokenizer.table()):
        if kind == BYTE:
            byte.append(index)
        elif len(tokenizer.spelled([index])[0].removeprefix("▁")) <= 1:
            characters.append(index)
    alphabet = characters if len(characters) <= _LARGEST_ALPHABET else []
    return np.union1d(np.arange(len(SPECIAL_PIECES)), np.array(byte + alphabet, dtype=np.int64))


def _most_frequent(pairs: Sequence[IdPair], count: int, target_size: int) -> Ints:
    """Return the most frequent target pieces; lower ids win a tie."""
    targets = np.fromiter((i for _, target in pairs for i in target), dtype=np.int64)
    counts = np.bincount(targets, minlength=target_size)
    best = np.argsort(-counts, kind="stable")[:count]
    return best[counts[best] > 0]
