"""A fresh model starts from Xavier's distribution with biases of zero."""

import math

import pytest
import torch
from torch import nn

from headway.config.model import ModelConfig
from headway.model.initialization import initialize
from headway.model.transformer import Transformer


def test_projections_are_uniform_within_xaviers_bound() -> None:
    linear = nn.Linear(90, 60)

    initialize(linear)

    bound = math.sqrt(6 / (90 + 60))
    assert linear.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert linear.weight.abs().max().item() <= bound
    assert linear.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    assert (linear.bias == 0).all()


def test_a_fresh_model_has_plain_norms_zero_biases_and_the_same_weights_for_a_seed() -> None:
    config = ModelConfig.parse(
        {"d_model": 12, "num_heads": 2, "source_vocab_size": 9, "target_vocab_size": 9}
    )
    models = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        models.append(dict(Transformer.from_config(config).named_parameters()))

    for name, parameter in models[0].items():
        assert torch.equal(parameter, models[1][name])
        if name.endswith("norm.weight"):
            assert (parameter == 1).all()
        elif name.endswith("bias"):
            assert (parameter == 0).all()
        else:
            assert not torch.equal(parameter, models[2][name])
