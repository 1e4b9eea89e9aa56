"""Counts of the training text for drafts: a tree of pieces, and a table of translations."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from headway.data import draft_counts as module
from headway.data.draft_counts import DraftCounts, count_drafts
from headway.errors import DataError

SOURCE_SIZE, TARGET_SIZE = 11, 13
PAIRS = [([4, 5], [6, 7, 8]), ([4, 9], [6, 7, 9, 4, 5]), ([5], [8]), ([9, 9], [9, 4, 5])]
pieces = st.integers(4, 10)


def paths(drafts: DraftCounts) -> dict[tuple[int, ...], int]:
    """Return the count of each run of pieces in the tree."""
    ways = [(piece,) for piece in range(TARGET_SIZE)]
    for node in range(len(drafts.pieces)):
        for child in range(drafts.starts[node], drafts.starts[node + 1]):
            assert child == len(ways)
            ways.append((*ways[node], int(drafts.pieces[child])))
    return dict(zip(ways, drafts.counts.tolist(), strict=True))


@settings(max_examples=50)
@given(
    st.lists(st.lists(pieces, max_size=6), min_size=1, max_size=6),
    st.integers(1, 3),
)
def test_the_tree_has_all_runs_of_four_pieces_at_most(texts: list[list[int]], least: int) -> None:
    drafts = count_drafts([([4], text) for text in texts], SOURCE_SIZE, TARGET_SIZE, least=least)
    expected: Counter[tuple[int, ...]] = Counter()
    for text in texts:
        whole = [2, *text, 3]
        for length in (1, 2, 3, 4):
            expected.update(tuple(whole[i : i + length]) for i in range(len(whole) - length + 1))
    kept = {run: count for run, count in expected.items() if count >= least or len(run) == 1}
    assert {run: count for run, count in paths(drafts).items() if count} == kept


def test_translations_are_those_of_the_lexicon() -> None:
    drafts = count_drafts([([4], [6])] * 3 + [([5], [7])] * 3, SOURCE_SIZE, TARGET_SIZE)
    for source, target in ((4, 6), (5, 7)):
        first, last = drafts.translation_starts[source : source + 2]
        probabilities = dict(
            zip(
                drafts.translations[first:last].tolist(),
                drafts.probabilities[first:last],
                strict=True,
            )
        )
        assert max(probabilities, key=lambda piece: probabilities[piece]) in (target, 3)
        assert target in probabilities
    assert drafts.translation_starts[-1] == len(drafts.translations)


def test_rare_runs_are_left_out_of_a_tree_that_would_be_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = [*PAIRS * 2, ([5], [6, 7])]
    whole = count_drafts(pairs, SOURCE_SIZE, TARGET_SIZE)
    monkeypatch.setattr(module, "_MOST_NODES", 9)
    small = count_drafts(pairs, SOURCE_SIZE, TARGET_SIZE)
    assert 0 < len(small.pieces) - TARGET_SIZE <= 9 < len(whole.pieces) - TARGET_SIZE
    assert paths(small).items() <= paths(whole).items()


def test_a_text_without_translations_is_refused() -> None:
    with pytest.raises(DataError, match="no pair with a target"):
        count_drafts([], SOURCE_SIZE, TARGET_SIZE)


def test_a_file_brings_the_same_back() -> None:
    drafts = count_drafts(PAIRS, SOURCE_SIZE, TARGET_SIZE, least=1)
    data = drafts.to_bytes()

    again = DraftCounts.from_bytes(data, SOURCE_SIZE, TARGET_SIZE)

    for name in (*load(data), "target_size"):
        assert np.array_equal(getattr(again, name), getattr(drafts, name))
    assert again.to_bytes() == data


def test_a_file_that_is_none_or_of_another_model_is_refused() -> None:
    data = count_drafts(PAIRS, SOURCE_SIZE, TARGET_SIZE, least=1).to_bytes()
    tensors = load(data)

    # The differences of these numbers are positive in 32 bits.
    wrapping = tensors["starts"].copy()
    wrapping[1:3] = 2**31 - 1, -(2**31)

    def changed(**others: np.ndarray) -> bytes:
        return save(tensors | others)

    def with_number(name: str, place: int, number: float) -> bytes:
        array = tensors[name].copy()
        array[place] = number
        return changed(**{name: array})

    for bad, message in (
        (b"{}", "not a safetensors file"),
        (save({"starts": tensors["starts"]}), "does not hold starts, pieces"),
        (changed(pieces=tensors["pieces"].astype(np.int64)), "does not hold starts, pieces"),
        (changed(counts=tensors["counts"][None]), "in one dimension each"),
        (changed(translation_starts=tensors["translation_starts"][1:]), "for 10 source tokens"),
        (changed(starts=tensors["starts"][::-1].copy()), "do not follow one another"),
        (changed(starts=tensors["starts"][:0]), "does not have a count for each"),
        (changed(starts=wrapping), "do not follow one another"),
        (with_number("translation_starts", 3, 99), "do not follow one another"),
        (with_number("pieces", 2, 3), "does not begin with the 13 target tokens"),
        (changed(pieces=tensors["pieces"][:5]), "does not begin with the 13 target tokens"),
        (changed(counts=tensors["counts"][1:]), "does not have a count for each token"),
        (with_number("counts", -1, 0), "does not have a count for each token"),
        (with_number("pieces", -1, TARGET_SIZE), "beyond the 13 of the model"),
        (with_number("translations", 0, -1), "beyond the 13 of the model"),
        (with_number("probabilities", 0, np.nan), "a probability for each translation"),
        (changed(probabilities=tensors["probabilities"][1:]), "a probability for each"),
    ):
        with pytest.raises(DataError, match=message):
            DraftCounts.from_bytes(bad, SOURCE_SIZE, TARGET_SIZE)
