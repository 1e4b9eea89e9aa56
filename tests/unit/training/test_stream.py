"""Each epoch holds every pair once, and any position continues exactly as if never left."""

import contextlib
import threading
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.data.encoded import EncodedPair
from headway.data.epoch_order import Deck, IntArray
from headway.data.ragged import Ragged
from headway.data.store import PairStore
from headway.errors import ConfigError
from headway.training.stream import BatchGroup, BatchStream


def make_pairs(lengths: list[tuple[int, int]]) -> list[EncodedPair]:
    return [
        EncodedPair([4 + line % 3] * source, [7 + line % 5] * target, line)
        for line, (source, target) in enumerate(lengths, 1)
    ]


PAIRS = make_pairs([(i % 6 + 1, i % 4 + 1) for i in range(23)])


def make_stream(accumulate: int = 2, seed: int = 9) -> BatchStream:
    return BatchStream(PAIRS, max_tokens=15, accumulate=accumulate, seed=seed)


def indices(group: BatchGroup) -> list[tuple[int, ...]]:
    return [batch.indices for batch in group.batches]


@given(
    lengths=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=30),
    accumulate=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_every_pair_comes_exactly_once_an_epoch(
    lengths: list[tuple[int, int]], accumulate: int, seed: int
) -> None:
    stream = BatchStream(make_pairs(lengths), max_tokens=12, accumulate=accumulate, seed=seed)

    epochs: list[list[int]] = [[]]
    for group in stream.groups(0, 0, 0):
        epochs[-1] += [row for batch in group.batches for row in batch.indices]
        if group.ends_epoch:
            if len(epochs) == 3:
                break
            epochs.append([])

    for epoch in epochs:
        assert sorted(epoch) == list(range(len(lengths)))


@given(accumulate=st.integers(1, 4), seed=st.integers(0, 100), skip=st.integers(0, 30))
def test_any_position_continues_as_if_never_left(accumulate: int, seed: int, skip: int) -> None:
    stream = make_stream(accumulate, seed)
    whole = list(islice(stream.groups(0, 0, 0), skip + 7))
    epoch, batch = (whole[skip - 1].next_epoch, whole[skip - 1].next_batch) if skip else (0, 0)

    rest = list(islice(make_stream(accumulate, seed).groups(epoch, 0, batch), 7))

    assert [indices(group) for group in rest] == [indices(group) for group in whole[skip:]]
    assert [(g.next_epoch, g.next_batch, g.ends_epoch) for g in rest] == [
        (g.next_epoch, g.next_batch, g.ends_epoch) for g in whole[skip:]
    ]


@given(blocks_ahead=st.integers(1, 3), block=st.integers(0, 2), batch=st.integers(0, 1))
def test_blocks_prepared_beforehand_are_the_same(blocks_ahead: int, block: int, batch: int) -> None:
    def stream() -> BatchStream:
        deck = Deck([len(PAIRS)], seed=9, block=8)
        return BatchStream(
            PAIRS, max_tokens=15, accumulate=1, seed=9, deck=deck, resample=changed_by_epoch
        )

    here = islice(stream().groups(1, block, batch), 25)
    beforehand = islice(stream().groups(1, block, batch, blocks_ahead=blocks_ahead), 25)

    for one, other in zip(here, beforehand, strict=True):
        assert indices(one) == indices(other)
        assert one.batches[0].source_ids.tolist() == other.batches[0].source_ids.tolist()
        assert (one.next_epoch, one.next_block, one.next_batch, one.ends_epoch) == (
            *(other.next_epoch, other.next_block, other.next_batch, other.ends_epoch),
        )


def test_the_next_block_is_cut_while_one_is_at_work() -> None:
    cut: list[int] = []
    second = threading.Event()

    def resample(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> PairStore:
        cut.append(numbers[-1])
        if len(cut) == 2:
            second.set()
        return changed_by_epoch(store, rows, numbers)

    deck = Deck([len(PAIRS)], seed=9, block=8)
    stream = BatchStream(PAIRS, max_tokens=15, accumulate=1, seed=9, deck=deck, resample=resample)

    next(stream.groups(1))
    assert len(cut) == 1
    cut.clear()
    with contextlib.closing(stream.groups(1, blocks_ahead=1)) as groups:
        next(groups)
        assert second.wait(timeout=60)


def changed_by_epoch(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> PairStore:
    """Cut pairs otherwise in each epoch: their pieces have its number added."""
    source = store.source.pick(rows)
    return PairStore(
        Ragged(source.values + numbers[1], source.starts), store.target.pick(rows), rows
    )


def test_a_group_holds_as_many_batches_as_are_accumulated_but_for_an_epochs_last() -> None:
    batches = len(make_stream().epoch(0))
    assert batches % 4, "the sizes were chosen so that the last group is smaller"

    groups = []
    for group in make_stream(accumulate=4).groups(0, 0, 0):
        groups.append(group)
        if group.ends_epoch:
            break

    assert [len(group.batches) for group in groups] == [4] * (batches // 4) + [batches % 4]
    assert [group.next_batch for group in groups] == [4 * i for i in range(1, len(groups))] + [0]
    assert [group.next_epoch for group in groups] == [0] * (len(groups) - 1) + [1]


def test_epochs_and_seeds_differ_in_order() -> None:
    stream = make_stream()

    assert stream.epoch(0) == make_stream().epoch(0)
    assert stream.epoch(0) != stream.epoch(1)
    assert stream.epoch(0) != make_stream(seed=10).epoch(0)


def test_a_batch_holds_the_ids_of_its_rows() -> None:
    group = next(make_stream().groups(2, 0, 0))

    for batch in group.batches:
        for row, index in enumerate(batch.indices):
            length = len(PAIRS[index].source_ids)
            assert batch.source_ids[row, :length].tolist() == PAIRS[index].source_ids
            assert torch.all(batch.source_ids[row, length + 1 :] == 0)


def test_a_pair_beyond_the_budget_is_named_by_its_line() -> None:
    pairs = [*PAIRS, EncodedPair([4] * 3, [5] * 20, 57)]

    with pytest.raises(
        ConfigError, match=r"batch_tokens is 20, but the pair on line 57 alone take"
    ):
        BatchStream(pairs, max_tokens=20, accumulate=1, seed=1)

    BatchStream(pairs, max_tokens=21, accumulate=1, seed=1)


def test_room_for_rounded_lengths_is_left_up_to_the_longest_side() -> None:
    pairs = [EncodedPair([5] * 54, [6] * 3, line) for line in range(1, 41)]
    stream = BatchStream(pairs, max_tokens=1100, accumulate=1, seed=1, rounded=True)
    # 55 with the symbol; for 56 there would be room for 19.
    assert sorted(map(len, stream.block(0, 0))) == [20, 20]
