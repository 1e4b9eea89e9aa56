"""A whole run: prepare, train, average, score, write the bundles and the report."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from headway.bundle import Bundle, Change
from headway.config.run import RunConfig
from headway.counted import counted
from headway.data.corpus import Pair
from headway.decoding.confidence import CONFIDENCE
from headway.decoding.counting import counting_sentences
from headway.decoding.translation import Translation
from headway.decoding.translator import TextTranslator
from headway.errors import require_path, require_type
from headway.evaluation.confidence import measured_confidence
from headway.evaluation.doubts import forms_remark
from headway.evaluation.metrics import Score, score_texts
from headway.model.accounting import count_parameters
from headway.progress import progress as shown_progress
from headway.runtime.devices import resolve_device
from headway.runtime.openmp_spin import WaitingThreads
from headway.saved_bundle import AVERAGED, BEST, find_bundle
from headway.stopping import if_stopped
from headway.training.begin import BegunRun, RunContext, begin, was_restarted
from headway.training.budget import Budget, check_budget
from headway.training.described import machine, today
from headway.training.diagnosis import unlearned_remark
from headway.training.distributed import is_alone, joined, own_device
from headway.training.estimate import compare, comparison_in_words
from headway.training.finishing import save_both, start_remark, weigh
from headway.training.picture import draw_losses
from headway.training.reporting import Reporter
from headway.training.rewritten import references_remark
from headway.training.run_folder import RunFolder
from headway.training.samples import Sample


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run."""

    folder: Path
    finished: bool
    """False when Ctrl-C or a signal stopped it; it can be resumed."""
    step: int
    seconds: float
    """Time of all steps and validations of the run, those before it was resumed included."""
    report: dict[str, Any]

    @property
    def bundle(self) -> Path:
        """Folder of the better weights by validation; BundleError if the run has none yet."""
        return find_bundle(self.folder)


def train(
    config: RunConfig | None,
    out: str | Path,
    *,
    change: Change | None = None,
    resume: bool = False,
    device: str = "auto",
    reporter: Reporter | None = None,
    minutes: float | Budget | None = None,
    trust_code: bool = False,
) -> RunResult:
    """Train as configured and write everything into the folder `out`.

    change: called with the new model before training; puts your own parts into it, whose weights
    are drawn from PyTorch's generator after the seed is set. Resuming and `headway.load` need the
    same function. resume: continue the run in that folder, bit for bit as if it had not stopped
    (with `training.compile` nearly so); then the configuration may be None. minutes: approximate
    time of the whole run, scores included. Steps, warm-up, schedule and intervals are then chosen
    by the measured speed instead of the configuration; a Budget also holds the beginning of the
    time. The run's config.toml holds the choice, and repeats the same run. trust_code: run the code
    of the model that the run starts from, for its parts that are not Headway's own. Raises
    ConfigError, DataError or RunError before the first step if the run could not succeed; a new run
    then leaves no folder behind.
    """
    remedy = "Give a RunConfig; headway.load_run_config reads one from a file."
    require_type("config", config, (RunConfig, type(None)), remedy)
    require_path("out", out)
    budget = Budget(minutes) if isinstance(minutes, int | float) else minutes
    if budget is not None:
        check_budget(resume=resume, alone=is_alone())
    process_device = own_device(resolve_device(device))
    folder = RunFolder(out)
    with contextlib.ExitStack() as stack:
        with joined(process_device) as world:
            resume = resume or was_restarted(folder, world)
            reporter = reporter or Reporter(quiet=not world.leads)
            budget = None if resume else budget
            context = RunContext(
                folder, process_device, world, reporter, change, budget, trust_code
            )
            with if_stopped(lambda: _how_to_begin_again(context)):
                run = begin(config, context, resume, stack)
            # From the first step to the last score: while other programs are busy, spinning threads
            # slow translation down as much as training.
            waiting = stack.enter_context(contextlib.closing(WaitingThreads()))
            again = f"Go on from the last checkpoint with: {_again(context)}"
            with if_stopped(f"Stopped at once. {again}"):
                finished = run.trainer.run(waiting)
            # A run of some minutes fits its steps to its speed.
            config = run.config.model_copy(update={"training": run.trainer.config})
            run = replace(run, config=config)
            world.wait()  # until no process reads the encoded text any more
        report = {}
        if finished and world.leads:
            with if_stopped(f"Stopped. {_how_to_finish(context)}"):
                report = _finish(run, context)
            folder.drop_encoded()
        progress = run.trainer.progress
        return RunResult(folder.path, finished, progress.step, progress.seconds, report)


def _again(context: RunContext) -> str:
    trusts = " --trust-code" if context.trust_code else ""
    return f"headway train --out {quote(str(context.folder.path))} --resume{trusts}"


def _how_to_finish(context: RunContext) -> str:
    return f"All steps are done and saved. Finish the run with: {_again(context)}"


def _how_to_begin_again(context: RunContext) -> str:
    """Return a sentence on what is saved of a run that was stopped before its first step."""
    if context.folder.has_begun():
        return f"Stopped before the next step. Go on with: {_again(context)}"
    return "Stopped before the first step. Nothing was saved yet; run it again."


