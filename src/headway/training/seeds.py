"""One recipe with several seeds, to measure the random part of a score.

OUT/seed-1, OUT/seed-2, … are ordinary runs, one after the other; OUT/seeds.json summarizes them.
Three seeds give only a rough spread.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headway.bundle import Change
from headway.config.run import RunConfig, load_run_config
from headway.errors import ConfigError, RunError
from headway.evaluation.units import scores_in_percent
from headway.home import expanded
from headway.saved_bundle import AVERAGED
from headway.training.distributed import is_alone
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.run_folder import RunFolder


def train_seeds(
    config: RunConfig | None,
    out: str | Path,
    count: int,
    *,
    change: Change | None = None,
    resume: bool = False,
    device: str = "auto",
    make_reporter: Callable[[], Reporter] = Reporter,
    trust_code: bool = False,
) -> dict[str, Any] | None:
    """Train `count` runs with consecutive seeds; return None if a signal stopped one of them.

    change: puts your own parts into each new model, as in `headway.train`. resume: continue the
    run that was stopped, and do not repeat finished ones; then the configuration may be None.
    trust_code: as in `headway.train`.
    """
    if count < 2:
        raise ConfigError(
            f"{count} seed is not enough to show a spread.", "Give --seeds 2 or more."
        )
    if not is_alone():
        raise ConfigError(
            "--seeds trains one run after another in one process, but there are several.",
            "Start torchrun for each seed, with --set training.seed=N and a separate folder.",
        )
    if not resume:
        _check_free(expanded(out))
    config = config or load_run_config(begun_config(out))
    seeds = range(config.training.seed, config.training.seed + count)
    folders = [expanded(out) / f"seed-{seed}" for seed in seeds]
    for seed, folder in zip(seeds, folders, strict=True):
        seeded = _with_seed(config, seed)
        begun = RunFolder(folder).has_begun()
        if begun and _finished(seeded, folder):
            continue
        reporter = make_reporter()
        reporter.say(f"Seed {seed}, the last is {seeds[-1]}: {folder}")
        result = train(
            seeded,
            folder,
            change=change,
            resume=begun,
            device=device,
            reporter=reporter,
            trust_code=trust_code,
        )
        if not result.finished:
            return None
    summary = summarize(folders)
    RunFolder(out).write_json(expanded(out) / "seeds.json", summary)
    return summary


def _check_free(out: Path) -> None:
    if any(out.glob("seed-*/config.toml")):
        raise RunError(
            f"The folder {out} holds runs of several seeds already.",
            "Choose another folder with --out, or continue these with --resume.",
        )
    RunFolder(out).check_free()


def begun_config(out: str | Path) -> Path:
    """Return the configuration of the run with the lowest seed; RunError without a run."""
    paths = expanded(out).glob("seed-*/config.toml")
    numbers = [(path.parent.name.removeprefix("seed-"), path) for path in paths]
    runs = [(int(number), path) for number, path in numbers if number.isdecimal()]
    if not runs:
        raise RunError(
            f"The folder {out} holds no runs of several seeds to continue.",
            "Check --out, or start without --resume.",
        )
    return min(runs)[1]


def _with_seed(config: RunConfig, seed: int) -> RunConfig:
    """Return the configuration with this seed; unset settings stay unset."""
    return config.model_copy(update={"training": config.training.model_copy(update={"seed": seed})})


def _finished(config: RunConfig, folder: Path) -> bool:
    """Return True if a run has ended, and the configuration does not make it longer."""
    run = RunFolder(folder)
    begun = load_run_config(run.config)
    config = run.resume(config)  # refuses another configuration
    ends = ("max_steps", "max_epochs", "patience")
    same = all(getattr(begun.training, key) == getattr(config.training, key) for key in ends)
    return same and run.report.exists()


def summarize(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the scores of finished runs, with mean and spread of each."""
    reports = [scores_in_percent(run.read_json(run.report)) for run in map(RunFolder, folders)]
    runs = [
        {
            "seed": report["seed"],
            "folder": folder.name,
            "steps": report["steps"],
            "seconds": report["seconds"],
            "precision": report["precision"],
            # Earlier versions always scored the averaged weights.
            "weights": report.get("weights", AVERAGED),
            "validation_loss": report["validation_loss"],
            **{text: report[text] for text in ("valid", "test") if text in report},
        }
        for folder, report in zip(folders, reports, strict=True)
    ]
    losses = [report["validation_loss"] for report in reports]
    losses = [math.nan if loss is None else loss for loss in losses]  # JSON has no NaN
    scores = [{"text": "valid", "name": "loss", "signature": "", **spread(losses)}]
    for text in ("valid", "test"):
        for index in range(len(reports[0].get(text, []))):
            same = [report[text][index] for report in reports]
            _check_signatures(text, same)
            values = spread([score["value"] for score in same])
            named = {key: same[0][key] for key in ("name", "signature", "unit")}
            scores.append({"text": text, **named, **values})
    return {"runs": runs, "scores": scores}


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation (n - 1 below), smallest and largest value.

    All of them are NaN if a value is NaN.
    """
    if any(map(math.isnan, values)):
        names = ("mean", "standard_deviation", "min", "max")
        return dict.fromkeys(names, math.nan) | {"values": list(values)}
    return {
        "mean": statistics.fmean(values),
        "standard_deviation": statistics.stdev(values),
        "min": min(values),
        "max": max(values),
        "values": list(values),
    }


def _check_signatures(text: str, scores: Sequence[dict[str, Any]]) -> None:
    """Refuse to compare scores that were computed in different ways."""
    signatures = sorted({f"{score['name']} {score['signature']}" for score in scores})
    if len(signatures) > 1:
        raise RunError(
            f"The {text} scores of these runs are of different kinds: {', '.join(signatures)}.",
            "Train all seeds with one version of Headway and sacreBLEU.",
        )


def table(summary: dict[str, Any]) -> list[str]:
    """Return a small table of the scores for people, one line each."""
    names = [f"{score['text']} {score['name']}" for score in summary["scores"]]
    width = max(len(name) for name in names)
    keys = ("mean", "standard_deviation", "min", "max")
    lines = [" " * width + "".join(f"{head:>10}" for head in ("mean", "± sd", "min", "max"))]
    for name, score in zip(names, summary["scores"], strict=True):
        decimals = 4 if score["name"] == "loss" else 2
        cells = "".join(f"{score[key]:10.{decimals}f}" for key in keys)
        lines.append(f"{name:<{width}}{cells}")
    return lines
