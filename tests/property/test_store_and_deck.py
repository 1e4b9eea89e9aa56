"""Laws of stored pairs and of how they are dealt, over any sizes."""

import errno
import io
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.data.batching import collate, collate_rows
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair, EncodedPairs
from headway.data.epoch_order import Deck
from headway.data.store import StoreWriter, kept_store, open_store
from headway.errors import DataError

ids = st.lists(st.integers(4, 70_000), max_size=7)
some_pairs = st.lists(st.builds(EncodedPair, ids, ids, st.integers(1, 1000)), max_size=9)
corpora = st.lists(st.tuples(st.integers(0, 40), st.sampled_from([0.5, 1.0, 2.0, 0.3])), min_size=1)


@given(some_pairs)
def test_a_store_is_the_list_of_its_pairs(pairs: list[EncodedPair]) -> None:
    writer = StoreWriter(vocabulary=70_001)
    writer.add_corpus(pairs)

    store = writer.finish()

    assert list(store) == pairs
    assert store.lengths().tolist() == [[len(p.source_ids), len(p.target_ids)] for p in pairs]


@given(some_pairs, some_pairs)
def test_a_store_in_files_is_the_store_in_memory(
    first: list[EncodedPair], second: list[EncodedPair]
) -> None:
    texts = [Pair(f"문장 {n}", "x" * n) for n in range(len(first) + len(second))]
    with TemporaryDirectory() as place:
        folder = Path(place) / "kept"
        with StoreWriter(folder, vocabulary=70_001, keep_texts=True) as writer:
            writer.begin_corpus()
            writer.add(EncodedPairs.of(first, texts[: len(first)]))
            writer.begin_corpus()
            writer.add(EncodedPairs.of(second, texts[len(first) :]))
            assert not kept_store(folder)
            writer.finish({"why": "a test"})
        store, record = open_store(folder)

        assert list(store) == [*first, *second]
        assert [store.text(row) for row in range(len(store))] == texts
        assert store.sizes == [len(first), len(second)]
        assert record == {"why": "a test"}
        assert [path.name for path in Path(place).iterdir()] == ["kept"]


@given(some_pairs.filter(bool), st.data())
def test_rows_of_a_store_make_the_batch_of_its_pairs(
    pairs: list[EncodedPair], data: st.DataObject
) -> None:
    writer = StoreWriter(vocabulary=70_001)
    writer.add_corpus(pairs)
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=5))

    batch = collate_rows(writer.finish(), rows)
    expected = collate([pairs[row] for row in rows], rows)

    assert torch.equal(batch.source_ids, expected.source_ids)
    assert torch.equal(batch.target_ids, expected.target_ids)
    assert torch.equal(batch.label_ids, expected.label_ids)
    assert (batch.num_target_tokens, batch.indices) == (
        expected.num_target_tokens, expected.indices
    )  # fmt: skip


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "kept") as writer:
        writer.add_corpus([EncodedPair([5, 6], [7], 1)])
        writer.finish()
    path = tmp_path / "kept" / "source.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")

    with pytest.raises(DataError, match="kept is damaged"):
        open_store(tmp_path / "kept")


def test_a_store_that_was_not_finished_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[EncodedPair]:
        yield EncodedPair([5], [6], 1)
        raise KeyboardInterrupt

    writer = StoreWriter(tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt), writer:
        writer.add_corpus(interrupted())

    assert not list(tmp_path.iterdir())


def test_a_store_for_which_there_is_no_room_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullFile(io.BytesIO):
        """Takes everything, and then has no room for it."""

        def close(self) -> None:
            if not self.closed:
                super().close()
                raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: FullFile())
        writer = StoreWriter(tmp_path / "kept")
    with pytest.raises(DataError, match=r"cannot be kept in .* \(No space left"), writer:
        writer.add_corpus([EncodedPair([5], [6], 1)])

    assert not list(tmp_path.iterdir())


@given(corpora, st.integers(0, 9), st.sampled_from([1, 3, 7]), st.integers(8, 50))
def test_every_pair_comes_as_often_as_its_weight_says(
    corpora: list[tuple[int, float]], seed: int, stretch: int, block: int
) -> None:
    sizes, weights = [size for size, _ in corpora], [weight for _, weight in corpora]
    if not sum(int(Fraction(str(w)) * size) for size, w in corpora):
        return
    deck = Deck(sizes, weights, seed, block, stretch)
    epochs = 7

    dealt: Counter[int] = Counter()
    for epoch in range(epochs):
        rows = [deck.rows(epoch, index) for index in range(deck.num_blocks(epoch))]
        assert sum(map(len, rows)) == deck.size(epoch)
        assert all(len(part) <= block + len(sizes) for part in rows)
        dealt.update(np.concatenate(rows).tolist())

    start = 0
    for size, weight in corpora:
        times = epochs * Fraction(str(weight))
        counts = [dealt[row] for row in range(start, start + size)]
        assert all(int(times) <= count <= int(times) + 1 for count in counts)
        start += size
    assert set(dealt) <= set(range(start))


def test_one_small_corpus_is_dealt_whole() -> None:
    deck = Deck([23])

    assert deck.num_blocks(0) == 1
    assert deck.rows(5, 0).tolist() == list(range(23))


def test_every_block_has_the_same_mixture() -> None:
    deck = Deck([1000, 30], [1.0, 2.0], seed=3, block=100, stretch=10)

    for epoch in (0, 4):
        shares = [
            int((deck.rows(epoch, block) >= 1000).sum()) for block in range(deck.num_blocks(epoch))
        ]
        assert set(shares) <= {5, 6}
        assert sum(shares) == 60


def test_blocks_differ_from_epoch_to_epoch_and_keep_neighbours_together() -> None:
    deck = Deck([1000], seed=3, block=100, stretch=10)
    first, second = deck.rows(0, 0), deck.rows(1, 0)

    assert first.tolist() != second.tolist()
    assert all((first // 10 == start).sum() == 10 for start in set((first // 10).tolist()))
