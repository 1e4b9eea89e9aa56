"""The moving average is its formula, and what a run with one validates, keeps and ends with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.bundle import load_bundle
from headway.config.run import RunConfig, load_run_config
from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.ema import WeightAverage, decay_at
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.tensor_file import read_tensors

MakeConfig = Callable[..., RunConfig]


def fill(model: Transformer, value: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)


def test_three_updates_worked_out_by_hand(model: Transformer) -> None:
    fill(model, 8.0)
    average = WeightAverage(model, decay=0.25)
    expected = [
        8 * 2 / 11 + 4 * 9 / 11,  # (1 + 1) / (10 + 1) is less than 0.25
        (8 * 2 / 11 + 4 * 9 / 11) * 0.25 + 2 * 0.75,  # (1 + 2) / (10 + 2) is 0.25
        ((8 * 2 / 11 + 4 * 9 / 11) * 0.25 + 2 * 0.75) * 0.25 + 1 * 0.75,
    ]

    for step, (weight, value) in enumerate(zip([4.0, 2.0, 1.0], expected, strict=True), start=1):
        fill(model, weight)
        average.update(model, step)
        for parameter in average.model.parameters():
            torch.testing.assert_close(parameter, torch.full_like(parameter, value))

    assert expected[-1] == pytest.approx((8 * 2 / 11 + 4 * 9 / 11) / 16 + 2 * 3 / 16 + 3 / 4)


def test_the_decay_warms_up() -> None:
    rates = [decay_at(step, 0.9) for step in (1, 2, 8, 79, 80, 81, 10**6)]
    assert rates == pytest.approx([2 / 11, 3 / 12, 0.5, 80 / 89, 0.9, 0.9, 0.9])


def test_equal_weights_are_their_own_average(model: Transformer) -> None:
    average = WeightAverage(model, decay=0.9)
    for step in range(1, 6):
        average.update(model, step)
    for mean, parameter in zip(average.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(mean, parameter)


def test_it_is_apart_from_the_model_and_shares_what_the_model_shares(model: Transformer) -> None:
    average = WeightAverage(model, decay=0.9).model

    assert average.output_projection.weight is average.source_embedding.tokens.weight
    assert not {p.data_ptr() for p in average.parameters()} & {
        p.data_ptr() for p in model.parameters()
    }
    assert not any(parameter.requires_grad for parameter in average.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.usefixtures("no_picture")
def test_a_run_validates_and_ends_with_the_average(make_config: MakeConfig, tmp_path: Path) -> None:
    settings = {"ema_decay": 0.8, "validation_sentences": 0}
    plain = train(make_config(), tmp_path / "plain", reporter=Reporter(quiet=True))

    run = train(make_config(training=settings), tmp_path / "run", reporter=Reporter(quiet=True))

    tensors, _ = read_tensors(run.folder / "checkpoints" / "last.safetensors")
    other, _ = read_tensors(plain.folder / "checkpoints" / "last.safetensors")
    final = load_bundle(run.folder / "averaged").model
    for name, parameter in final.named_parameters():
        assert torch.equal(parameter, tensors[f"average/{name}"])
        assert torch.equal(tensors[f"model/{name}"], other[f"model/{name}"])  # trained as without
        assert not torch.equal(parameter, tensors[f"model/{name}"])
    assert run.report["averaged_steps"] == [12]
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines if '"validation"' in line]
    assert losses[-1] == run.report["validation_loss"]
    assert min(losses) == load_bundle(run.folder / "best").record["validation_loss"]
    assert len(list((run.folder / "checkpoints").glob("weights-*"))) == 1


@pytest.mark.parametrize("decay", ["0.0", "1.0", "1.5"])
def test_a_decay_is_between_0_and_1(decay: str) -> None:
    with pytest.raises(ConfigError, match=r"'training\.ema_decay' is"):
        load_run_config(None, [f"training.ema_decay={decay}"])
