"""Several seeds are several runs, each as it would be alone, and their spread."""

import json
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import RunConfig
from headway.errors import ConfigError, RunError
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.seeds import begun_config, spread, summarize, table, train_seeds
from headway.training.update import StepResult

MakeConfig = Callable[..., RunConfig]

pytestmark = pytest.mark.usefixtures("no_picture")


def quiet_reporter() -> Reporter:
    return Reporter(quiet=True)


class Stops(Reporter):
    """Press Ctrl-C after the given steps of the runs, one after another."""

    runs = 0

    def __init__(self, at_run: int, at_step: int) -> None:
        super().__init__(quiet=True)
        Stops.runs += 1
        self.at_step = at_step if Stops.runs == at_run else None

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def config(make_config: MakeConfig) -> RunConfig:
    data = make_config().data
    return make_config(
        data={"test_source": data.valid_source, "test_target": data.valid_target},
        training={"seed": 4, "max_steps": 4, "validation_sentences": 0},
        evaluation={"metrics": ["chrf", "wer"]},
    )


def test_each_run_is_what_it_would_be_alone(config: RunConfig, tmp_path: Path) -> None:
    summary = train_seeds(config, tmp_path / "all", 2, make_reporter=quiet_reporter)

    weights = []
    for seed in (4, 5):
        one = config.replace({"training": config.training.model_dump() | {"seed": seed}})
        alone = train(one, tmp_path / f"alone-{seed}", reporter=quiet_reporter())
        folder = tmp_path / "all" / f"seed-{seed}"
        weights.append((folder / "averaged" / "model.safetensors").read_bytes())
        assert weights[-1] == (alone.folder / "averaged" / "model.safetensors").read_bytes()
        assert (folder / "config.toml").read_bytes() == (alone.folder / "config.toml").read_bytes()
    assert weights[0] != weights[1]
    assert summary == json.loads((tmp_path / "all" / "seeds.json").read_text())


def test_the_summary_is_of_the_reported_scores(config: RunConfig, tmp_path: Path) -> None:
    summary = train_seeds(config, tmp_path / "all", 3, make_reporter=quiet_reporter)

    assert summary is not None
    reports = [json.loads((tmp_path / f"all/seed-{n}/report.json").read_text()) for n in (4, 5, 6)]
    assert [(one["seed"], one["folder"]) for one in summary["runs"]] == [
        (4, "seed-4"), (5, "seed-5"), (6, "seed-6")
    ]  # fmt: skip
    names = [(score["text"], score["name"]) for score in summary["scores"]]
    assert names == [
        ("valid", "loss"), ("valid", "chrf"), ("valid", "wer"), ("test", "chrf"), ("test", "wer")
    ]  # fmt: skip
    last = summary["scores"][-1]
    assert last["values"] == [report["test"][1]["value"] for report in reports]
    assert last["signature"] == reports[0]["test"][1]["signature"]
    assert summary["runs"][1]["test"] == reports[1]["test"]
    losses = [report["validation_loss"] for report in reports]
    assert summary["scores"][0]["mean"] == pytest.approx(sum(losses) / 3)


def test_the_spread_worked_out_by_hand() -> None:
    found = spread([2.0, 4.0, 9.0])
    assert found.pop("standard_deviation") == pytest.approx(13**0.5)  # (9 + 1 + 16) / 2
    assert found == {"mean": 5.0, "min": 2.0, "max": 9.0, "values": [2.0, 4.0, 9.0]}


def test_a_loss_that_is_no_number_leaves_the_other_scores(
    config: RunConfig, tmp_path: Path
) -> None:
    out = tmp_path / "all"
    train_seeds(config, out, 2, make_reporter=quiet_reporter)
    report = json.loads((out / "seed-5" / "report.json").read_text())
    (out / "seed-5" / "report.json").write_text(json.dumps(report | {"validation_loss": None}))

    again = train_seeds(config, out, 2, resume=True, make_reporter=quiet_reporter)

    assert again is not None
    written = json.loads((out / "seeds.json").read_text())["scores"]
    assert [written[0][key] for key in ("mean", "standard_deviation", "min", "max")] == [None] * 4
    assert written[0]["values"][0] is not None
    assert all(math.isfinite(score["standard_deviation"]) for score in again["scores"][1:])
    assert table(again)[1].split() == ["valid", "loss", *["nan"] * 4]


