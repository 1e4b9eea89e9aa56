"""What a run would train on and what it would cost, found out before its first step."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import torch

from headway.bundle import Bundle
from headway.config.data import DataConfig
from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.data.batching import collate
from headway.data.cleaning import CleaningReport
from headway.data.corpus import Pair
from headway.data.survey import Finding, overlap, survey
from headway.data.tokenizer import Tokenizer
from headway.devices import resolve_device
from headway.errors import HeadwayError
from headway.model.accounting import count_parameters
from headway.training.ema import WeightAverage
from headway.training.encode import encode_texts
from headway.training.estimate import forget_peak, peak_memory
from headway.training.micro_batches import FittingStep
from headway.training.new_model import build_bundle, check_positions
from headway.training.optimizer import build_optimizer
from headway.training.precision import choose_precision
from headway.training.reporting import SILENT, Reporter, Show
from headway.training.run_stream import build_stream
from headway.training.schedule import Schedule
from headway.training.settings import check_settings
from headway.training.start_from import open_start
from headway.training.step import Objective
from headway.training.stream import BatchStream
from headway.training.texts import Texts, read_texts, training_corpora, untag
from headway.training.tokenizers import find_tokenizers

_SAMPLE = 12  # batches that are timed
_ENOUGH = 20.0  # seconds of them, after which no more are
_CHUNK = 10_000  # lines encoded at once
LOOKED_AT = 1_000_000  # pairs of each text that are looked at for what is suspicious


@dataclass(frozen=True, slots=True)
class Unknown:
    """How many pieces of a text the vocabulary does not know."""

    unknown: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the training steps will take; validation and the scores at the end come on top."""

    seconds: float
    memory: int
    """Bytes of the process at their peak in the steps: with the text, and the largest batch."""
    parts: int = 1
    """Parts in which batches are computed, because whole ones do not fit or as it is configured."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """What is known about a run before it begins."""

    findings: dict[str, list[Finding]]
    """By text: training, validation, test."""
    cleaning: CleaningReport
    unknown: dict[str, Unknown]
    parameters: int
    vocabulary: int
    steps: int
    epochs: float
    precision: str
    estimate: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "findings": {
                text: [
                    {"problem": found.problem, "count": found.count, "lines": list(found.lines)}
                    for found in findings
                ]
                for text, findings in self.findings.items()
            },
            "cleaning": asdict(self.cleaning),
            "unknown": {
                text: {"unknown": count.unknown, "pieces": count.pieces}
                for text, count in self.unknown.items()
            },
            "parameters": self.parameters,
            "vocabulary": self.vocabulary,
            "steps": self.steps,
            "epochs": self.epochs,
            "precision": self.precision,
            "estimated_seconds": self.estimate.seconds,
            "estimated_memory": self.estimate.memory,
            "batch_parts": self.estimate.parts,
        }


def check_run(config: RunConfig, device: str = "auto", reporter: Reporter = SILENT) -> RunCheck:
    """Read the text as training would, look at it, and try the model on a few batches.

    reporter: shows how far it has come; nobody hears of it if unset.
    Nothing is written, but for the encoded text where `data.shards` keeps it. Raises what training
    would raise about text and configuration. Training may end earlier than estimated, if patience
    ends it.
    """
    place = torch.device(resolve_device(device))
    start = open_start(config)
    config = start.config if start else config
    check_settings(config)
    texts = read_texts(config.data)
    try:
        source, target = start.tokenizers if start else find_tokenizers(config, texts, reporter)
    except HeadwayError:
        own = config.tokenizer.source_model or config.tokenizer.target_model
        if not (own or reporter.console.quiet):  # the text may be why no vocabulary fits it
            _say_findings(config.data, texts, reporter)
        raise
    keep_texts = config.tokenizer.sampling is not None
    encoded = encode_texts(
        texts, source, target, config.data, keep_texts=keep_texts, reporter=reporter
    )
    check_positions(config.model, encoded)
    training = config.training
    stream = build_stream(config, texts, encoded, (source, target))
    bundle = build_bundle(config, source, target, place)
    # No update takes batches of two blocks.
    updates = math.ceil(len(stream.block(0, 0)) / training.accumulate) * stream.deck.num_blocks(0)
    steps = min(training.max_steps, (training.max_epochs or math.inf) * updates)
    precision = choose_precision(training.precision, place)
    # Before the text is looked at: what that takes of memory, training does not.
    with reporter.preparing("Trying the model") as show:
        estimated = estimate(bundle, stream, training, precision, int(steps), show)
    looked_at = _looked_at(config.data, texts)
    return RunCheck(
        findings=_findings(looked_at, texts, config.data.tag),
        cleaning=encoded.report,
        unknown={name: _unknown(pairs, source, target) for name, pairs in looked_at.items()},
        parameters=count_parameters(bundle.model),
        vocabulary=bundle.config.target_vocab_size,
        steps=int(steps),
        epochs=steps / updates,
        precision=precision,
        estimate=estimated,
    )


def _say_findings(data: DataConfig, texts: Texts, reporter: Reporter) -> None:
    for text, found in _findings(_looked_at(data, texts), texts, data.tag).items():
        for line in [f"{text.capitalize()} text:", *lines_of(found)]:
            reporter.say(line)


def lines_of(findings: Sequence[Finding]) -> list[str]:
    """Return what is suspicious about a text, one line each."""
    return [f"  {finding}" for finding in findings] or ["  nothing suspicious"]


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
    step = FittingStep(
        objective,
        build_optimizer(bundle.model),
        Schedule("constant", 1e-6, 1, 1),
        clip_norm=training.clip_norm,
        parts=training.parts or 1,
    )
    decay = training.ema_decay
    average = None if decay is None else WeightAverage(bundle.model, decay)
    batches = stream.block(0, 0)
    largest = max(range(len(batches)), key=lambda index: _area(stream, batches[index]))
    picked = np.linspace(0, len(batches) - 1, min(_SAMPLE, len(batches))).round().astype(int)
    seconds: list[float] = []
    pairs = 0
    for index in [largest, largest, *picked]:
        batch = collate([stream.pairs[row] for row in batches[index]])
        start = time.perf_counter()
        step(1, [batch])
        if average is not None:
            average.update(bundle.model, 1)
        seconds.append(time.perf_counter() - start)
        show(pairs := pairs + len(batches[index]))
        if sum(seconds[2:]) > _ENOUGH:  # batches come in random order, so the first ones are fair
            break
    mean = float(np.mean(seconds[2:]))  # the first two prepare memory, and compile
    memory = peak_memory(next(bundle.model.parameters()).device)
    # A block ends with the batches that it has, be they fewer than an update takes.
    updates = math.ceil(len(batches) / training.accumulate)
    return Estimate(mean * len(batches) / updates * steps, memory, step.parts)


def _area(stream: BatchStream, rows: list[int]) -> int:
    """Return how many pieces a batch holds with its padding."""
    return len(rows) * int(stream.pairs.lengths(rows).max() + 1)


def _looked_at(data: DataConfig, texts: Texts) -> dict[str, list[Pair]]:
    """Return the pairs of each text, or the first of very many, by what they are called.

    Training text is as in its files, with what is held out of it, so that lines are those there.
    What is validated with is, too: without its tag.
    """
    corpora: list[tuple[str, Iterable[Pair]]] = [
        (f"training, corpus {number}", corpus)
        for number, corpus in enumerate(training_corpora(data), start=1)
    ]
    if len(corpora) == 1:
        corpora = [("training", corpora[0][1])]
    found = {}
    others = {"validation": texts.valid, "test": texts.test}
    untagged = [(name, untag(data.tag, pairs)) for name, pairs in others.items()]
    for name, pairs in (*corpora, *untagged):
        first = list(islice(pairs, LOOKED_AT + 1))
        if len(first) > LOOKED_AT:
            name, first = f"{name}, first {LOOKED_AT:,} pairs", first[:LOOKED_AT]
        if first:
            found[name] = first
    return found


def _findings(looked_at: dict[str, list[Pair]], texts: Texts, tag: str) -> dict[str, list[Finding]]:
    """Return what is suspicious; a source in text of another tag has another translation there."""
    train, others = (
        list(islice(chain.from_iterable(corpora), LOOKED_AT))
        for corpora in (
            [corpus for corpus in texts.corpora if corpus.tag == tag],
            [corpus for corpus in texts.corpora if corpus.tag != tag],
        )
    )
    found = {}
    for name, pairs in looked_at.items():
        if name.startswith("training"):
            found[name] = survey(pairs)
        elif not (name.startswith("validation") and texts.valid_lines is not None):
            found[name] = survey(pairs) + overlap(train, pairs, others)
    return found


def _unknown(pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer) -> Unknown:
    """Count the pieces of both sides."""
    sources, targets = zip(*pairs, strict=True)
    total = unknown = 0
    for tokenizer, texts in ((source, sources), (target, targets)):
        for start in range(0, len(texts), _CHUNK):
            for ids in tokenizer.encode_batch(list(texts[start : start + _CHUNK])):
                total += len(ids)
                unknown += tokenizer.unknown_count(ids)
    return Unknown(unknown, total)
