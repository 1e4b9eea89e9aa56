"""Streaming: the certain beginning of a translation, as soon as the search knows it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import torch

from headway.data.tokenizer import Tokenizer
from headway.decoding.batch import StepwiseBatch
from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.search import Search


def stream_search(
    engine: Engine,
    search: Search,
    request: Request,
    tell_best: Callable[[Hypothesis], object] = lambda best: None,
) -> Iterator[tuple[int, ...]]:
    """Yield after each step the pieces that are certain, and finally those of the best hypothesis.

    Pieces are certain if all hypotheses that can still be the best begin with them. They are never
    taken back. tell_best: receives the best hypothesis before its pieces are yielded.
    """
    with torch.inference_mode():
        batch = StepwiseBatch(engine, search, 1)
        batch.begin([0], [request])
    while True:
        with torch.inference_mode():  # not around `yield`: the caller would inherit it
            finished = batch.advance()
        for _, hypotheses in finished:
            tell_best(hypotheses[0])
            yield request.pieces(hypotheses[0].ids)
            return
        yield request.pieces(common_prefix(search.possible(0)))


def text_fragments(tokenizer: Tokenizer, growing: Iterable[Sequence[int]]) -> Iterator[str]:
    """Yield the new text at each growth of a sequence of pieces."""
    length, ids = 0, ()
    for ids in growing:
        # An unfinished character or a space at the end may still change.
        text = tokenizer.decode(ids).rstrip("\ufffd ")
        if len(text) > length:
            yield text[length:]
            length = len(text)
    if last := tokenizer.decode(ids)[length:]:
        yield last


def common_prefix(sequences: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the longest common beginning of these sequences.

    >>> common_prefix([[4, 5, 6], [4, 5], [4, 5, 7]])
    (4, 5)
    """
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return tuple(column[0] for column in columns)
