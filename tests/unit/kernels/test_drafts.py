"""Guesses by counts: the most probable next pieces, until one is doubtful or is the end."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.draft_counts import DraftCounts, count_drafts
from headway.kernels import dispatch

pytestmark = pytest.mark.skipif(not dispatch.has_numba(), reason="The kernel needs Numba.")

SOURCE_SIZE, TARGET_SIZE = 13, 17
pieces = st.integers(4, 12)
texts = st.lists(
    st.tuples(st.lists(pieces, max_size=4), st.lists(pieces, min_size=1, max_size=6)),
    min_size=1,
    max_size=8,
)


def guesses(
    drafts: DraftCounts,
    past: Sequence[int],
    source: Sequence[int] = (),
    most: int = 4,
    *,
    in_python: bool = False,
) -> list[int]:
    """Return what the kernel writes after a translation's beginning; without the -1 that ends."""
    from headway.kernels.drafts import guess_pieces

    guess = guess_pieces.py_func if in_python else guess_pieces
    ids = np.full(len(past) + most + 1, -7, np.int32)
    ids[: len(past)] = past
    scratch, touched = np.zeros((2, TARGET_SIZE), np.float32), np.zeros(TARGET_SIZE, np.int64)
    guess(
        drafts.starts, drafts.pieces, drafts.counts,
        drafts.translation_starts, drafts.translations, drafts.probabilities,
        np.array(source, np.int32), ids, len(past), most, 2, 3, scratch, touched,
    )  # fmt: skip
    assert not scratch.any()
    assert ids[: len(past)].tolist() == list(past)
    assert ids[-1] == -7
    written = ids[len(past) : len(past) + most].tolist()
    return written[: written.index(-1)] if -1 in written else [i for i in written if i != -7]


def counted(*pairs: tuple[Sequence[int], Sequence[int]]) -> DraftCounts:
    return count_drafts(pairs, SOURCE_SIZE, TARGET_SIZE, least=1)


def test_a_text_that_was_counted_is_guessed_to_its_end() -> None:
    drafts = counted(([5], [7, 8, 9, 10]))
    assert guesses(drafts, [], [5]) == [7, 8, 9, 10]
    assert guesses(drafts, [7, 8], [5]) == [9, 10, 3]
    assert guesses(drafts, [7, 8, 9], [5], most=1) == [10]
    assert guesses(drafts, [11], [5]) == []  # nothing has followed it


def test_the_longest_context_counts_most() -> None:
    drafts = counted(*[([5], [8, 9, 10])] * 3, *[([5], [7, 9, 11])] * 2)
    assert guesses(drafts, [8, 9], most=1) == [10]
    assert guesses(drafts, [7, 9], most=1) == [11]


def test_a_piece_that_translates_the_source_is_preferred() -> None:
    drafts = counted(*[([5], [7, 8])] * 3, *[([6], [7, 9])] * 3)
    assert guesses(drafts, [7], [5], most=1) == [8]
    assert guesses(drafts, [7], [6], most=1) == [9]


def test_a_doubtful_piece_is_not_guessed() -> None:
    many = [([5], [4, piece]) for piece in range(5, 13)]
    assert guesses(counted(*many), [4]) == []
    assert guesses(counted(*many[:1]), [4]) != []


@settings(max_examples=50)
@given(texts, st.lists(pieces, max_size=5), st.lists(pieces, max_size=4))
def test_compiled_guesses_are_those_of_python(
    pairs: list[tuple[list[int], list[int]]], past: list[int], source: list[int]
) -> None:
    drafts = counted(*pairs)
    compiled = guesses(drafts, past, source)
    assert compiled == guesses(drafts, past, source, in_python=True)
    assert 3 not in compiled[:-1]
