"""A user's own parts are trained, scored, saved and resumed like Headway's own."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headway
from headway.config.run import RunConfig
from headway.decoding.translator import Translator
from headway.errors import BundleError, ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.transformer import Transformer
from headway.training.run import score_bundle, train

from .conftest import MakeConfig

pytestmark = pytest.mark.filterwarnings("ignore:The reference engine translates:UserWarning")


class Cosine(MultiHeadAttention):
    """Attention by the angle between query and key, with a learned sharpness for each head."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        self.sharpness = nn.Parameter(torch.full((num_heads, 1, 1), 8.0))

    def _split(self, name: str, projected: Tensor) -> Tensor:
        split = super()._split(name, projected)
        if name == "v":
            return split
        unit = split / split.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        return unit * self.sharpness if name == "q" else unit


def cosine(model: Transformer) -> None:
    for layer in model.decoder.layers:
        attention = layer.cross_attention
        layer.cross_attention = Cosine(attention.d_model, attention.num_heads)


@pytest.fixture
def config(make_config: MakeConfig) -> RunConfig:
    return make_config(training={"max_steps": 6, "validate_every_steps": 3})


def weights(folder: Path) -> dict[str, Any]:
    bundle = headway.bundle.load_bundle(folder, change=cosine)
    return dict(bundle.model.named_parameters())


def test_the_whole_run_is_of_the_changed_model(config: RunConfig, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="The reference engine translates.*is of class Cosine"):
        train(config, tmp_path / "run", change=cosine)

    with pytest.raises(BundleError, match="is Cosine, but here it is that of Headway"):
        headway.load(tmp_path / "run")
    translator = headway.load(tmp_path / "run", change=cosine)
    found = weights(tmp_path / "run" / "averaged")
    assert not torch.equal(
        found["decoder.layers.0.cross_attention.sharpness"], torch.full((2, 1, 1), 8.0)
    )
    reference = Translator(translator.bundle, engine="reference")
    sentences = ["one two", "three one six"]
    texts = [found.text for found in reference.translate(sentences)]
    assert [found.text for found in translator.translate(sentences)] == texts
    pairs = headway.training.prepare.read_texts(config.data).valid
    scores = [score.as_dict() for score in score_bundle(reference.bundle, pairs, config)]
    assert json.loads((tmp_path / "run" / "report.json").read_text())["valid"] == scores


def test_a_changed_run_goes_on_bit_for_bit(config: RunConfig, tmp_path: Path) -> None:
    train(config, tmp_path / "whole", change=cosine)
    short = config.model_copy(update={"training": config.training.replace({"max_steps": 3})})
    train(short, tmp_path / "parts", change=cosine)
    train(config, tmp_path / "parts", change=cosine, resume=True)

    whole, parts = (weights(tmp_path / name / "best") for name in ("whole", "parts"))

    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_shares_of_the_weights_are_refused(config: RunConfig, tmp_path: Path) -> None:
    divided = config.model_copy(update={"training": config.training.replace({"shard": True})})

    with pytest.raises(ConfigError, match="not one with parts of change="):
        train(divided, tmp_path / "run", change=cosine)
    assert not (tmp_path / "run").exists()
