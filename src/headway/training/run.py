"""A whole run: prepare, train, average, score, write the bundles and the report."""

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from headway.bundle import Bundle, save_bundle, set_model_tensors
from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.data.tokenizer import Tokenizer
from headway.decoding.translator import Translator, resolve_device
from headway.errors import ConfigError, RunError
from headway.evaluation.metrics import Score, score_texts
from headway.model.accounting import count_parameters
from headway.training.averaging import average_snapshots
from headway.training.card import write_card
from headway.training.distributed import World, joined, own_device, restarted
from headway.training.picture import draw_losses
from headway.training.precision import choose_precision
from headway.training.prepare import (
    EncodedTexts,
    Texts,
    build_bundle,
    build_tokenizers,
    check_metrics,
    check_positions,
    encode_texts,
    read_texts,
)
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder
from headway.training.stream import BatchStream
from headway.training.tensorboard import require_tensorboard
from headway.training.text_statistics import frequency_loss, unknown_findings
from headway.training.trainer import Trainer
from headway.training.validation import Validator


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
    resume: bool = False,
    device: str = "auto",
    reporter: Reporter | None = None,
) -> RunResult:
    """Train as configured and write everything into the folder `out`.

    resume: continue the run in that folder, bit for bit as if it had not stopped; then the
    configuration may be None. Raises ConfigError, DataError or RunError before the first step
    where the run could not go well; a new run then leaves no folder behind.
    """
    folder = RunFolder(out)
    place = own_device(resolve_device(device))
    resume = resume or (restarted() and folder.config.exists())
    with contextlib.ExitStack() as stack:
        with joined(place) as world:
            if not world.leads:
                world.wait()  # until process 0 has found text and settings good and begun the run
            config = _chosen_config(config, folder, resume, world)
            prepare = _prepare if world.leads else _follow
            reporter = reporter or Reporter(quiet=not world.leads)
            ready = prepare(config, folder, resume, place, world, reporter, stack)
            if world.leads:
                world.wait()
            trainer = ready.trainer
            finished = trainer.run()
        progress = trainer.progress
        report = (
            _finish(config, folder, trainer, ready.texts, trainer.reporter)
            if finished and world.leads
            else {}
        )
        return RunResult(folder.path, finished, progress.step, progress.seconds, report)


def _chosen_config(
    config: RunConfig | None, folder: RunFolder, resume: bool, world: World
) -> RunConfig:
    """Return the configuration of the run, new or continued."""
    if resume:
        return folder.resume(config)
    if config is None:
        raise ConfigError("There is no configuration.", "Name a file, or --resume a run.")
    if world.leads:
        folder.check_free()
    return config


@dataclass(frozen=True, slots=True)
class _Ready:
    """What is there before the first step."""

    trainer: Trainer
    texts: Texts


def _prepare(
    config: RunConfig,
    folder: RunFolder,
    resume: bool,
    device: torch.device,
    world: World,
    reporter: Reporter,
    stack: contextlib.ExitStack,
) -> _Ready:
    """Read everything, begin or continue the folder, and hold its lock until the stack closes."""
    if resume:
        stack.enter_context(folder.locked())
    texts = read_texts(config.data)
    if resume:
        _check_same_text(folder, texts)
    tokenizers = (folder.read_tokenizers() if resume else None) or build_tokenizers(
        config.tokenizer, texts.train, config.training.seed
    )
    encoded = encode_texts(texts, *tokenizers, config.data)
    trainer = _build_trainer(config, folder, texts, encoded, tokenizers, device, world, reporter)
    if resume:
        folder.remove_leftovers()
        folder.write_config(config)
    else:
        stack.enter_context(folder.locked())
        folder.begin(config)
    if folder.checkpoint.exists():
        _continue(trainer, world)
    else:
        _record_start(folder, trainer, texts, encoded, reporter)
    trainer.progress.hardware = _hardware(device, world)
    return _Ready(trainer, texts)


def _continue(trainer: Trainer, world: World) -> None:
    """Go back to the last checkpoint, and say so."""
    trainer.resume()
    began, now = trainer.progress.hardware, _hardware(trainer.device, world)
    say = trainer.reporter.say
    say(f"Continuing {trainer.folder.path} after step {trainer.progress.step:,}.")
    if began != now:
        say(f"It began on {began} and goes on with {now}: right, but not bit for bit.")


def _follow(
    config: RunConfig,
    folder: RunFolder,
    resume: bool,
    device: torch.device,
    world: World,
    reporter: Reporter,
    stack: contextlib.ExitStack,
) -> _Ready:
    """Read what process 0 has begun, and write nothing."""
    texts = read_texts(config.data)
    tokenizers = folder.read_tokenizers()
    if tokenizers is None:
        raise RunError(
            f"Process {world.rank} does not see what process 0 has written to {folder.path}.",
            "Let --out name a folder that all machines share.",
        )
    encoded = encode_texts(texts, *tokenizers, config.data)
    trainer = _build_trainer(config, folder, texts, encoded, tokenizers, device, world, reporter)
    if folder.checkpoint.exists():
        trainer.resume()
    return _Ready(trainer, texts)


