"""What a configuration says of batches is what its stream does."""

from itertools import islice

import pytest

from headway.data.batching import round_up
from headway.training.run_stream import build_stream
from headway.training.stream import BatchStream

from .conftest import CHARACTERS, MakeConfig, encode

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
