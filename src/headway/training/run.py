"""A whole run: prepare, train, average, score, write the bundles and the report."""

import contextlib
import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.bundle import Bundle, Change, save_bundle, set_model_tensors
from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.data.shortlist import Shortlist
from headway.decoding.translator import Translator
from headway.devices import resolve_device
from headway.errors import BundleError, require_path, require_type
from headway.evaluation.metrics import Score, score_texts
from headway.model.accounting import count_parameters
from headway.saved_bundle import saved_shortlist
from headway.training.averaging import average_snapshots
from headway.training.begin import Place, Ready, begin, goes_on
from headway.training.card import write_card
from headway.training.distributed import joined, own_device
from headway.training.estimate import compare, comparison_in_words
from headway.training.picture import draw_losses
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder
from headway.training.shards import unfilled


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    folder: Path
    finished: bool
    """False when Ctrl-C or a signal stopped it; it can be resumed."""
    step: int
    seconds: float
    report: dict[str, Any]


def train(
    config: RunConfig | None,
    out: str | Path,
    *,
    change: Change | None = None,
    resume: bool = False,
    device: str = "auto",
    reporter: Reporter | None = None,
) -> RunResult:
    """Train as configured and write everything into the folder `out`.

    change: called with the new model before training, puts parts of your own into it; their weights
    are drawn from PyTorch's generator, which the seed has set. Resuming and `headway.load` need the
    same function. resume: continue the run in that folder, bit for bit as if it had not stopped, or
    with `training.compile` nearly so; then the configuration may be None. Raises ConfigError,
    DataError or RunError before the first step where the run could not go well; a new run then
    leaves no folder behind.
    """
    remedy = "Give a RunConfig; headway.load_run_config reads one from a file."
    require_type("config", config, (RunConfig, type(None)), remedy)
    require_path("out", out)
    own = own_device(resolve_device(device))
    folder = RunFolder(out)
    with contextlib.ExitStack() as stack:
        with joined(own) as world:
            resume = resume or goes_on(folder, world)
            place = Place(folder, own, world, reporter or Reporter(quiet=not world.leads), change)
            ready = begin(config, place, resume, stack)
            finished = ready.trainer.run()
            world.wait()  # until nobody reads the encoded text any more
        report = {}
        if finished and world.leads:
            report = _finish(ready, place)
            folder.drop_encoded()
        progress = ready.trainer.progress
        return RunResult(folder.path, finished, progress.step, progress.seconds, report)


def _finish(ready: Ready, place: Place) -> dict[str, Any]:
    """Average, score, and write bundles, report and picture."""
    config, trainer, texts = ready.config, ready.trainer, ready.texts
    folder, reporter = place.folder, place.reporter
    progress = trainer.progress
    bundle = trainer.bundle
    if config.training.shard:
        bundle = unfilled(bundle, place.device)  # the other processes have left with their shares
    set_model_tensors(bundle.model, average_snapshots(folder.checkpoints, progress.snapshots))
    bundle.model.eval()
    validation = trainer.validator.alone()(bundle, trainer.progress.precision)
    value = validation.value(config.training.best_metric)
    best_is_better = progress.best_score is not None and not value <= progress.best_score  # nor NaN
    if best_is_better:
        reporter.say(
            f"On validation text the averaged weights do worse than those of step "
            f"{progress.best_step:,}: rather use {folder.best}."
        )
    report: dict[str, Any] = {
        "steps": progress.step,
        "epochs": progress.epoch,
        "seed": config.training.seed,
        "precision": progress.precision,
        "target_tokens": progress.target_tokens,
        "skipped_updates": progress.skipped,
        "batch_parts": progress.parts,
        "diagnoses": progress.observed.findings,
        "seconds": round(progress.seconds, 1),
        "averaged_steps": progress.snapshots,
        "validation_loss": validation.loss,
        "best_step": progress.best_step,
        "best_is_better": best_is_better,
        "parameters": count_parameters(bundle.model),
        "tags": list(dict.fromkeys(corpus.tag for corpus in texts.corpora)),
        "trained_on": datetime.now(UTC).date().isoformat(),
        **_origin(folder),
        **compare(progress),
    }
    if "estimate" in report:
        reporter.say(comparison_in_words(report["estimate"]))
    reporter.say(f"Scores of {folder.averaged}:")
    for name, pairs in (("valid", texts.valid), ("test", texts.test)):
        if pairs:
            scores = score_bundle(bundle, pairs, config)
            report[name] = [score.as_dict() for score in scores]
            for score in scores:
                reporter.say(f"{name} {score}")
    record = report | {"config": config.model_dump()}
    finished = dataclasses.replace(bundle, record=record, card=write_card(config, report))
    if (found := _earlier_shortlist(folder, reporter)) is not None:  # of a run that goes on
        shortlist, learned = found
        record = record | {"shortlist": learned}
        finished = dataclasses.replace(finished, record=record, shortlist=shortlist)
    save_bundle(folder.averaged, finished)
    folder.write_json(folder.report, report)
    draw_losses(folder.records(), folder.picture, reporter.say)
    return report


def _origin(folder: RunFolder) -> dict[str, Any]:
    """Return what the run was continued from, as data.json has it, or nothing."""
    record = folder.read_json(folder.data)
    return {"started_from": record["started_from"]} if "started_from" in record else {}


def _earlier_shortlist(folder: RunFolder, reporter: Reporter) -> tuple[Shortlist, Any] | None:
    try:
        return saved_shortlist(folder.averaged)
    except BundleError as error:  # what the training came to is not to be lost over it
        reporter.say(f"The shortlist of the earlier bundle is not kept: {error.message}")
        return None


def score_bundle(bundle: Bundle, pairs: list[Pair], config: RunConfig) -> list[Score]:
    """Translate with the run's own search and score against the references."""
    translations = Translator(bundle).translate([pair.source for pair in pairs])
    return score_texts(
        [translation.text for translation in translations],
        [pair.target for pair in pairs],
        config.evaluation.metrics,
        config.evaluation.bleu_tokenize,
    )
