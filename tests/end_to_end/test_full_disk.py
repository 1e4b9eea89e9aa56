"""The system itself refuses to write on: the error is one sentence and the run goes on later."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import RunConfig

MakeConfig = Callable[..., RunConfig]
SameRun = Callable[[Path, Path], None]
Trainings = Any


@pytest.mark.parametrize(
    ("largest_file", "refused"),
    [
        (500, "config.toml"),
        (20_000, "The bundle"),
        (50_000, "last.safetensors"),
    ],
    ids=["configuration", "best-weights", "checkpoint"],
)
def test_a_write_that_the_system_refuses_is_named_and_the_run_goes_on(
    trainings: Trainings,
    make_config: MakeConfig,
    assert_same_run: SameRun,
    tmp_path: Path,
    largest_file: int,
    refused: str,
) -> None:
    # Without normalization a tokenizer is small, and a checkpoint is the largest file.
    config = make_config(
        tokenizer={"normalization": "identity"},
        training={"max_steps": 5, "checkpoint_every_steps": 100},
    )
    assert trainings.run(config, tmp_path / "whole") == 0

    assert trainings.run(config, tmp_path / "run", largest_file=largest_file) == 1
    error = trainings.log()["error"]
    leftovers = list((tmp_path / "run").rglob("*.partial"))
    assert trainings.run(config, tmp_path / "run") == 0

    assert refused in error
    assert "cannot be written (File too large)" in error
    assert not leftovers
    assert_same_run(tmp_path / "run", tmp_path / "whole")
