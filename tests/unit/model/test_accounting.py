"""Parameters and multiply-adds are those that one counts by hand and that PyTorch counts."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from headway.config import presets
from headway.config.model import ModelConfig
from headway.model.accounting import count_by_part, count_parameters, multiply_adds
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]


def test_parameters_by_hand(build: Build) -> None:
    model = build()

    # Attention: Q and K 2 (14 * 15 + 15) = 450, V 14 * 12 + 12 = 180, O 12 * 14 + 14 = 182.
    # Feed-forward: 14 * 19 + 19 + 19 * 14 + 14 = 565. A norm: 28. The table: 23 * 14 = 322.
    encoder = 812 + 565 + 2 * 28
    decoder = 2 * (2 * 812 + 565 + 3 * 28)
    assert count_by_part(dict(model.named_parameters())) == {
        "embedding": 322,
        "encoder": encoder,
        "decoder": decoder,
        "output": 0,
    }
    assert count_parameters(model) == 322 + encoder + decoder


def test_parameters_of_an_ssru_by_hand(build: Build) -> None:
    model = build(decoder_past="ssru")

    # W_x 14 * 14 = 196 and W_f 14 * 14 + 14 = 210, in place of an attention of 812.
    assert count_by_part(dict(model.named_parameters()))["decoder"] == 2 * (
        196 + 210 + 812 + 565 + 3 * 28
    )


@pytest.mark.parametrize(
    ("changes", "embedding", "output"),
    [
        ({"shared_embeddings": "target", "source_vocab_size": 31}, (31 + 23) * 14, 0),
        ({"shared_embeddings": "none"}, 2 * 23 * 14, 23 * 14),
        ({"output_bias": True}, 23 * 14, 23),
        ({"positions": "learned", "max_positions": 9}, 23 * 14 + 2 * 9 * 14, 0),
    ],
    ids=["two tables", "three tables", "output bias", "learned positions"],
)
def test_shared_parameters_count_once_in_the_first_part_that_holds_them(
    build: Build, changes: dict[str, Any], embedding: int, output: int
) -> None:
    table = count_by_part(dict((model := build(**changes)).named_parameters()))

    assert (table["embedding"], table["output"]) == (embedding, output)
    assert sum(table.values()) == count_parameters(model)


def test_a_part_that_the_paper_does_not_have_counts_by_its_name(build: Build) -> None:
    before = count_by_part(dict((model := build()).named_parameters()))

    model.critic = nn.Linear(3, 5)

    assert count_by_part(dict(model.named_parameters())) == before | {"critic": 20}


def test_parameters_of_any_module_can_be_counted() -> None:
    assert count_parameters(nn.Linear(3, 5)) == 20


def test_multiply_adds_by_hand() -> None:
    config = ModelConfig.parse(
        {
            "d_model": 4, "d_ff": 6, "num_heads": 2, "d_k": 3, "d_v": 1,
            "num_encoder_layers": 1, "num_decoder_layers": 2,
            "source_vocab_size": 10, "target_vocab_size": 10,
        }
    )  # fmt: skip

    cost = multiply_adds(config, source_length=5, target_length=3)

    # A position goes through W^Q (4 * 6) or W^K (4 * 6) and W^V (4 * 2) and W^O (2 * 4).
    # Encoder: 5 (24 + 24 + 8 + 8) = 320. A decoder layer: 3 * 64 = 192 on itself, and across
    # 3 (24 + 8) + 5 (24 + 8) = 256.
    assert cost.projections == 320 + 2 * (192 + 256)
    # For each query and key 6 for the score and 2 for the value: 25 + 2 (9 + 15) pairs.
    assert cost.attention == (25 + 2 * (9 + 15)) * 8
    assert cost.feed_forward == (5 + 2 * 3) * (4 * 6 + 6 * 4)
    assert cost.output == 3 * 4 * 10
    assert cost.total == 1216 + 584 + 528 + 120


@pytest.mark.parametrize(
    "changes",
    [{}, {"activation": "swiglu"}, {"norm_position": "pre"}, {"decoder_past": "ssru"}],
    ids=str,
)
def test_multiply_adds_are_half_the_operations_that_pytorch_counts(
    build: Build, changes: dict[str, Any]
) -> None:
    model = build(**changes)
    sizes = {
        "d_model": 14, "d_ff": 19, "num_heads": 3, "d_k": 5, "d_v": 4,
        "num_encoder_layers": 1, "num_decoder_layers": 2,
        "source_vocab_size": 23, "target_vocab_size": 23,
    }  # fmt: skip
    config = ModelConfig.parse(sizes | changes)

    with FlopCounterMode(display=False) as counter:
        model(torch.ones(1, 6, dtype=torch.long), torch.ones(1, 7, dtype=torch.long))

    assert 2 * multiply_adds(config, 6, 7).total == counter.get_total_flops()


def test_self_attention_costs_n_squared_d_and_the_projections_n_d_squared() -> None:
    config = presets.base()

    once, twice = multiply_adds(config, 100, 100), multiply_adds(config, 200, 200)

    assert once.attention == 18 * 2 * 100**2 * 512
    assert twice.attention == 4 * once.attention
    assert once.projections == 18 * 4 * 100 * 512**2
    assert twice.projections == 2 * once.projections
