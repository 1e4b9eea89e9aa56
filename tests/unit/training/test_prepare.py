"""A run is prepared in silence; its model fits tokenizers and text, and depends on the seed."""

import random

import numpy as np
import pytest
import torch

from headway.config.data import TokenizerConfig
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError
from headway.training.check import check_run
from headway.training.prepare import build_bundle, check_positions, prepare
from headway.training.reporting import Reporter
from headway.training.texts import read_texts

from .conftest import TWO, MakeConfig, encode

CPU = torch.device("cpu")


def test_remarks_are_returned_and_not_printed(
    make_config: MakeConfig, capfd: pytest.CaptureFixture[str]
) -> None:
    class Silent(Reporter):
        def say(self, message: str) -> None:
            raise AssertionError(message)

    config = make_config()
    texts = read_texts(config.data)

    prepared = prepare(config, texts, CPU, reporter=Silent(quiet=True))

    assert prepared.remarks == [
        "Tokenizer: word, 30 tokens, trained on the text of 32 pairs, before any is dropped."
    ]
    assert capfd.readouterr() == ("", "")
    tokenizers = (prepared.bundle.source_tokenizer, prepared.bundle.target_tokenizer)
    again = prepare(config, texts, CPU, tokenizers=tokenizers)
    assert again.remarks == []
    assert list(again.stream.epoch(0)) == list(prepared.stream.epoch(0))
    for one, two in zip(
        again.bundle.model.parameters(), prepared.bundle.model.parameters(), strict=True
    ):
        assert torch.equal(one, two)


def test_a_run_keeps_the_size_that_its_text_gave_and_check_tells_it(
    make_config: MakeConfig,
) -> None:
    unset = make_config().model_copy(update={"tokenizer": TokenizerConfig(kind="bpe")})

    prepared = prepare(unset, read_texts(unset.data), CPU)

    size = prepared.config.tokenizer.vocabulary_size
    assert size == prepared.bundle.source_tokenizer.vocabulary_size < 8000
    assert prepared.config.decoding is unset.decoding  # and still knows what was set
    checked = check_run(unset, "cpu")
    assert (checked.vocabulary, checked.problem) == (size, None)
    (note,) = [remark for remark in checked.remarks if "tokenizer.vocabulary_size" in remark]
    assert note in prepared.remarks


def test_the_seed_decides_the_first_weights(make_config: MakeConfig, tokenizer: Tokenizer) -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        config = make_config(training={"seed": seed})
        torch.rand(seed)  # whatever was drawn before
        return list(build_bundle(config, tokenizer, tokenizer, CPU).model.parameters())

    for one, two in zip(weights(5), weights(5), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(weights(5)[0], weights(6)[0])


def test_the_seed_reaches_every_generator_that_parts_of_a_users_own_draw_from(
    make_config: MakeConfig, tokenizer: Tokenizer
) -> None:
    def draw() -> tuple[float, float, float]:
        build_bundle(make_config(), tokenizer, tokenizer, CPU, shared=True)
        return random.random(), float(np.random.normal()), float(torch.rand(()))

    assert draw() == draw()


def test_a_bundle_splits_sentences_longer_than_any_in_training(
    make_config: MakeConfig, tokenizer: Tokenizer
) -> None:
    config = make_config(data={"max_pieces": 17})

    bundle = build_bundle(config, tokenizer, tokenizer, CPU)

    assert bundle.decoding.max_source_pieces == 17
    assert bundle.config.source_vocab_size == tokenizer.vocabulary_size


def test_text_longer_than_a_learned_table_is_refused(make_config: MakeConfig) -> None:
    learned = {"positions": "learned"}
    config = make_config(model={"max_positions": 6} | learned)
    _, (source, _), encoded = encode(config)

    with pytest.raises(ConfigError, match=r"max_positions is 6.*takes 7.*max_pieces to 5"):
        check_positions(config, encoded, source)

    check_positions(make_config(model={"max_positions": 7} | learned), encoded, source)
    check_positions(make_config(model={"max_positions": 6}), encoded, source)


def test_the_limit_that_is_advised_leaves_a_position_for_the_tag(make_config: MakeConfig) -> None:
    def check(max_pieces: int, max_positions: int) -> None:
        config = make_config(
            data=TWO | {"max_pieces": max_pieces},
            model={"positions": "learned", "max_positions": max_positions},
        )
        _, (source, _), encoded = encode(config)
        check_positions(config, encoded, source)

    with pytest.raises(ConfigError, match=r"takes 8 .* to 8, or lower data\.max_pieces to 5\.$"):
        check(max_pieces=6, max_positions=7)
    check(max_pieces=5, max_positions=7)
    with pytest.raises(ConfigError, match=r"Raise it to 3\.$"):
        check(max_pieces=1, max_positions=2)
