"""A user's own parts are trained, scored, saved and resumed like Headway's own."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headway
from headway.bundle import Bundle
from headway.config.run import RunConfig
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError, RunError
from headway.model.attention import MultiHeadAttention
from headway.model.embedding import OutputProjection
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer
from headway.training.loss import label_smoothed_cross_entropy
from headway.training.objective import batch_loss
from headway.training.reporting import Reporter
from headway.training.run import score_bundle, train
from headway.training.seeds import train_seeds

from .conftest import MakeConfig

pytestmark = pytest.mark.filterwarnings("ignore:The reference engine translates:UserWarning")


class Cosine(MultiHeadAttention):
    """Attention by the angle between query and key, with a learned sharpness for each head."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        self.sharpness = nn.Parameter(torch.full((num_heads, 1, 1), 8.0))

    def split(self, name: str, projected: Tensor) -> Tensor:
        split = super().split(name, projected)
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
    reference = TextTranslator(translator.bundle, engine="reference")
    sentences = ["one two", "three one six"]
    texts = [found.text for found in reference.translate(sentences)]
    assert [found.text for found in translator.translate(sentences)] == texts
    pairs = headway.training.texts.read_texts(config.data).valid
    scores = [score.as_dict() for score in score_bundle(reference.bundle, pairs, config)[0]]
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

    with pytest.raises(ConfigError, match="not a model with the parts of change="):
        train(divided, tmp_path / "run", change=cosine)
    assert not (tmp_path / "run").exists()


class Squared(PositionwiseFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(self.w_1(x).relu() ** 2)


def squared(model: Transformer) -> None:
    """Change what is computed, and neither names nor shapes of weights."""
    for layer in model.encoder.layers:
        layer.feed_forward = Squared(12, 20)


@pytest.mark.parametrize("begun", [None, squared])
def test_a_run_does_not_go_on_with_other_parts(
    config: RunConfig, tmp_path: Path, begun: Any
) -> None:
    train(config, tmp_path / "run", change=begun)
    before = (tmp_path / "run" / "config.toml").read_bytes()

    with pytest.raises(RunError, match=r"feed_forward of class (Squared|Headway's own), but here"):
        train(None, tmp_path / "run", change=None if begun else squared, resume=True)
    assert (tmp_path / "run" / "config.toml").read_bytes() == before


class Capped(OutputProjection):
    def forward(self, x: Tensor) -> Tensor:
        return 3 * torch.tanh(super().forward(x) / 3)


def test_an_own_output_projection_is_trained_as_it_is_called(bundle: Bundle) -> None:
    model = bundle.model.eval()
    model.output_projection.__class__ = Capped
    batch = collate([EncodedPair([4, 5, 6], [7, 8], 1), EncodedPair([5], [6, 4, 9], 2)])

    found = batch_loss(model, batch, 0.1, "float32")

    logits = model(batch.source_ids, batch.target_ids).flatten(0, 1)
    expected = label_smoothed_cross_entropy(logits, batch.label_ids.flatten(), 0.1)
    torch.testing.assert_close(found, expected)
    assert logits.abs().max() < 3
    model.output_projection.__class__ = OutputProjection
    assert abs(batch_loss(model, batch, 0.1, "float32").loss - found.loss) > 1e-3


def test_a_buffer_is_refused_before_the_first_step(config: RunConfig, tmp_path: Path) -> None:
    def counting(model: Transformer) -> None:
        model.encoder.register_buffer("seen", torch.zeros(1))

    with pytest.raises(ConfigError, match=r"encoder\.seen is a buffer"):
        train(config, tmp_path / "run", change=counting)
    assert not (tmp_path / "run").exists()


class Wide(PositionwiseFeedForward):
    """Another shape under a known name, and a name of its own."""

    def __init__(self) -> None:
        super().__init__(12, 28)
        self.gain = nn.Parameter(torch.tensor([2.0]))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.gain


def wide(model: Transformer) -> None:
    for layer in model.encoder.layers:
        layer.feed_forward = Wide()


class Listening(Reporter):
    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


def started(config: RunConfig, start: Path, folder: Path, change: Any) -> tuple[Any, list[str]]:
    """Return the weights that a fine-tune begins with, and what it says."""
    reporter = Listening()
    still = {"start_from": str(start), "max_steps": 1, "learning_rate": 1e-30}
    tune = config.model_copy(update={"training": config.training.replace(still)})
    train(tune, folder, change=change, reporter=reporter)
    bundle = headway.bundle.load_bundle(folder, change=change)
    return dict(bundle.model.named_parameters()), reporter.said


def test_a_fine_tune_takes_all_of_a_changed_model(config: RunConfig, tmp_path: Path) -> None:
    train(config, tmp_path / "first", change=cosine)

    found, said = started(config, tmp_path / "first", tmp_path / "tuned", cosine)

    expected = weights(tmp_path / "first")
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-20)  # a step of no rate
    assert not any("drawn" in line or "left out" in line for line in said)
    for other in (None, squared):
        with pytest.raises(BundleError, match="is Cosine, but here it is that of Headway"):
            started(config, tmp_path / "first", tmp_path / "other", other)
    assert not (tmp_path / "other").exists()