def _finish(run: BegunRun, context: RunContext) -> dict[str, Any]:
    """Average, score, and write bundles, report and picture."""
    config, progress, texts = run.config, run.trainer.progress, run.texts
    start = progress.start
    folder, reporter = context.folder, context.reporter
    weighed = weigh(run, context)
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
        "validation": {**({"start": start} if start else {}), **weighed.validation},
        "scored_with": {
            "validation": {
                "search": "greedy",
                "beam_size": 1,
                "lines": len(run.trainer.validator.texts),
            }
        },
        "best_step": progress.best_step,
        "best_is_better": weighed.best_is_better,
        "same_weights": weighed.are_equal,
        "parameters": count_parameters(weighed.better.model),
        "tags": list(dict.fromkeys(corpus.tag for corpus in texts.corpora)),
        "trained_on": today(),
        "machine": machine(context.device),
        **folder.origin(),
        **compare(progress),
    }
    if "estimate" in report:
        reporter.say(comparison_in_words(report["estimate"]))
    reporter.say(_which_is_better(report, folder))
    if validated := len(run.trainer.validator.texts):
        reporter.say(
            "The scores below are of all lines, with the search of `headway translate`; those of "
            f"validations were greedy, on {counted(validated, 'line')}."
        )
    for text, pairs in (("valid", texts.valid), ("test", texts.test)):
        if pairs:
            with _scoring(text, len(pairs), context):
                scores, translations = score_bundle(weighed.better, pairs, config)
            outputs = [translation.text for translation in translations]
            report[text] = [score.as_dict() for score in scores]
            report["scored_with"][text] = {
                "search": "beam" if config.decoding.beam_size > 1 else "greedy",
                "beam_size": config.decoding.beam_size,
                "lines": len(pairs),
            }
            for score in scores:
                reporter.say(f"{text} {score}")
            sources, references = zip(*pairs, strict=True)
            for remark in (
                references_remark(text, pairs, weighed.better.target_tokenizer),
                forms_remark(text, references, outputs),
                unlearned_remark(text, sources, outputs, progress.step),
            ):
                if remark:
                    report.setdefault("remarks", []).append(remark)
                    reporter.say(remark)
            if text == "valid":
                translator = TextTranslator(weighed.better)
                if calibration := measured_confidence(translator, pairs, translations):
                    report[CONFIDENCE] = calibration
                of_pairs = dict(zip(pairs, outputs, strict=True))
                shown = [Sample(*pair, of_pairs[pair]) for pair in run.trainer.validator.samples]
                report["samples"] = [sample._asdict() for sample in shown]
    reporter.samples(report.get("samples", []))
    reporter.scores(_latest(report), again=True)
    remark = start_remark(weighed, run, folder)
    if progress.start is not None:
        report["start_is_better"] = remark is not None
    if remark:
        report.setdefault("remarks", []).append(remark)
        reporter.say(remark)
    save_both(weighed, report, config, context)
    folder.write_json(folder.report, report)
    draw_losses(folder.records(), folder.picture, reporter.say)
    return report


def _latest(report: dict[str, Any]) -> dict[str, float]:
    """Return the scores of the test text, or without one of the validation text."""
    return {score["name"]: score["value"] for score in report.get("test", report.get("valid", []))}


@contextlib.contextmanager
def _scoring(text: str, sentences: int, context: RunContext) -> Iterator[None]:
    """Show the progress of scoring a text."""
    task_name, console = f"Scoring the {text} text", context.reporter.console
    finish = _how_to_finish(context)
    with (
        shown_progress(task_name, sentences, console=console, stopped=finish) as advance,
        counting_sentences(advance),
    ):
        yield


def _which_is_better(report: dict[str, Any], folder: RunFolder) -> str:
    """Return a sentence on the weights whose scores follow."""
    if report["best_is_better"]:
        steps = report["averaged_steps"]
        rival = f"those of step {steps[0]:,}" if len(steps) == 1 else "the averaged ones"
        return (
            f"On validation text the weights of step {report['best_step']:,} do better than "
            f"{rival}. Scores of {folder.best}:"
        )
    if report["same_weights"]:
        return (
            f"{folder.averaged} and {folder.best} are the same weights, because the weights of one "
            "validation were averaged; use either. Their scores:"
        )
    return f"Scores of the averaged weights, {folder.averaged}:"


def score_bundle(
    bundle: Bundle, pairs: list[Pair], config: RunConfig
) -> tuple[list[Score], list[Translation]]:
    """Translate with the run's search; return the scores and the translations."""
    sources = [pair.source for pair in pairs]
    translations = TextTranslator(bundle).translate(
        sources, mend_runaways=False, split_sentences=False
    )
    outputs = [translation.text for translation in translations]
    references = [pair.target for pair in pairs]
    evaluation = config.evaluation
    scores = score_texts(outputs, references, evaluation.metrics, evaluation.bleu_tokenize)
    return scores, translations
