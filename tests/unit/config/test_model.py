"""Sizes that cannot work are refused before a model is built."""

from typing import Any

import pytest

from headway.config.model import Architecture, ModelConfig
from headway.errors import ConfigError


def test_the_defaults_are_the_paper() -> None:
    config = Architecture()

    assert config.model_dump() == {
        "d_model": 512,
        "d_ff": 2048,
        "num_heads": 8,
        "d_k": None,
        "d_v": None,
        "num_encoder_layers": 6,
        "num_decoder_layers": 6,
        "decoder_past": "self_attention",
        "dropout": 0.1,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "activation": "relu",
        "attention_bias": True,
        "feed_forward_bias": True,
        "output_bias": False,
        "norm_position": "post",
        "norm_epsilon": 1e-5,
        "positions": "sinusoidal",
        "sinusoid_layout": "interleaved",
        "first_position": 0,
        "max_positions": 1024,
        "scale_embeddings": True,
        "zero_id": None,
        "shared_embeddings": "all",
    }


@pytest.mark.parametrize("given", [{}, {"d_k": 5}, {"d_v": 5}], ids=["neither", "d_k", "d_v"])
def test_a_width_that_heads_do_not_divide_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        Architecture.parse({"d_model": 500, "num_heads": 8} | given)

    assert str(error.value) == (
        "d_model 500 is not divisible by num_heads 8 (remainder 4). "
        "Use d_model 504, or another number of heads, or set d_k and d_v."
    )


def test_with_both_widths_given_nothing_needs_to_divide() -> None:
    assert Architecture.parse({"d_model": 500, "num_heads": 8, "d_k": 5, "d_v": 3}).d_model == 500


def test_an_unknown_activation_is_refused_before_a_model_is_built() -> None:
    with pytest.raises(ConfigError, match=r"'activation' is 'tanh'.*'swiglu'"):
        Architecture.parse({"activation": "tanh"})


def test_one_vocabulary_size_means_both_sides() -> None:
    config = Architecture().with_vocabulary(31)

    assert (config.source_vocab_size, config.target_vocab_size) == (31, 31)


def test_two_vocabularies_need_two_tables() -> None:
    with pytest.raises(ConfigError, match="the source has 31 tokens and the target 23"):
        Architecture().with_vocabulary(31, 23)

    apart = Architecture(shared_embeddings="target").with_vocabulary(31, 23)
    assert (apart.source_vocab_size, apart.target_vocab_size) == (31, 23)


@pytest.mark.parametrize("sizes", [(31, 23), (23, 31)], ids=["target", "source"])
def test_the_padding_id_is_a_piece_of_both_vocabularies(sizes: tuple[int, int]) -> None:
    source, target = sizes
    values = {
        "source_vocab_size": source,
        "target_vocab_size": target,
        "shared_embeddings": "none",
    }

    assert ModelConfig.parse(values | {"pad_id": 22}).pad_id == 22
    with pytest.raises(ConfigError, match="pad_id is 23, but the smaller vocabulary has tokens 0"):
        ModelConfig.parse(values | {"pad_id": 23})


def test_a_vocabulary_has_to_be_given() -> None:
    with pytest.raises(ConfigError, match="'source_vocab_size' is missing"):
        ModelConfig.parse({})


def test_a_token_that_is_read_as_zeros_must_be_in_the_vocabulary() -> None:
    assert Architecture(zero_id=2).with_vocabulary(3).zero_id == 2
    with pytest.raises(ConfigError, match=r"zero_id is 9, but .* tokens 0 to 8"):
        Architecture(zero_id=9).with_vocabulary(9)
