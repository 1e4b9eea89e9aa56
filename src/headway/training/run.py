"""A whole run: prepare, train, average, score, write the bundles and the report."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.bundle import Bundle, Change
from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.decoding.translator import Translator
from headway.devices import resolve_device
from headway.errors import require_path, require_type
from headway.evaluation.metrics import Score, score_texts
from headway.model.accounting import count_parameters
from headway.saved_bundle import AVERAGED, BEST, find_bundle
from headway.training.begin import Place, Ready, begin, goes_on
from headway.training.described import today
from headway.training.distributed import joined, own_device
from headway.training.estimate import compare, comparison_in_words
from headway.training.finishing import save_both, weigh
from headway.training.picture import draw_losses
from headway.training.reporting import Reporter
from headway.training.rewritten import references_remark
from headway.training.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    folder: Path
    finished: bool
    """False when Ctrl-C or a signal stopped it; it can be resumed."""
    step: int
    seconds: float
    report: dict[str, Any]

    @property
    def bundle(self) -> Path:
        """Folder of the better weights by validation; BundleError where there are none yet."""
        return find_bundle(self.folder)


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
    config, progress, texts = ready.config, ready.trainer.progress, ready.texts
    folder, reporter = place.folder, place.reporter
    weighed = weigh(ready, place)
    name = BEST if weighed.best_is_better else AVERAGED
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
        "weights": name,
        "averaged_steps": weighed.averaged_steps,
        "validation_loss": weighed.validation[name]["loss"],
        "validation": weighed.validation,
        "best_step": progress.best_step,
        "best_is_better": weighed.best_is_better,
        "parameters": count_parameters(weighed.better.model),
        "tags": list(dict.fromkeys(corpus.tag for corpus in texts.corpora)),
        "trained_on": today(),
        **folder.origin(),
        **compare(progress),
    }
    if "estimate" in report:
        reporter.say(comparison_in_words(report["estimate"]))
    reporter.say(_which_is_better(report, folder))
    for text, pairs in (("valid", texts.valid), ("test", texts.test)):
        if pairs:
            scores = score_bundle(weighed.better, pairs, config)
            report[text] = [score.as_dict() for score in scores]
            for score in scores:
                reporter.say(f"{text} {score}")
            if remark := references_remark(text, pairs, weighed.better.target_tokenizer):
                report.setdefault("remarks", []).append(remark)
                reporter.say(remark)
    save_both(weighed, report, config, place)
    folder.write_json(folder.report, report)
    draw_losses(folder.records(), folder.picture, reporter.say)
    return report


def _which_is_better(report: dict[str, Any], folder: RunFolder) -> str:
    """Say whose scores follow."""
    if report["best_is_better"]:
        return (
            f"On validation text the weights of step {report['best_step']:,} do better than the "
            f"averaged ones. Scores of {folder.best}:"
        )
    return f"Scores of the averaged weights, {folder.averaged}:"


def score_bundle(bundle: Bundle, pairs: list[Pair], config: RunConfig) -> list[Score]:
    """Translate with the run's own search and score against the references."""
    translations = Translator(bundle).translate(
        [pair.source for pair in pairs], split_sentences=False
    )
    return score_texts(
        [translation.text for translation in translations],
        [pair.target for pair in pairs],
        config.evaluation.metrics,
        config.evaluation.bleu_tokenize,
    )