def test_a_fine_tune_may_put_its_own_parts_into_a_plain_model(
    config: RunConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first")

    found, said = started(config, tmp_path / "first", tmp_path / "tuned", wide)

    expected = dict(headway.bundle.load_bundle(tmp_path / "first").model.named_parameters())
    part = "encoder.layers.0.feed_forward"
    drawn = {f"{part}.gain", f"{part}.w_1.weight", f"{part}.w_1.bias", f"{part}.w_2.weight"}
    assert found.keys() - expected.keys() == {f"{part}.gain"}
    assert found[f"{part}.gain"] == 2
    for name in found.keys() - drawn:
        torch.testing.assert_close(found[name], expected[name], rtol=0, atol=1e-20)
    assert f"Tensors that begin as they were drawn: 4, the first is {part}.gain." in said
    left = f"Tensors of the trained model that are left out: 3, the first is {part}.w_1.bias."
    assert left in said


def test_several_seeds_all_train_the_changed_model(config: RunConfig, tmp_path: Path) -> None:
    summary = train_seeds(
        config, tmp_path / "all", 2, change=cosine, make_reporter=lambda: Reporter(quiet=True)
    )

    assert summary is not None
    for seed in (run["seed"] for run in summary["runs"]):
        name = "decoder.layers.0.cross_attention.sharpness"
        assert weights(tmp_path / "all" / f"seed-{seed}")[name].mean() != 8


class Forgetful(PositionwiseFeedForward):
    """Adds up what came before, and keeps none of it for the next step of a translation."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.cumsum(dim=1))


@pytest.mark.filterwarnings("ignore:At target position 1:UserWarning")
def test_a_decoder_that_would_translate_otherwise_is_said_before_training(
    config: RunConfig, tmp_path: Path
) -> None:
    def forgetful(model: Transformer) -> None:
        for layer in model.decoder.layers:
            layer.feed_forward = Forgetful(12, 20)

    reporter = Listening()
    train(config, tmp_path / "run", change=forgetful, reporter=reporter)
    assert reporter.said[1].startswith(
        "At target position 1 this model gives other results one position at"
    )


def test_what_a_part_raises_when_it_translates_is_raised_before_training(
    config: RunConfig, tmp_path: Path
) -> None:
    def breaking(model: Transformer) -> None:
        def forward(x: Tensor, *arguments: Any) -> Tensor:
            raise ValueError(f"{x.size(1)} positions are too few")

        model.decoder.layers[0].forward = forward

    with pytest.raises(ValueError, match="positions are too few"):
        train(config, tmp_path / "run", change=breaking)
    assert not (tmp_path / "run").exists()


def test_a_model_in_float64_can_be_loaded_again(config: RunConfig, tmp_path: Path) -> None:
    def double(model: Transformer) -> Transformer:
        return model.double()

    train(config, tmp_path / "run", change=double)
    text = "one two three"
    found = headway.load(tmp_path / "run", change=double).translate(text)
    assert found.pieces == headway.load(tmp_path / "run").translate(text).pieces


def test_another_model_is_not_trained_in_silence(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="change returned another model, a Transformer"):
        train(config, tmp_path / "run", change=copy.deepcopy)
    with pytest.raises(ConfigError, match="change is a str, which cannot be called"):
        train(config, tmp_path / "run", change="squared")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
