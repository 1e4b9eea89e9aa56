"""The stream of a run has the configured batches; text is cut by chance, never beyond what fits."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from headway.data.batching import round_up
from headway.data.epoch_order import Deck
from headway.data.ragged import Ragged
from headway.data.sampler import Sampler
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError
from headway.training.encode import EncodedTexts
from headway.training.run_stream import build_stream
from headway.training.stream import BatchStream
from headway.training.texts import Texts

from .conftest import CHARACTERS, TWO, Encoded, MakeConfig, encode

TOKENS = 54


def stream_of(make_config: MakeConfig, sampling: bool = False, **sections: dict) -> BatchStream:
    config = make_config(
        tokenizer=CHARACTERS | {"sampling": 0.05 if sampling else None}, **sections
    )
    texts, tokenizers, encoded = encode(config)
    return build_stream(config, texts, encoded, tokenizers)


@pytest.mark.parametrize("compiled", [False, True])
def test_batches_leave_room_for_rounded_lengths_where_layers_are_compiled(
    make_config: MakeConfig, compiled: bool
) -> None:
    training = {"batch_tokens": TOKENS, "compile": compiled}
    areas = [
        len(batch) * min(round_up(max(batch.source_ids.size(1), batch.target_ids.size(1))), TOKENS)
        for group in islice(stream_of(make_config, training=training).groups(), 60)
        for batch in group.batches
    ]
    assert (max(areas) <= TOKENS) is compiled


def test_the_longest_side_is_that_of_the_text(make_config: MakeConfig) -> None:
    stream = stream_of(make_config, training={"batch_tokens": TOKENS})
    assert stream.longest == 1 + stream.pairs.longest()[1] < TOKENS


@pytest.mark.parametrize(
    ("model", "longest"),
    [({}, TOKENS), ({"positions": "learned", "max_positions": 35}, 35)],
)
def test_text_that_is_cut_anew_may_be_longer(
    make_config: MakeConfig, model: dict, longest: int
) -> None:
    training = {"batch_tokens": TOKENS}
    stream = stream_of(make_config, sampling=True, model=model, training=training)
    assert stream.longest == longest


def test_sampling_cuts_the_same_text_in_other_ways_each_epoch(make_config: MakeConfig) -> None:
    config = make_config(data=TWO, tokenizer=CHARACTERS)
    texts, (source, target), encoded = encode(config)

    def epoch(stream: BatchStream, number: int) -> dict[int, list[list[int]]]:
        cut: dict[int, list[list[int]]] = {}
        for group in stream.groups(number):
            for batch in group.batches:
                for row, ids in zip(batch.indices, batch.source_ids.tolist(), strict=True):
                    cut.setdefault(row, []).append(ids)
            if group.ends_epoch:
                return cut
        raise AssertionError

    stream = build_stream(config, texts, encoded, (source, target))
    first, second = epoch(stream, 0), epoch(stream, 1)

    assert first == epoch(build_stream(config, texts, encoded, (source, target)), 0)
    assert first != second
    assert any(one != other for one, other in [cut for cut in first.values() if len(cut) == 2])
    for row, pair in enumerate(texts.train):
        tag = "<back>" if row < 32 else "<same>"
        for ids in first[row] + second[row]:
            assert source.decode([i for i in ids if i]) == f"{tag} {pair.source}"


def test_a_pair_that_sampling_makes_too_long_keeps_its_pieces(make_config: MakeConfig) -> None:
    config = make_config(tokenizer=CHARACTERS, data={"max_pieces": 12})
    texts, tokenizers, encoded = encode(config)
    stream = build_stream(config, texts, encoded, tokenizers)

    widths = [
        max(batch.source_ids.size(1), batch.target_ids.size(1))
        for group in islice(stream.groups(), 60)
        for batch in group.batches
    ]

    assert max(widths) <= 13


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_text_that_is_far_too_long_is_not_cut_in_vain(
    make_config: MakeConfig, data_folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lines = (data_folder / "train.source").read_text().splitlines()
    lines[3] = "one" * 4_000
    (data_folder / "train.source").write_text("\n".join(lines) + "\n")
    settings = CHARACTERS | {"kind": kind}
    config = make_config(tokenizer=settings, data={"max_pieces": 12, "too_long": "cut"})
    texts, tokenizers, encoded = encode(config)
    stream = build_stream(config, texts, encoded, tokenizers)
    tried: list[str] = []
    sample = Sampler.sample

    def watched(self: Sampler, texts: Sequence[str], seed: int) -> Ragged:
        tried.extend(texts)
        return sample(self, texts, seed)

    monkeypatch.setattr(Sampler, "sample", watched)

    batches = [batch for group in islice(stream.groups(), 60) for batch in group.batches]

    assert "one" in {word for text in tried for word in text.split()}
    assert max(map(len, tried)) < 1_000
    (kept,) = {
        tuple(i for i in ids if i)
        for batch in batches
        for row, ids in zip(batch.indices, batch.source_ids.tolist(), strict=True)
        if row == 3
    }
    assert kept[:12] == tuple(encoded.train[3].source_ids)


def test_a_tokenizer_with_one_way_to_cut_cannot_sample(make_config: MakeConfig) -> None:
    config = make_config(tokenizer={"sampling": 0.1})
    with pytest.raises(ConfigError, match="A word tokenizer has only one way"):
        build_stream(config, *_reordered(encode(config)))


def _reordered(encoded: Encoded) -> tuple[Texts, EncodedTexts, tuple[Tokenizer, Tokenizer]]:
    texts, tokenizers, stores = encoded
    return texts, stores, tokenizers


def test_any_position_continues_as_if_never_left_in_blocks_too(make_config: MakeConfig) -> None:
    config = make_config(data=TWO, tokenizer=CHARACTERS)
    texts, tokenizers, encoded = encode(config)

    def make() -> BatchStream:
        stream = build_stream(config, texts, encoded, tokenizers)
        stream.deck = Deck(encoded.train.sizes, [1.0, 2.0], 1, block=9, stretch=3)
        return stream

    whole = list(islice(make().groups(), 40))
    assert max(group.next_block for group in whole) >= 3
    assert max(group.next_epoch for group in whole) >= 1

    for index in range(0, 39, 5):
        after = whole[index]
        (group,) = islice(make().groups(after.next_epoch, after.next_block, after.next_batch), 1)
        following = whole[index + 1]
        assert [b.source_ids.tolist() for b in group.batches] == [
            b.source_ids.tolist() for b in following.batches
        ]
        assert [b.indices for b in group.batches] == [b.indices for b in following.batches]


def test_drawn_pieces_stay_within_what_was_checked(make_config: MakeConfig) -> None:
    training = {"batch_tokens": 26}
    config = make_config(tokenizer=CHARACTERS | {"sampling": 0.01}, training=training)
    texts, tokenizers, encoded = encode(config)
    stream = build_stream(config, texts, encoded, tokenizers)

    for group in islice(stream.groups(), 90):
        for batch in group.batches:
            assert max(batch.source_ids.numel(), batch.target_ids.numel()) <= 26


def test_drawn_pieces_stay_within_a_learned_table_of_positions(make_config: MakeConfig) -> None:
    config = make_config(tokenizer=CHARACTERS | {"sampling": 0.01})
    longest = 1 + encode(config)[2].train.longest()[1]
    learned = {"positions": "learned", "max_positions": longest}
    config = make_config(tokenizer=CHARACTERS | {"sampling": 0.01}, model=learned)
    texts, tokenizers, encoded = encode(config)

    widths = [
        max(batch.source_ids.size(1), batch.target_ids.size(1))
        for group in islice(build_stream(config, texts, encoded, tokenizers).groups(), 90)
        for batch in group.batches
    ]

    assert max(widths) <= longest
