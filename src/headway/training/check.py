"""The text that a run would train on, and its time and memory, before its first step."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from headway.bundle import Bundle
from headway.config.data import DataConfig
from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.counted import counted
from headway.data.batching import collate
from headway.data.cleaning import CleaningReport
from headway.data.compression import StrPath
from headway.data.corpus import Corpus
from headway.data.finding import Finding
from headway.data.harmless import line_ends, marked_files
from headway.data.tokenizer import VocabularyTooLargeError
from headway.errors import HeadwayError
from headway.model.accounting import count_parameters
from headway.runtime.devices import resolve_device
from headway.runtime.memory import forget_peak, peak_memory
from headway.runtime.openmp_spin import WaitingThreads
from headway.training.budget import (
    USABLE_EARLIEST,
    USABLE_PAIRS,
    USABLE_STEPS,
    minutes_between,
    usable_after,
)
from headway.training.cuda_graphs import Limits
from headway.training.ema import WeightAverage
from headway.training.estimate import advice
from headway.training.languages import language_remarks, with_languages
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
from headway.training.texts import Texts, held_out_files, read_texts, ways_to_validate
from headway.training.tokenizers import FoundTokenizers, find_tokenizers
from headway.training.update import TrainingStep

Tell = Callable[[dict[str, list[Finding]], Sequence[Corpus], HeadwayError], None]
"""Is given the findings in each text, the corpora of training text, and an error."""

_SAMPLE = 12  # batches that are timed
_ENOUGH = 20.0  # seconds, after which no more batches are timed
_MANY_EPOCHS = 1000  # more than any run of ours needed


@dataclass(frozen=True, slots=True)
class Estimate:
    """Time and memory of the training steps, without validation and the final scores."""

    seconds: float
    memory: int
    """Peak of the process in the steps, in bytes: with the text and the largest batch.

    0 on a CPU under Windows, where the peak is not known.
    """
    parts: int = 1
    """Parts of each batch, as configured or because whole batches do not fit."""
    could_record: bool = False
    """See `TrainingStep.could_record`."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """The result of checking a run before it begins."""

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
    """On settings that are possible but hardly intended, or slow."""
    read: list[Corpus]
    """The training text."""
    held_out: dict[str, tuple[StrPath, ...]]
    """The files of validation and test text."""
    problem: VocabularyTooLargeError | None
    """The error of training if the text gives too few pieces; all else is for those it gives."""

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


def plain(findings: dict[str, list[Finding]]) -> dict[str, list[dict[str, Any]]]:
    """Return the findings in each text as plain values for JSON."""
    return {text: [finding.as_dict() for finding in of_text] for text, of_text in findings.items()}


def check_run(
    config: RunConfig,
    device: str = "auto",
    reporter: Reporter = SILENT,
    tell: Tell = lambda found, corpora, error: None,
    *,
    trust_code: bool = False,
) -> RunCheck:
    """Read the text as training would, survey it, and try the model on a few batches.

    reporter: shows progress. tell: is given the findings in the text and the error if no
    vocabulary can be made of the text, before the error is raised: the findings may explain it.
    A set size that the text does not give becomes `problem`; everything else is for the largest
    possible one. Nothing is written but the encoded text and tokenizers where `data.shards` keeps
    them. trust_code: run the code of the model that training starts from.
    Raises the errors of training about text and configuration; only validation text may be missing.
    Training may end earlier than estimated, if patience ends it.
    """
    torch_device = torch.device(resolve_device(device))
    start = open_start(config, trust_code=trust_code)
    config = with_languages(start.config if start else config)
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
    prepared = prepare(
        config,
        texts,
        torch_device,
        tokenizers=(source, target),
        known_length=start.max_source_pieces if start else 0,
        change=start.change if start else None,
        reporter=reporter,
    )
    training, encoded, stream = config.training, prepared.encoded, prepared.stream
    steps = stream.steps(training.max_steps, training.max_epochs)
    # Before the text is surveyed, which takes memory that training does not take.
    with reporter.preparing("Trying the model") as show:
        estimated = estimate(prepared.bundle, stream, training, prepared.precision, steps, show)
    rewritten = rewritten_remarks(config, texts, encoded.report, target)
    suspicious_in: dict[str, list[Finding]] = {}
    unknowns: dict[str, Unknown] = {}
    harmless = marked_files(texts.files)
    keeps_returns = target.normalize("a\r").endswith("\r")  # then cleaning reports them
    for name, pairs, suspicious in findings(config.data, texts, start.direction if start else None):
        unknowns[name] = unknown(pairs, source, target)
        if not keeps_returns:
            harmless += line_ends(name, pairs)
        if suspicious is not None:
            suspicious_in[name] = suspicious
    return RunCheck(
        findings=suspicious_in,
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
            *tokenizers.notes,
            *rewritten,
            *texts.remarks,
            *_remarks(config, stream, steps, estimated),
            *language_remarks(config.data),
            *harmless,
        ],
        read=texts.corpora,
        held_out=held_out_files(config.data),
        problem=problem,
    )


def _tell_findings(config: RunConfig, texts: Texts, tell: Tell, error: HeadwayError) -> None:
    """Tell the findings in the text if they may explain the error."""
    if config.tokenizer.source_model or config.tokenizer.target_model:
        return
    surveyed = findings(config.data, texts)
    suspicious = {name: problems for name, _, problems in surveyed if problems is not None}
    tell(suspicious, texts.corpora, error)


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
            problem = problem or _with_hold_out(error, config.data)
            size = {"vocabulary_size": error.most}
            config = config.replace({"tokenizer": config.tokenizer.replace(size)})


def _with_hold_out(error: VocabularyTooLargeError, data: DataConfig) -> VocabularyTooLargeError:
    """Return the error; without validation text it says that `hold_out` lowers the limit."""
    if data.validates or len(data.corpora) > 1:
        return error
    remedy = f"{error.remedy} With data.hold_out the limit is lower: set that first."
    return VocabularyTooLargeError(error.message, remedy, error.most)


def _remarks(config: RunConfig, stream: BatchStream, steps: int, estimated: Estimate) -> list[str]:
    training, pairs = config.training, len(stream.pairs)
    sentences = []
    if not training.start_from and pairs >= USABLE_PAIRS:
        sentences.append(_usable(steps, estimated.seconds))  # first: it helps to choose --minutes
    sentences += remarks(training, steps, pairs)
    sentences += advice(estimated.could_record, estimated.seconds)
    epochs = steps / stream.updates_of_an_epoch
    if epochs > _MANY_EPOCHS:
        sentences.append(
            f"In {counted(steps, 'step')} the run would read each pair {epochs:,.0f} times: train "
            "with --minutes, or set training.max_steps lower."
        )
    if training.patience is not None:
        sentences.append(
            f"This is an upper limit: training usually ends earlier, after {training.patience:,} "
            "validations without a new best (training.patience)."
        )
    if config.data.validates:
        return sentences
    return [f"To train, {ways_to_validate(config.data, pairs)}.", *sentences]


def _usable(steps: int, seconds: float) -> str:
    """Return the sentence on when a new model is usable, from the steps and their seconds."""
    fewest, most = (
        math.ceil(needed * seconds / steps / 60) for needed in (USABLE_EARLIEST, USABLE_STEPS)
    )
    return f"{usable_after()}: here about {minutes_between(fewest, most)} without validations."


def estimate(
    bundle: Bundle,
    stream: BatchStream,
    training: TrainingConfig,
    precision: str,
    steps: int,
    show: Show = lambda pairs: None,
) -> Estimate:
    """Train the model on its largest batch and on some other batches; scale up their time.

    show: is called with the number of pairs trained on so far. The model is changed. Raises
    TrainingError if there is not enough memory for one pair.
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
                # Like most shapes of a run, this one is then recorded.
                update_within_memory(step, 1, [batch])
            start = time.perf_counter()
            update_within_memory(step, 1, [batch])
            if average is not None:
                average.update(bundle.model, 1)
            seconds.append(time.perf_counter() - start)
            waiting.look()
            show(pairs := pairs + len(batches[index]))
            # Batches come in random order, so the first are a fair sample.
            if sum(seconds[2:]) > _ENOUGH:
                break
    mean = float(np.mean(seconds[2:]))  # the first two prepare memory and compile
    memory = peak_memory(next(bundle.model.parameters()).device)
    # The last update of a block may have fewer batches.
    updates = math.ceil(len(batches) / training.accumulate)
    seconds_of_all = mean * len(batches) / updates * steps
    return Estimate(seconds_of_all, memory, step.parts, step.could_record())


def _area(stream: BatchStream, rows: list[int]) -> int:
    """Return the pieces of a batch, padding included."""
    return len(rows) * int(stream.pairs.lengths(rows).max() + 1)