def _hardware(device: torch.device, world: World) -> str:
    """Describe that on which equal computations give equal bits."""
    processes = f", {world.size} processes" if world.size > 1 else ""
    return f"{device.type}, {torch.get_num_threads()} threads{processes}"


def _build_trainer(
    config: RunConfig,
    folder: RunFolder,
    texts: Texts,
    encoded: EncodedTexts,
    tokenizers: tuple[Tokenizer, Tokenizer],
    device: torch.device,
    world: World,
    reporter: Reporter,
) -> Trainer:
    training = config.training
    stream = BatchStream(
        encoded.train,
        max_tokens=training.batch_tokens,
        accumulate=training.accumulate,
        seed=training.seed,
    )
    check_metrics(config)
    check_positions(config.model, encoded)
    if training.tensorboard:
        require_tensorboard()
    validator = Validator(
        encoded.valid,
        texts.valid[: training.validation_sentences],
        metrics=config.evaluation.metrics,
        bleu_tokenize=config.evaluation.bleu_tokenize,
        batch_tokens=training.batch_tokens,
        precision=choose_precision(training.precision, device),
        world=world,
    )
    bundle = build_bundle(config, *tokenizers, device)
    return Trainer(
        bundle,
        stream,
        validator,
        training,
        folder,
        reporter,
        world,
        unigram_loss=frequency_loss(encoded.train, encoded.valid, bundle.config.target_vocab_size),
        text_findings=list(
            unknown_findings({"training": encoded.train, "validation": encoded.valid})
        ),
    )


def _record_start(
    folder: RunFolder,
    trainer: Trainer,
    texts: Texts,
    encoded: EncodedTexts,
    reporter: Reporter,
) -> None:
    """Say what will be trained on, and write it down with the tokenizers."""
    bundle = trainer.bundle
    parameters = count_parameters(bundle.model)
    reporter.say(f"Training text: {encoded.report.summary()}")
    reporter.say(f"Validation text: {encoded.valid_report.summary()}")
    reporter.say(
        f"{parameters:,} parameters, {bundle.config.target_vocab_size:,} pieces, "
        f"{trainer.progress.precision}, {torch.get_num_threads()} threads"
    )
    folder.write_json(
        folder.data,
        {
            "checksum": texts.checksum,
            "training": encoded.report.as_dict(),
            "validation": encoded.valid_report.as_dict(),
            "parameters": parameters,
        },
    )
    folder.write_tokenizers(bundle.source_tokenizer, bundle.target_tokenizer)
    folder.forget_metrics_after(-1)  # of an attempt that was killed before its first checkpoint


def _check_same_text(folder: RunFolder, texts: Texts) -> None:
    if not folder.data.exists():
        return  # the run was stopped before it had written down its text
    recorded = json.loads(folder.data.read_text(encoding="utf-8"))["checksum"]
    if recorded != texts.checksum:
        raise RunError(
            "The training or validation text has changed since this run began.",
            "Restore the files, or start another run with --out.",
        )


def _finish(
    config: RunConfig, folder: RunFolder, trainer: Trainer, texts: Texts, reporter: Reporter
) -> dict[str, Any]:
    """Average, score, and write bundles, report and picture."""
    progress = trainer.progress
    bundle = trainer.bundle
    set_model_tensors(bundle.model, average_snapshots(folder.checkpoints, progress.snapshots))
    bundle.model.eval()
    validation = trainer.validator.alone()(bundle)
    value = validation.value(config.training.best_metric)
    best_is_better = progress.best_score is not None and progress.best_score < value
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
        "trained_on": datetime.now(UTC).date().isoformat(),
    }
    for name, pairs in (("valid", texts.valid), ("test", texts.test)):
        if pairs:
            report[name] = [score.as_dict() for score in score_bundle(bundle, pairs, config)]
            for score in report[name]:
                reporter.say(f"{name} {score['name']} {score['value']:.4f}  {score['signature']}")
    record = report | {"config": config.model_dump()}
    finished = dataclasses.replace(bundle, record=record, card=write_card(config, report))
    save_bundle(folder.averaged, finished)
    folder.write_json(folder.report, report)
    draw_losses(folder.metrics, folder.picture, reporter.say)
    return report


def score_bundle(bundle: Bundle, pairs: list[Pair], config: RunConfig) -> list[Score]:
    """Translate with the run's own search and score against the references."""
    translations = Translator(bundle).translate([pair.source for pair in pairs])
    return score_texts(
        [translation.text for translation in translations],
        [pair.target for pair in pairs],
        config.evaluation.metrics,
        config.evaluation.bleu_tokenize,
    )
