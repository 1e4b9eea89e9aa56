"""One sentence, watched while it is searched for: what is certain comes out at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import torch

from headway.data.tokenizer import Tokenizer
from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.run_search import Search, read_and_begin


def stream_search(
    engine: Engine,
    search: Search,
    request: Request,
    tell_best: Callable[[Hypothesis], object] = lambda best: None,
) -> Iterator[tuple[int, ...]]:
    """Yield after each step the pieces that are certain, and in the end those of the best one.

    Certain is what all hypotheses begin with that can still be the best: those that live, and the
    best of those that have finished. What was yielded is never taken back. tell_best: is told the
    best one, before its pieces come.
    """
    with torch.inference_mode():
        state = engine.start(1, search.copies)
        read_and_begin(engine, state, search, [0], [request])
    while True:
        with torch.inference_mode():  # not around `yield`, which would hand it to the caller
            advance = search.advance(engine.step(state, *search.rows()))
            if advance.rows is not None and advance.parents is not None:
                engine.reorder(state, advance.rows, advance.parents)
        for _, hypotheses in advance.finished:
            tell_best(hypotheses[0])
            yield request.pieces(hypotheses[0].ids)
            return
        yield request.pieces(common_prefix(search.possible(0)))


def text_bits(tokenizer: Tokenizer, growing: Iterable[Sequence[int]]) -> Iterator[str]:
    """Yield the text of growing pieces bit by bit."""
    length, ids = 0, ()
    for ids in growing:
        # What ends within a character or in a space may still change.
        text = tokenizer.decode(ids).rstrip("\ufffd ")
        if len(text) > length:
            yield text[length:]
            length = len(text)
    if last := tokenizer.decode(ids)[length:]:
        yield last


def common_prefix(sequences: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return what all of them begin with.

    >>> common_prefix([[4, 5, 6], [4, 5], [4, 5, 7]])
    (4, 5)
    """
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return tuple(column[0] for column in columns)
