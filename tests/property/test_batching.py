"""Laws of batching over any lengths."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.data.batching import collate, inference_batches, round_up, token_batches
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import END_ID, PAD_ID, START_ID

lengths = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)
ids = st.lists(st.integers(4, 99), max_size=7)
pairs = st.lists(st.builds(EncodedPair, ids, ids, st.integers(1, 1000)), min_size=1, max_size=6)
numbers = st.integers(0, 2**31)


@given(lengths, st.integers(31, 200), numbers, numbers)
def test_each_pair_is_in_exactly_one_batch_within_the_budget(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int, epoch: int
) -> None:
    batches = token_batches(lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        for side in (0, 1):
            assert len(batch) * max(lengths[i][side] + 1 for i in batch) <= max_tokens


@given(lengths, st.integers(31, 200), numbers, numbers)
def test_rounded_batches_stay_within_the_budget_with_their_padding(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int, epoch: int
) -> None:
    most = max([max(pair) + 1 for pair in lengths], default=1)
    batches = token_batches(
        lengths, max_tokens=max_tokens, seed=seed, epoch=epoch, round_up_to=most
    )
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(max(lengths[i]) + 1 for i in batch)
        assert len(batch) * min(round_up(longest), most) <= max_tokens


def test_room_is_left_for_no_more_than_the_longest() -> None:
    lengths = [(54, 3)] * 40  # 55 with the symbol, which is rounded to 56

    def rows(most: int | None) -> list[int]:
        batches = token_batches(lengths, max_tokens=1100, seed=1, epoch=0, round_up_to=most)
        return sorted(map(len, batches))

    assert rows(None) == rows(55) == [20, 20]
    assert rows(56) == [2, 19, 19]


@given(st.integers(1, 2**40))
def test_lengths_are_rounded_up_by_a_quarter_at_most(length: int) -> None:
    rounded = round_up(length)
    assert length <= rounded <= length * 5 / 4
    assert round_up(rounded) == rounded
    digits = f"{rounded:b}".rstrip("0")
    assert len(digits) <= 3


@given(pairs, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_padding_adds_nothing_but_padding(
    pairs: list[EncodedPair], rows: int, source: int, target: int
) -> None:
    batch = collate(pairs)
    (height, width), length = batch.source_ids.shape, batch.target_ids.size(1)

    padded = batch.padded(height + rows, width + source, length + target)

    assert (padded.num_target_tokens, padded.indices) == (batch.num_target_tokens, batch.indices)
    assert padded.source_ids.shape == (height + rows, width + source)
    assert padded.target_ids.shape == padded.label_ids.shape == (height + rows, length + target)
    for name in ("source_ids", "target_ids", "label_ids"):
        ids, before = getattr(padded, name), getattr(batch, name)
        assert torch.equal(ids[: before.size(0), : before.size(1)], before)
        assert int((ids != PAD_ID).sum()) == int((before != PAD_ID).sum())


@given(lengths, st.integers(31, 200), numbers, numbers)
def test_batches_depend_on_the_arguments_alone(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int, epoch: int
) -> None:
    first = token_batches(lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)
    token_batches(lengths, max_tokens=max_tokens, seed=seed, epoch=epoch + 1)
    assert token_batches(tuple(lengths), max_tokens=max_tokens, seed=seed, epoch=epoch) == first


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 200), st.integers(1, 9))
def test_inference_holds_each_sentence_once_longest_first(
    lengths: list[int], max_tokens: int, max_sentences: int
) -> None:
    batches = inference_batches(lengths, max_tokens=max_tokens, max_sentences=max_sentences)
    order = [i for batch in batches for i in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    for batch in batches:
        assert 1 <= len(batch) <= max_sentences
        area = len(batch) * max(lengths[i] + 1 for i in batch)
        assert area <= max_tokens or len(batch) == 1


@given(pairs)
def test_the_decoder_reads_the_labels_one_step_late(pairs: list[EncodedPair]) -> None:
    batch = collate(pairs)
    real = batch.target_ids[:, 1:] != PAD_ID
    assert torch.equal(batch.target_ids[:, 1:][real], batch.label_ids[:, :-1][real])
    assert batch.target_ids[:, 0].eq(START_ID).all()
    # After the last piece a label row holds END where the input row already holds padding.
    assert batch.label_ids[:, :-1][~real].lt(4).all()


@given(pairs)
def test_a_batch_gives_its_pairs_back(pairs: list[EncodedPair]) -> None:
    batch = collate(pairs)
    for row, pair in enumerate(pairs):
        for ids, expected in (
            (batch.source_ids, [*pair.source_ids, END_ID]),
            (batch.target_ids, [START_ID, *pair.target_ids]),
            (batch.label_ids, [*pair.target_ids, END_ID]),
        ):
            real, padding = ids[row, : len(expected)], ids[row, len(expected) :]
            assert real.tolist() == expected
            assert padding.eq(PAD_ID).all()


@given(pairs)
def test_token_counts_leave_padding_out(pairs: list[EncodedPair]) -> None:
    batch = collate(pairs)
    assert batch.num_target_tokens == int(batch.label_ids.ne(PAD_ID).sum())
    # One row at least fills each side, so no column is padding throughout.
    assert batch.source_ids.ne(PAD_ID).any(dim=0).all()
    assert batch.label_ids.ne(PAD_ID).any(dim=0).all()


@given(
    lengths=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), min_size=1, max_size=11),
    parts=st.integers(1, 5),
)
def test_the_parts_of_a_batch_are_the_batch(lengths: list[tuple[int, int]], parts: int) -> None:
    pairs = [EncodedPair([4] * s, [5] * t, line) for line, (s, t) in enumerate(lengths, 1)]
    batch = collate(pairs)

    cut = [batch.part(index, parts) for index in range(parts)]

    assert sorted(row for part in cut for row in part.indices) == list(range(len(pairs)))
    assert sum(part.num_target_tokens for part in cut) == batch.num_target_tokens
    for part in cut:
        if len(part):
            own = collate([pairs[row] for row in part.indices], part.indices)
            assert torch.equal(part.source_ids, own.source_ids)
            assert torch.equal(part.target_ids, own.target_ids)
            assert torch.equal(part.label_ids, own.label_ids)
        else:
            assert part.source_ids.shape == part.label_ids.shape == (0, 1)
