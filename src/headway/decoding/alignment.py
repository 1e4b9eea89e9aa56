"""Word alignment from attention weights: the source word that each target word translates."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.errors import ConfigError

Alignment = tuple[tuple[int, int], ...]
"""Pairs of a source word and a target word, both counted from 0, ascending."""


def word_alignment(
    weights: Float[Tensor, "T S"],
    source_words: Sequence[int | None],
    target_words: Sequence[int | None],
) -> Alignment:
    """Return for each target word the source word with the largest sum of weights.

    weights: a row for each target piece and a column for each source piece, without end symbols.
    source_words, target_words: the number of each piece's word (`headway.data.words`); a piece
    with None belongs to no word and is left out. The sum covers all pieces of both words. If sums
    are equal, the first source word is taken. Without a source word the alignment is empty.

    >>> weights = torch.tensor([[0.6, 0.1, 0.3], [0.5, 0.2, 0.3], [0.4, 0.3, 0.3]])
    >>> word_alignment(weights, source_words=[0, 1, 1], target_words=[0, 0, 1])
    ((0, 0), (1, 1))
    """
    sources, targets, sums = word_sums(weights, source_words, target_words)
    if not sources:
        return ()
    best = sums.argmax(dim=1).tolist()
    return tuple(sorted((sources[place], word) for place, word in zip(best, targets, strict=True)))


def word_sums(
    weights: Float[Tensor, "T S"],
    source_words: Sequence[int | None],
    target_words: Sequence[int | None],
) -> tuple[list[int], list[int], Float[Tensor, "targets sources"]]:
    """Return the words of both sides and the sum of weights of each pair of words.

    Arguments as in `word_alignment`. The sums have a row for each target word.
    """
    if weights.shape != (len(target_words), len(source_words)):
        raise ConfigError(
            f"The weights have shape {tuple(weights.shape)}, but there are {len(target_words)} "
            f"target and {len(source_words)} source tokens.",
            "Give a row for each target token and a column for each source token.",
        )
    sources, to_source = _membership(source_words)  # (S, source words)
    targets, to_target = _membership(target_words)  # (T, target words)
    return sources, targets, to_target.mT @ weights.double() @ to_source


def pharaoh(alignment: Iterable[tuple[int, int]]) -> str:
    """Return an alignment as one line in the format of Pharaoh and fast_align.

    >>> pharaoh([(0, 0), (2, 1)])
    '0-0 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in alignment)


def _membership(words: Sequence[int | None]) -> tuple[list[int], Float[Tensor, "L N"]]:
    """Return the word numbers, ascending, and a matrix with 1 where a piece is of a word."""
    numbers = sorted({word for word in words if word is not None})
    member = [[float(word == number) for number in numbers] for word in words]
    return numbers, torch.tensor(member, dtype=torch.float64).reshape(len(words), len(numbers))
