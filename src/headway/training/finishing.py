"""The two bundles of a finished run, best and averaged weights, with their records.

`find_bundle` returns the bundle that does better in validation.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from headway.bundle import Bundle, load_bundle, save_bundle, set_model_tensors
from headway.config.run import RunConfig
from headway.decoding.confidence import CONFIDENCE
from headway.errors import BundleError
from headway.saved_bundle import AVERAGED, BEST
from headway.training.averaging import average_snapshots
from headway.training.begin import BegunRun, RunContext
from headway.training.described import described, figures
from headway.training.run_folder import RunFolder
from headway.training.shards import unfilled
from headway.training.validation import ValidationResult

_OF_BETTER = ("valid", "test", CONFIDENCE)  # measured with the better weights only


@dataclass(frozen=True, slots=True)
class Weighed:
    """The averaged and the best weights of a run, and which of the two do better."""

    averaged: Bundle
    averaged_steps: list[int]
    best: Bundle | None
    """None if the run has none, or if they cannot be read."""
    best_is_better: bool
    validation: dict[str, dict[str, Any]]
    """Loss and scores of both, by name."""

    @property
    def better(self) -> Bundle:
        """Return the bundle that does better."""
        return self.best if self.best_is_better and self.best else self.averaged

    @property
    def are_equal(self) -> bool:
        """Return True if the best weights are the averaged ones, as in an average of one."""
        if self.best is None:
            return False
        averaged, best = (bundle.model.state_dict() for bundle in (self.averaged, self.best))
        return all(torch.equal(tensor, best[name]) for name, tensor in averaged.items())


def weigh(run: BegunRun, context: RunContext) -> Weighed:
    """Average weights, and compare them with the best ones on validation text."""
    trainer, progress = run.trainer, run.trainer.progress
    bundle = trainer.bundle
    if run.config.training.shard:
        bundle = unfilled(bundle, context.device)  # the other processes and their shares are gone
    value, steps, result = _average(bundle, run, context)
    best_value = progress.best_score
    best = None if best_value is None else _saved_best(run, context)
    is_better = best is not None and best_value is not None and value > best_value
    validation = {AVERAGED: figures(result)}
    if best is not None:
        loss = best.record.get("validation_loss", math.nan)  # earlier versions recorded no scores
        validation[BEST] = {"loss": loss, "scores": {}} | best.record.get("validation", {}).get(
            BEST, {}
        )
    return Weighed(bundle, steps, best, is_better, validation)


def _average(
    bundle: Bundle, run: BegunRun, context: RunContext
) -> tuple[float, list[int], ValidationResult]:
    """Give the model averaged weights; return their value, their steps and their validation.

    The averaged weights are those of the last validations, as in section 6.1. In a short run the
    first of these were hardly trained: if the average does worse than the best weights, averages of
    fewer are tried. A value that is NaN counts as infinite.
    """
    trainer, checkpoints = run.trainer, context.folder.checkpoints
    progress, judge = trainer.progress, trainer.validator.alone()
    tried: list[tuple[float, list[int], ValidationResult]] = []
    for steps in fewer_and_fewer(progress.snapshots):
        set_model_tensors(bundle.model, average_snapshots(checkpoints, steps))
        bundle.model.eval()
        result = judge(bundle, progress.precision)
        value = result.value(run.config.training.best_metric)
        tried.append((math.inf if math.isnan(value) else value, list(steps), result))
        if progress.best_score is None or value <= progress.best_score:
            break
    chosen = min(tried, key=lambda attempt: attempt[0])  # of equal ones the first, with most steps
    if chosen is not tried[-1]:
        set_model_tensors(bundle.model, average_snapshots(checkpoints, chosen[1]))
    if len(chosen[1]) < len(progress.snapshots):
        context.reporter.say(
            f"Averaging the weights of the last {len(chosen[1])} validations instead of "
            f"{len(progress.snapshots)}, which does better on validation text."
        )
    return chosen


def fewer_and_fewer(steps: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield all of these steps, then the last half of them, and so on down to two."""
    count = len(steps)
    yield steps
    while count > 2:
        count = max(count // 2, 2)
        yield steps[-count:]


def _saved_best(run: BegunRun, context: RunContext) -> Bundle | None:
    source, target = run.config.data.languages  # perhaps corrected since the weights were saved
    try:
        best = load_bundle(context.folder.best, context.device, run.change)
        return replace(best, source_language=source, target_language=target)
    except BundleError as error:  # which is no reason to lose the trained weights
        context.reporter.say(f"The best weights are not compared: {error.message}")
        return None


def start_remark(weighed: Weighed, run: BegunRun, folder: RunFolder) -> str | None:
    """Return a remark if no weights of a fine-tune do better than those that it started from."""
    progress, metric = run.trainer.progress, run.config.training.best_metric
    if progress.start is None:
        return None
    name = BEST if weighed.best_is_better or weighed.are_equal else AVERAGED
    results = [ValidationResult(**progress.start), ValidationResult(**weighed.validation[name])]
    start, tuned = (result.value(metric) for result in results)
    if tuned < start:
        return None
    start, tuned = (
        f"{result.loss:.4f}" if metric == "loss" else f"{result.scores[metric]:.2f} %"
        for result in results
    )
    weights = f"best step, {progress.best_step:,}," if name == BEST else "averaged weights"
    return (
        f"The fine-tune did not help on validation text: the {metric} of the starting model, "
        f"{folder.origin()['started_from']['bundle']}, is {start}, and that of the "
        f"{weights} is {tuned}. Use the starting model."
    )


def save_both(
    weighed: Weighed, report: dict[str, Any], config: RunConfig, context: RunContext
) -> None:
    """Write both bundles, each with its record and card.

    report: has the scores and the confidence of the better weights.
    """
    folder = context.folder
    unscored = {name: value for name, value in report.items() if name not in _OF_BETTER}
    of_text = weighed.averaged.record  # from the beginning of the run
    averaged = of_text | unscored | {"weights": AVERAGED, "averaged_steps": weighed.averaged_steps}
    bundles = [(folder.averaged, weighed.averaged, averaged)]
    if weighed.best is not None:
        of_step = {key: weighed.best.record[key] for key in ("steps", "epochs")}
        best = of_text | unscored | of_step | {"weights": BEST, "averaged_steps": []}
        bundles.append((folder.best, weighed.best, best))
    finished: list[tuple[Path, Bundle]] = []
    for path, bundle, record in bundles:
        scores = report if bundle is weighed.better else {}
        scored = {name: scores[name] for name in _OF_BETTER if name in scores}
        loss = weighed.validation[record["weights"]]["loss"]
        record |= {"validation_loss": loss, **scored, "config": config.model_dump()}
        finished.append((path, described(bundle, record, path, folder, context.reporter.say)))
    for path, bundle in finished:
        save_bundle(path, bundle)