def test_a_stop_continues_the_run_it_hit_and_repeats_none(
    config: RunConfig, tmp_path: Path
) -> None:
    whole = train_seeds(config, tmp_path / "whole", 3, make_reporter=quiet_reporter)
    Stops.runs = 0
    stopped = train_seeds(config, tmp_path / "all", 3, make_reporter=lambda: Stops(2, 3))
    assert stopped is None
    assert not (tmp_path / "all" / "seeds.json").exists()
    assert not (tmp_path / "all" / "seed-6").exists()
    first = (tmp_path / "all" / "seed-4" / "report.json").stat().st_mtime_ns

    found = train_seeds(None, tmp_path / "all", 3, resume=True, make_reporter=quiet_reporter)

    assert (tmp_path / "all" / "seed-4" / "report.json").stat().st_mtime_ns == first
    assert found is not None
    assert whole is not None
    assert found["scores"] == whole["scores"]
    more = train_seeds(config, tmp_path / "all", 4, resume=True, make_reporter=quiet_reporter)
    assert more is not None
    assert more["runs"][:3] == found["runs"]


def test_a_copy_beside_the_runs_is_no_run(config: RunConfig, tmp_path: Path) -> None:
    for name in ("seed-11", "seed-2-old", "seed-x", "seed-3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").touch()

    assert begun_config(tmp_path) == tmp_path / "seed-3" / "config.toml"


def test_a_longer_recipe_goes_on_with_finished_runs(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"schedule": "constant", "validation_sentences": 0}
    short = make_config(training={"max_steps": 2} | settings)
    longer = make_config(training={"max_steps": 3} | settings)
    train_seeds(short, tmp_path / "all", 2, make_reporter=quiet_reporter)

    found = train_seeds(longer, tmp_path / "all", 2, resume=True, make_reporter=quiet_reporter)

    assert found is not None
    assert [one["steps"] for one in found["runs"]] == [3, 3]
    other = make_config(training={"max_steps": 3} | settings, model={"d_ff": 21})
    with pytest.raises(ConfigError, match=r"began with another model\.d_ff"):
        train_seeds(other, tmp_path / "all", 2, resume=True, make_reporter=quiet_reporter)


def test_a_longer_recipe_that_was_stopped_is_not_over(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"schedule": "constant", "validation_sentences": 0}
    train_seeds(
        make_config(training={"max_steps": 2} | settings),
        tmp_path / "all",
        2,
        make_reporter=quiet_reporter,
    )
    longer = make_config(training={"max_steps": 5} | settings)
    Stops.runs = 0

    stopped = train_seeds(
        longer, tmp_path / "all", 2, resume=True, make_reporter=lambda: Stops(2, 4)
    )
    assert stopped is None
    found = train_seeds(None, tmp_path / "all", 2, resume=True, make_reporter=quiet_reporter)

    assert found is not None
    assert [one["steps"] for one in found["runs"]] == [5, 5]


def test_what_is_in_the_way_is_refused_before_anything_is_trained(
    config: RunConfig, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="1 seed is not enough to show a spread"):
        train_seeds(config, tmp_path / "new", 1)
    with pytest.raises(RunError, match="holds no runs of several seeds"):
        train_seeds(None, tmp_path / "new", 2, resume=True)
    assert not (tmp_path / "new").exists()
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "thesis.txt").touch()
    with pytest.raises(RunError, match="holds something else already"):
        train_seeds(config, tmp_path / "some", 2)
    (tmp_path / "all" / "seed-5").mkdir(parents=True)
    (tmp_path / "all" / "seed-5" / "config.toml").touch()
    with pytest.raises(RunError, match=r"several seeds already\. .* with --resume"):
        train_seeds(config, tmp_path / "all", 2)


def test_several_processes_train_one_run_at_a_time(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    with pytest.raises(ConfigError, match="in one process, but there are several"):
        train_seeds(config, tmp_path / "all", 2)


def test_scores_of_different_kinds_are_not_averaged(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, signature in zip(folders, ("tok:13a", "tok:none"), strict=True):
        folder.mkdir()
        score = {"name": "bleu", "value": 3.5, "signature": signature}
        report = {"seed": 1, "steps": 2, "seconds": 3.0, "precision": "float32"}
        report |= {"validation_loss": 4.0, "test": [score]}
        (folder / "report.json").write_text(json.dumps(report))

    with pytest.raises(RunError, match="bleu tok:13a, bleu tok:none"):
        summarize(folders)

    assert summarize(folders[:1] * 2)["scores"][1]["unit"] == "%"
    assert table(summarize([folders[0], folders[0]])) == [
        "                mean      ± sd       min       max",
        "valid loss    4.0000    0.0000    4.0000    4.0000",
        "test bleu       3.50      0.00      3.50      3.50",
    ]
