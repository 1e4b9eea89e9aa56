"""Batches hold each pair once, shift the target by one and keep to their budget."""

import numpy as np
import pytest
import torch

from headway.data.batching import collate, inference_batches, token_batches
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import END_ID, PAD_ID, START_ID
from headway.errors import ConfigError

PAIRS = [EncodedPair([11, 12, 13, 14], [21, 22], 5), EncodedPair([15], [23, 24, 25], 9)]


def translation_lengths(number: int, *, spread: float) -> list[tuple[int, int]]:
    """Return skewed lengths as in a corpus, the two sides alike up to a factor."""
    rng = np.random.default_rng(3)
    target = np.exp(rng.normal(2.8, 0.6, number)).clip(1, 200)
    source = (target * np.exp(rng.normal(0, spread, number))).clip(1, 250)
    return [(int(s), int(t)) for s, t in zip(source, target, strict=True)]


def padding_share(batches: list[list[int]], lengths: list[tuple[int, int]]) -> float:
    sizes = np.asarray(lengths) + 1
    area = sum(len(batch) * int(sizes[batch].max(axis=0).sum()) for batch in batches)
    return 1 - int(sizes.sum()) / area


def test_source_ends_and_target_is_shifted_by_one() -> None:
    batch = collate(PAIRS, indices=[7, 3])
    assert batch.source_ids.tolist() == [
        [11, 12, 13, 14, END_ID],
        [15, END_ID, PAD_ID, PAD_ID, PAD_ID],
    ]
    assert batch.target_ids.tolist() == [[START_ID, 21, 22, PAD_ID], [START_ID, 23, 24, 25]]
    assert batch.label_ids.tolist() == [[21, 22, END_ID, PAD_ID], [23, 24, 25, END_ID]]
    assert batch.num_target_tokens == 7
    assert batch.indices == (7, 3)
    assert len(batch) == 2
    for ids in (batch.source_ids, batch.target_ids, batch.label_ids):
        assert ids.dtype == torch.int64
        assert ids.is_contiguous()


def test_rows_are_numbered_from_zero_without_indices() -> None:
    assert collate(PAIRS).indices == (0, 1)


def test_an_empty_side_is_its_end_symbol_alone() -> None:
    batch = collate([EncodedPair([], [], 1)])
    assert batch.source_ids.tolist() == [[END_ID]]
    assert batch.target_ids.tolist() == [[START_ID]]
    assert batch.label_ids.tolist() == [[END_ID]]


def test_a_batch_moves_as_a_whole() -> None:
    moved = collate(PAIRS, indices=[7, 3]).to("meta")
    devices = {ids.device.type for ids in (moved.source_ids, moved.target_ids, moved.label_ids)}
    assert devices == {"meta"}
    assert (moved.num_target_tokens, moved.indices) == (7, (7, 3))


def test_a_batch_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        collate(PAIRS).num_target_tokens = 1  # type: ignore[misc]


def test_indices_do_not_select() -> None:
    with pytest.raises(ConfigError, match="2 pairs came with 1 indices"):
        collate(PAIRS, indices=[1])


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="no pairs"):
        collate([])


def test_the_budget_counts_the_added_symbol() -> None:
    lengths = [(3, 3)] * 4
    assert len(token_batches(lengths, max_tokens=16, seed=0, epoch=0)) == 1
    assert len(token_batches(lengths, max_tokens=15, seed=0, epoch=0)) == 2


def test_the_budget_holds_for_the_longer_side() -> None:
    assert len(token_batches([(1, 7), (1, 7)], max_tokens=15, seed=0, epoch=0)) == 2
    assert len(token_batches([(7, 1), (7, 1)], max_tokens=15, seed=0, epoch=0)) == 2
    assert len(token_batches([(7, 1), (7, 1)], max_tokens=16, seed=0, epoch=0)) == 1


