"""What a run would train on and what it would cost, found out before its first step."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from headway.bundle import Bundle
from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.data.batching import collate
from headway.data.cleaning import CleaningReport
from headway.data.corpus import Corpus
from headway.data.finding import Finding
from headway.data.harmless import line_ends, marked_files
from headway.data.tokenizer import VocabularyTooLargeError
from headway.errors import HeadwayError
from headway.model.accounting import count_parameters
from headway.runtime.devices import resolve_device
from headway.runtime.memory import forget_peak, peak_memory
from headway.runtime.openmp_spin import WaitingThreads
from headway.training.cuda_graphs import Limits
from headway.training.ema import WeightAverage
from headway.training.estimate import advice
from headway.training.micro_batches import update_within_memory
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.prepare import prepare
from headway.training.reporting import SILENT, Reporter, Show
from headway.training.rewritten import rewritten_remarks
from headway.training.schedule import Schedule
from headway.training.settings import check_settings, remarks
from headway.training.start_from import open_start
from headway.training.stream import BatchStream
from headway.training.text_check import CorpusShare, Unknown, findings, shares, unknown
from headway.training.texts import Texts, read_texts, ways_to_validate
from headway.training.tokenizers import FoundTokenizers, find_tokenizers
from headway.training.update import TrainingStep

Tell = Callable[[dict[str, list[Finding]], Sequence[Corpus], HeadwayError], None]
"""Is given what was found in each text, the corpora of training text, and an error."""

_SAMPLE = 12  # batches that are timed
_ENOUGH = 20.0  # seconds of them, after which no more are


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the training steps will take; validation and the scores at the end come on top."""

    seconds: float
    memory: int
    """Bytes of the process at their peak in the steps: with the text, and the largest batch.

    0 on a CPU under Windows, where the peak is not known.
    """
    parts: int = 1
    """Parts in which batches are computed, because whole ones do not fit or as it is configured."""
    could_record: bool = False
    """See `TrainingStep.could_record`."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """What is known about a run before it begins."""

    findings: dict[str, list[Finding]]
    """By text: training, validation, test."""
    corpora: list[CorpusShare]
    cleaning: CleaningReport
    unknown: dict[str, Unknown]
    parameters: int
    vocabulary: int
    steps: int
    epochs: float
    precision: str
    estimate: Estimate
    remarks: list[str]
    """On settings that are possible and hardly meant, or slow."""
    read: list[Corpus]
    """The training text."""
    problem: VocabularyTooLargeError | None
    """The error of training, where the text gives fewer pieces than wanted: all else is for the
    most pieces that it gives."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "findings": plain(self.findings),
            "corpora": [asdict(corpus) for corpus in self.corpora],
            "cleaning": asdict(self.cleaning),
            "unknown": {text: asdict(count) for text, count in self.unknown.items()},
            "parameters": self.parameters,
            "vocabulary": self.vocabulary,
            "steps": self.steps,
            "epochs": self.epochs,
            "precision": self.precision,
            "estimated_seconds": self.estimate.seconds,
            "estimated_memory": self.estimate.memory or None,
            "batch_parts": self.estimate.parts,
            "remarks": self.remarks,
            **({"error": str(self.problem)} if self.problem else {}),
        }


def plain(found: dict[str, list[Finding]]) -> dict[str, list[dict[str, Any]]]:
    """Return what was found in each text as plain values for JSON."""
    return {text: [finding.as_dict() for finding in some] for text, some in found.items()}


def check_run(
    config: RunConfig,
    device: str = "auto",
    reporter: Reporter = SILENT,
    tell: Tell = lambda found, corpora, error: None,
) -> RunCheck:
    """Read the text as training would, look at it, and try the model on a few batches.

    reporter: shows progress. tell: is given the findings in the text and the error if no
    vocabulary can be made of the text, before the error is raised: the findings may explain it.
    A vocabulary that is too large becomes `problem`; everything else is for the largest possible
    one. Nothing is written but the encoded text and tokenizers where `data.shards` keeps them.
    Raises the errors of training about text and configuration; only validation text may be missing.
    Training may end earlier than estimated, if patience ends it.
    """
    torch_device = torch.device(resolve_device(device))
    start = open_start(config)
    config = start.config if start else config
    check_settings(config, torch_device)
    texts = read_texts(config.data, needs_validation=False, reporter=reporter)
    problem = None
    if start:
        tokenizers = FoundTokenizers(start.tokenizers)
    else:
        try:
            config, tokenizers, problem = _fitting_tokenizers(config, texts, reporter)
        except HeadwayError as error:
            _tell_findings(config, texts, tell, error)
            raise
    source, target = tokenizers.sides
    prepared = prepare(config, texts, torch_device, tokenizers=(source, target), reporter=reporter)
    training, encoded, stream = config.training, prepared.encoded, prepared.stream
    steps = stream.steps(training.max_steps, training.max_epochs)
    # Before the text is surveyed, which takes memory that training does not take.
    with reporter.preparing("Trying the model") as show:
        estimated = estimate(prepared.bundle, stream, training, prepared.precision, steps, show)
    rewritten = rewritten_remarks(config, texts, encoded.report, target)
    found = {}
    unknowns: dict[str, Unknown] = {}
    harmless = marked_files(texts.files)
    keeps_returns = target.normalize("a\r").endswith("\r")  # then cleaning says so
    for name, pairs, suspicious in findings(config.data, texts):
        unknowns[name] = unknown(pairs, source, target)
        if not keeps_returns:
            harmless += line_ends(name, pairs)
        if suspicious is not None:
            found[name] = suspicious
    return RunCheck(
        findings=found,
        corpora=shares(texts.corpora, encoded.train.sizes),
        cleaning=encoded.report,
        unknown=unknowns,
        parameters=count_parameters(prepared.bundle.model),
        vocabulary=prepared.bundle.config.target_vocab_size,
        steps=steps,
        epochs=steps / stream.updates_of_an_epoch,
        precision=prepared.precision,
        estimate=estimated,
        remarks=[
            *tokenizers.unused,
            *rewritten,
            *texts.remarks,
            *_remarks(config, steps, estimated),
            *harmless,
        ],
        read=texts.corpora,
        problem=problem,
    )


