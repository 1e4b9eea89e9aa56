"""A run that is killed, at any moment, and continued comes to the same bytes.

HEADWAY_KILLS=20 kills twenty runs instead of five at random moments, and as many before changes
of the disk that are spread evenly over the run; with 80 or more, before each change.
"""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headway.bundle import load_bundle
from headway.config.run import RunConfig

if TYPE_CHECKING:
    Trainings = Any

MakeConfig = Callable[..., RunConfig]
SameRun = Callable[[Path, Path], None]

KILLS = int(os.environ.get("HEADWAY_KILLS", "5"))


@pytest.fixture(scope="module")
def config(make_config: MakeConfig) -> RunConfig:
    return make_config()


@pytest.fixture(scope="module")
def whole(
    trainings: "Trainings", config: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert trainings.run(config, folder) == 0
    assert trainings.log()["finished"]
    return folder


@pytest.fixture(scope="module")
def changes(
    trainings: "Trainings", config: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """Return what one run changes on the disk, in order."""
    folder = tmp_path_factory.mktemp("counted") / "run"
    assert trainings.run(config, folder) == 0
    return trainings.log()["changes"]


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_random_moments(
    trainings: "Trainings",
    config: RunConfig,
    whole: Path,
    assert_same_run: SameRun,
    tmp_path: Path,
    seed: int,
) -> None:
    rng = random.Random(seed)
    for _ in range(3):
        seconds = rng.uniform(0.02, 0.4)
        assert trainings.run(config, tmp_path / "run", kill_after_seconds=seconds) in (0, -9)

    assert trainings.run(config, tmp_path / "run") == 0

    assert_same_run(tmp_path / "run", whole)


@pytest.mark.parametrize("number", range(KILLS))
def test_killed_before_a_change_of_the_disk(
    trainings: "Trainings",
    config: RunConfig,
    changes: list[str],
    whole: Path,
    assert_same_run: SameRun,
    tmp_path: Path,
    number: int,
) -> None:
    index = int((number + 0.5) / KILLS * len(changes))
    assert trainings.run(config, tmp_path / "run", kill_before=index) == -signal.SIGKILL

    assert trainings.run(config, tmp_path / "run") == 0

    assert_same_run(tmp_path / "run", whole)


MOMENTS = {
    "before the run has a configuration": ("os.rename .config.toml", 0),
    "before it has its tokenizers": ("os.rename .source.model", 0),
    "before the first best weights": ("os.mkdir .best", 0),
    "before the first checkpoint": ("os.rename .last.safetensors", 0),
    "between best weights and snapshot": ("open .weights-00000008", 0),
    "between snapshot and checkpoint": ("open .last.safetensors", 3),
    "while the best weights are written": ("open .manifest.json", 1),
    "before better weights are valid": ("os.rename .bundle-", 0),
    "before their first file is in its place": ("os.rename card.md", 0),
    "before their manifest is": ("os.rename manifest.json", 0),
    "before the folder that they were in goes": ("os.rmdir .bundle", 0),
    "before old snapshots are removed": ("os.remove weights-00000004", 0),
    "before the final averaging": ("os.mkdir .averaged", 0),
    "while the average is written": ("open .model.safetensors", -1),
    "before the report": ("open .report.json", 0),
}


@pytest.mark.parametrize(("pattern", "which"), MOMENTS.values(), ids=MOMENTS.keys())
def test_killed_where_it_would_hurt(
    trainings: "Trainings",
    config: RunConfig,
    changes: list[str],
    whole: Path,
    assert_same_run: SameRun,
    tmp_path: Path,
    pattern: str,
    which: int,
) -> None:
    event, start = pattern.split()
    moments = [
        index
        for index, change in enumerate(changes)
        if change.startswith(event) and Path(change).name.startswith(start)
    ]

    assert trainings.run(config, tmp_path / "run", kill_before=moments[which]) == -signal.SIGKILL
    for name in ("best", "averaged"):  # whoever reads now finds a whole bundle or none
        if (tmp_path / "run" / name).exists():
            load_bundle(tmp_path / "run" / name)
    assert trainings.run(config, tmp_path / "run") == 0

    assert_same_run(tmp_path / "run", whole)


def test_the_best_weights_never_go_missing(
    trainings: "Trainings", config: RunConfig, changes: list[str], tmp_path: Path
) -> None:
    """Kill while the second best weights take the place of the first, file by file."""
    moves = [
        index
        for index, change in enumerate(changes)
        if change.startswith("os.rename") and Path(change).parent.name == ".bundle"
    ]
    steps = []
    for name, index in (("before", moves[0] - 1), ("after", moves[2])):
        trainings.run(config, tmp_path / name, kill_before=index)
        steps.append(load_bundle(tmp_path / name / "best").record["steps"])

    assert steps[0] < steps[1]
    assert (tmp_path / "after" / "best" / ".bundle").exists()


def test_ctrl_c_at_random_moments(
    trainings: "Trainings",
    config: RunConfig,
    whole: Path,
    assert_same_run: SameRun,
    tmp_path: Path,
) -> None:
    rng = random.Random(4)
    for _ in range(4):
        # Outside of the training loop Python's own KeyboardInterrupt ends the process, with 130.
        seconds = rng.uniform(0.05, 0.3)
        status = trainings.run(
            config, tmp_path / "run", kill_after_seconds=seconds, number=signal.SIGINT
        )
        assert status in (0, 130), trainings.log()

    assert trainings.run(config, tmp_path / "run") == 0

    assert_same_run(tmp_path / "run", whole)
