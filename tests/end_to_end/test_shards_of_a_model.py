"""A model that is divided among processes trains as a whole one does, and goes on as either."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headway.bundle import load_bundle
from headway.config.run import RunConfig
from headway.training.tensor_file import read_tensors

if TYPE_CHECKING:
    Trainings = Any

MakeConfig = Callable[..., RunConfig]
SameRun = Callable[[Path, Path], None]
AssertAlike = Callable[[Path, Path], None]

RECIPE = {"record_every_steps": 1, "parts": 4, "batch_tokens": 30, "clip_norm": 5.0}


@pytest.fixture(scope="module")
def whole(make_config: MakeConfig) -> RunConfig:
    return make_config(training=RECIPE)


@pytest.fixture(scope="module")
def shards(make_config: MakeConfig) -> RunConfig:
    return make_config(training=RECIPE | {"shard": True})


@pytest.fixture(scope="module")
def alone(
    trainings: "Trainings", whole: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "run"
    assert trainings.run(whole, folder) == 0
    return folder


@pytest.fixture(scope="module")
def divided(
    trainings: "Trainings", shards: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("divided") / "run"
    assert trainings.run(shards, folder, processes=2) == 0
    return folder


def test_two_shards_make_the_run_that_one_process_makes(
    divided: Path, alone: Path, assert_alike: AssertAlike
) -> None:
    assert_alike(divided, alone)


def test_a_checkpoint_does_not_tell_that_there_were_shards(divided: Path, alone: Path) -> None:
    tensors, _ = read_tensors(divided / "checkpoints" / "last.safetensors")
    expected, _ = read_tensors(alone / "checkpoints" / "last.safetensors")

    assert {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()} == {
        name: (tensor.shape, tensor.dtype) for name, tensor in expected.items()
    }


def test_processes_with_fewer_parts_than_others_keep_pace(
    trainings: "Trainings",
    make_config: MakeConfig,
    assert_alike: AssertAlike,
    tmp_path: Path,
) -> None:
    # Three parts an update: one of two processes has two, and the other has one.
    settings = RECIPE | {"parts": 3, "accumulate": 1}
    assert trainings.run(make_config(training=settings), tmp_path / "alone") == 0

    divided = make_config(training=settings | {"shard": True})
    assert trainings.run(divided, tmp_path / "run", processes=2) == 0

    assert_alike(tmp_path / "run", tmp_path / "alone")


def test_gradients_in_shards_are_clipped_by_the_norm_of_all(
    trainings: "Trainings", make_config: MakeConfig, tmp_path: Path
) -> None:
    settings = RECIPE | {"max_steps": 4, "clip_norm": 0.1}
    assert trainings.run(make_config(training=settings), tmp_path / "alone") == 0

    divided = make_config(training=settings | {"shard": True})
    assert trainings.run(divided, tmp_path / "run", processes=2) == 0

    steps, expected = (
        [
            (record["loss"], record["gradient_norm"])
            for record in map(
                json.loads, (tmp_path / name / "metrics.jsonl").read_text().splitlines()
            )
            if record["kind"] == "step"
        ]
        for name in ("run", "alone")
    )
    norms = [norm for _, norm in steps]
    assert min(norms) > 0.1
    assert max(norms) > 2 * min(norms)  # so each step is scaled otherwise, and Adam sees it
    for step, by_one in zip(steps, expected, strict=True):
        assert step == pytest.approx(by_one, rel=1e-3)


def test_shards_that_are_killed_go_on_to_the_same_bytes(
    trainings: "Trainings",
    shards: RunConfig,
    divided: Path,
    assert_same_run: SameRun,
    tmp_path: Path,
) -> None:
    killed = {"kill_process": 1, "kill_at_step": 7, "number": signal.SIGKILL}
    assert trainings.run(shards, tmp_path / "run", processes=2, **killed) == -9
    assert not (tmp_path / "run" / "report.json").exists()

    assert trainings.run(shards, tmp_path / "run", processes=2) == 0

    assert_same_run(tmp_path / "run", divided)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_run_goes_on_with_shards_or_without(
    trainings: "Trainings",
    whole: RunConfig,
    shards: RunConfig,
    alone: Path,
    assert_alike: AssertAlike,
    tmp_path: Path,
    before: int,
    after: int,
) -> None:
    configs = {1: whole, 2: shards}
    killed = {"kill_process": 0, "kill_at_step": 5}
    assert trainings.run(configs[before], tmp_path / "run", processes=before, **killed) == -9

    assert trainings.run(configs[after], tmp_path / "run", processes=after) == 0

    assert_alike(tmp_path / "run", alone)


def test_a_process_holds_its_share_of_weights_moments_and_average(
    trainings: "Trainings", make_config: MakeConfig, assert_alike: AssertAlike, tmp_path: Path
) -> None:
    recipe = {"max_steps": 6, "record_every_steps": 1, "ema_decay": 0.7, "parts": 2}
    config = make_config(training=recipe)
    assert trainings.run(config, tmp_path / "alone") == 0
    config = make_config(training=recipe | {"shard": True})
    killed = {"kill_process": 0, "kill_at_step": 5}
    assert trainings.run(config, tmp_path / "run", processes=2, **killed) == -9

    # What comes from a checkpoint may be a view of the whole, and must not.
    assert trainings.run(config, tmp_path / "run", processes=2, weigh=tmp_path) == 0

    assert_alike(tmp_path / "run", tmp_path / "alone")
    model = load_bundle(tmp_path / "run").model
    size = sum(parameter.numel() for parameter in model.parameters())
    for process in ("0", "1"):
        held = json.loads((tmp_path / f"held-{process}").read_text())
        assert held["weights"] == pytest.approx(size / 2, rel=0.05)
        assert held["average"] == pytest.approx(size / 2, rel=0.05)
        assert held["moments"] == pytest.approx(size, rel=0.05)


def test_one_process_is_refused_in_so_many_words(
    trainings: "Trainings", shards: RunConfig, tmp_path: Path
) -> None:
    assert trainings.run(shards, tmp_path / "run") == 2

    assert trainings.log()["kind"] == "ConfigError"
    assert trainings.log()["error"] == (
        "training.shard is true, but there is only one process, so there is nothing to divide. "
        "Start "
        "several with torchrun (docs/en/howto/several-processes.md), or set training.shard=false."
    )
    assert not (tmp_path / "run").exists()