def test_a_pair_beyond_the_budget_is_named_with_its_size() -> None:
    lengths = [(2, 2), (4, 12), (11, 3)]
    with pytest.raises(ConfigError, match=r"max_tokens is 10, but pair 1 .* takes 13 .*\(2 such"):
        token_batches(lengths, max_tokens=10, seed=0, epoch=0)


@pytest.mark.parametrize(("seed", "epoch"), [(-1, 0), (0, -1)])
def test_negative_seeds_are_refused(seed: int, epoch: int) -> None:
    with pytest.raises(ConfigError, match="at least 0"):
        token_batches([(1, 1)], max_tokens=9, seed=seed, epoch=epoch)


def test_no_pairs_make_no_batches() -> None:
    assert token_batches([], max_tokens=9, seed=0, epoch=0) == []
    assert inference_batches([], max_tokens=9, max_sentences=2) == []


def test_each_epoch_and_each_seed_draws_other_batches() -> None:
    lengths = translation_lengths(400, spread=0.2)

    def as_sets(seed: int, epoch: int) -> set[frozenset[int]]:
        batches = token_batches(lengths, max_tokens=300, seed=seed, epoch=epoch)
        return {frozenset(batch) for batch in batches}

    first = as_sets(1, 0)
    assert as_sets(1, 1) != first
    assert as_sets(2, 0) != first


def test_short_and_long_batches_come_in_mixed_order() -> None:
    lengths = [(n, n) for n in range(1, 200)]
    batches = token_batches(lengths, max_tokens=200, seed=1, epoch=0)
    longest = [max(batch) for batch in batches]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_an_epoch_is_the_same_on_every_machine() -> None:
    # Resuming a run on another machine relies on this very order.
    lengths = [(3, 2), (1, 1), (2, 4), (3, 3), (5, 1), (1, 2), (4, 4)]
    batches = token_batches(lengths, max_tokens=10, seed=5, epoch=2)
    assert batches == [[4], [2], [1, 5], [6, 3], [0]]


@pytest.mark.parametrize(
    ("number", "max_tokens", "spread"), [(10_000, 2_048, 0.15), (30_000, 4_096, 0.3)]
)
def test_little_is_padding_when_lengths_are_skewed(
    number: int, max_tokens: int, spread: float
) -> None:
    lengths = translation_lengths(number, spread=spread)
    batches = token_batches(lengths, max_tokens=max_tokens, seed=1, epoch=0)
    assert padding_share(batches, lengths) < 0.10
    assert max(map(len, batches)) > 20


def test_few_large_batches_pad_less_than_a_fifth() -> None:
    lengths = translation_lengths(20_000, spread=0.3)
    batches = token_batches(lengths, max_tokens=25_000, seed=1, epoch=0)
    assert padding_share(batches, lengths) < 0.20


def test_inference_takes_the_longest_first_and_keeps_the_order_of_equals() -> None:
    batches = inference_batches([2, 5, 2, 9, 5], max_tokens=12, max_sentences=8)
    assert batches == [[3], [1, 4], [0, 2]]


def test_inference_keeps_to_the_number_of_sentences() -> None:
    assert inference_batches([4, 3, 2, 1, 0], max_tokens=99, max_sentences=2) == [
        [0, 1],
        [2, 3],
        [4],
    ]


def test_inference_gives_a_sentence_beyond_the_budget_its_own_batch() -> None:
    assert inference_batches([50, 1, 60, 1], max_tokens=10, max_sentences=9) == [[2], [0], [1, 3]]


def test_inference_counts_both_sides_where_both_are_known() -> None:
    batches = inference_batches([(1, 7), (2, 2), (7, 1)], max_tokens=16, max_sentences=9)
    assert batches == [[0, 2], [1]]


@pytest.mark.parametrize(("max_tokens", "max_sentences"), [(0, 1), (1, 0)])
def test_inference_refuses_a_budget_of_nothing(max_tokens: int, max_sentences: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        inference_batches([1], max_tokens=max_tokens, max_sentences=max_sentences)