def _tell_findings(config: RunConfig, texts: Texts, tell: Tell, error: HeadwayError) -> None:
    """Tell what was found in the text if the error may be due to it."""
    if config.tokenizer.source_model or config.tokenizer.target_model:
        return
    some = findings(config.data, texts)
    tell({name: found for name, _, found in some if found is not None}, texts.corpora, error)


def _fitting_tokenizers(
    config: RunConfig, texts: Texts, reporter: Reporter
) -> tuple[RunConfig, FoundTokenizers, VocabularyTooLargeError | None]:
    """Return tokenizers, of the largest possible vocabulary if the configured one is too large.

    Also returns the configuration with that size, and the error that training would raise.
    """
    problem = None
    while True:
        try:
            return config, find_tokenizers(config, texts, reporter), problem
        except VocabularyTooLargeError as error:
            problem = problem or error
            size = {"vocabulary_size": error.most}
            config = config.replace({"tokenizer": config.tokenizer.replace(size)})


def _remarks(config: RunConfig, steps: int, estimated: Estimate) -> list[str]:
    training = config.training
    some = remarks(training, steps) + advice(estimated.could_record, estimated.seconds)
    if training.patience is not None:
        some.append(
            f"This is an upper limit: training usually ends earlier, after {training.patience:,} "
            "validations without a new best (training.patience)."
        )
    if config.data.validates:
        return some
    return [f"To train, {ways_to_validate(config.data)}.", *some]


def estimate(
    bundle: Bundle,
    stream: BatchStream,
    training: TrainingConfig,
    precision: str,
    steps: int,
    show: Show = lambda pairs: None,
) -> Estimate:
    """Train the model on its largest batch and on some others; scale up what that took.

    show: is told how many pairs it has been trained on. The model is changed by that. Raises
    TrainingError where memory does not suffice for one pair.
    """
    forget_peak(next(bundle.model.parameters()).device)
    objective = Objective(bundle.model, training.label_smoothing, precision)
    if training.compile:
        objective.compile_layers()
    step = TrainingStep(
        objective,
        build_optimizer(bundle.model),
        Schedule("constant", 1e-6, 1, 1),
        clip_norm=training.clip_norm,
        parts=training.parts or 1,
        limits=Limits(stream.max_tokens, stream.longest),
    )
    decay = training.ema_decay
    average = None if decay is None else WeightAverage(bundle.model, decay)
    batches = stream.block(0, 0)
    largest = max(range(len(batches)), key=lambda index: _area(stream, batches[index]))
    picked = np.linspace(0, len(batches) - 1, min(_SAMPLE, len(batches))).round().astype(int)
    seconds: list[float] = []
    pairs = 0
    with closing(WaitingThreads()) as waiting:
        for index in [largest, largest, *picked]:
            batch = collate([stream.pairs[row] for row in batches[index]])
            for _ in range(2 if step.preparations() else 0):
                update_within_memory(step, 1, [batch])  # most shapes of a run have been recorded
            start = time.perf_counter()
            update_within_memory(step, 1, [batch])
            if average is not None:
                average.update(bundle.model, 1)
            seconds.append(time.perf_counter() - start)
            waiting.look()
            show(pairs := pairs + len(batches[index]))
            if sum(seconds[2:]) > _ENOUGH:  # batches come in random order: the first ones are fair
                break
    mean = float(np.mean(seconds[2:]))  # the first two prepare memory, and compile
    memory = peak_memory(next(bundle.model.parameters()).device)
    # A block ends with the batches that it has, be they fewer than an update takes.
    updates = math.ceil(len(batches) / training.accumulate)
    seconds_of_all = mean * len(batches) / updates * steps
    return Estimate(seconds_of_all, memory, step.parts, step.could_record())


def _area(stream: BatchStream, rows: list[int]) -> int:
    """Return how many pieces a batch holds with its padding."""
    return len(rows) * int(stream.pairs.lengths(rows).max() + 1)
