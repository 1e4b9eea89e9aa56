"""A model with a part of one's own trains and translates on another device as on the CPU."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import headway
from headway import Transformer
from headway.config.run import RunConfig
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.initialization import initialize

MakeConfig = Callable[..., RunConfig]


class Squared(PositionwiseFeedForward):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_2(torch.relu(self.w_1(x)) ** 2)


def squared(model: Transformer) -> None:
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        w_1 = layer.feed_forward.w_1
        layer.feed_forward = Squared(w_1.in_features, w_1.out_features)
        initialize(layer.feed_forward)


@pytest.mark.filterwarnings("ignore:.*reference engine")
def test_a_part_of_ones_own(make_config: MakeConfig, device: str, tmp_path: Path) -> None:
    found = []
    for where in ("cpu", device):
        run = headway.train(make_config(), tmp_path / where, device=where, change=squared)
        translator = headway.load(run.folder, where, change=squared)
        assert find_stepwise_mismatch(translator.models[0]) == ""
        found.append((run.report["validation_loss"], translator.translate("one two three").score))
    assert found[1] == pytest.approx(found[0], rel=1e-3)
