"""The time of each part of a run, measured before its first step on a copy of its model.

The copy is discarded. Weights, random numbers and the order of the text are those of a run without
a measurement, because each step of a run seeds all generators.
"""

import copy
import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import numpy as np

from headway.bundle import Bundle
from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.data.batching import Batch
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.decoding.options import SearchOptions
from headway.decoding.translator import TextTranslator
from headway.evaluation.metrics import score_texts
from headway.runtime.openmp_spin import WaitingThreads
from headway.training.averaging import save_snapshot
from headway.training.budget import Budget, Costs, Plan, plan
from headway.training.cuda_graphs import Limits
from headway.training.ema import WeightAverage
from headway.training.micro_batches import update_within_memory
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.reporting import Reporter, Show
from headway.training.schedule import Schedule
from headway.training.stream import BatchStream
from headway.training.update import TrainingStep
from headway.training.validation import EXCHANGED_PAIRS, Validator

_UNTIMED, _FEWEST, _MOST = 4, 8, 36  # updates
_LONGEST = 10.0  # times the median; what takes longer, such as compiling, hardly comes again
_SHARE = 0.03  # of the time, for measuring more updates than the fewest
_SENTENCES = 200  # of validation text that are measured
_BEAM_SENTENCES = 64
# Most files of the model's size that a validation writes: its weights, those of the best bundle,
# and a checkpoint, which holds the weights and both of Adam's moments.
_FILES = 5
_CLOSING = 2.0  # seconds for the picture, the report and the end of the process


@dataclass(frozen=True, slots=True)
class Tried:
    """The parts of a run that are measured; none of them is changed."""

    bundle: Bundle
    stream: BatchStream
    valid: Sequence[EncodedPair]
    valid_texts: Sequence[Pair]
    test_texts: Sequence[Pair]
    precision: str


def plan_within(
    budget: Budget, tried: Tried, config: RunConfig, folder: Path, reporter: Reporter
) -> Plan:
    """Measure a run, and choose the steps that fit into its minutes.

    Raises ConfigError if the time is too short.
    """
    with reporter.preparing("Measuring the speed") as show:
        costs = measure_costs(tried, config, folder, budget.left(), show)
    return plan(budget, costs, config.training, config.model, len(tried.stream.pairs))


def measure_costs(
    tried: Tried, config: RunConfig, folder: Path, seconds: float, show: Show
) -> Costs:
    """Train a copy for a few dozen updates, and validate and translate with it.

    folder: of the run, which need not exist yet. seconds: of the whole run; measuring takes a small
    part of them. show: is called with the number of pairs that the copy was trained on.
    """
    # Threads wait as they do in a run. Otherwise a validation would be measured several times too
    # slow while other programs are busy.
    with closing(WaitingThreads()) as waiting:
        return _measured(tried, config, folder, seconds, show, waiting)


def _measured(
    tried: Tried,
    config: RunConfig,
    folder: Path,
    seconds: float,
    show: Show,
    waiting: WaitingThreads,
) -> Costs:
    training = config.training
    bundle = replace(tried.bundle, model=copy.deepcopy(tried.bundle.model))
    step, compiling, updates = _updates(bundle, tried, training, seconds, show, waiting)
    bundle.model.eval()
    sample = [tried.valid[place] for place in _spread(len(tried.valid), _SENTENCES)]
    source = mean([len(pair.source_ids) for pair in sample])
    length = math.ceil(mean([len(pair.target_ids) for pair in sample])) + 1  # the end symbol
    fixed, sentence = _translating(bundle, tried.valid_texts, length, 1, _SENTENCES, config)
    greedily = fixed + sentence * min(training.validation_sentences, len(tried.valid_texts))
    texts, beam = [*tried.valid_texts, *tried.test_texts], config.decoding.beam_size
    fixed, sentence = _translating(bundle, texts, length, beam, _BEAM_SENTENCES, config)
    number_of_texts = sum(map(bool, (tried.valid_texts, tried.test_texts)))
    scoring = fixed * number_of_texts + sentence * len(texts)
    writing = _writing(bundle, folder)
    losses = _loss_seconds(bundle, tried, sample, training.batch_tokens)
    validation = greedily + losses
    start = validation if training.validation_sentences else losses
    longer = (source + config.decoding.max_extra_pieces) / length - 1
    averaged = training.average_checkpoints * writing + validation
    return Costs(
        step=step,
        compiling=compiling if training.compile else 0.0,
        validation=validation + _FILES * writing,
        endless=greedily * max(longer, 0.0),
        # Weights are averaged and validated, texts are translated, two bundles are written.
        end=averaged + 2 * writing + scoring + _CLOSING,
        second_average=averaged,
        start=start if training.start_from else 0.0,
        updates=updates,
    )


def _updates(
    bundle: Bundle,
    tried: Tried,
    training: TrainingConfig,
    most: float,
    show: Show,
    waiting: WaitingThreads,
) -> tuple[float, float, int]:
    """Return the seconds of an update, the extra seconds of the first ones, and the number timed.

    Updates differ in size. So the seconds of an update are the mean of the seconds for a piece,
    times the pieces of a usual update. Other programs slow some updates down, here as in the run,
    so those count too: on a busy machine the mean is up to 1.8 times the median (log 077).
    """
    step = _step(bundle, tried, training)
    decay = training.ema_decay
    average = None if decay is None else WeightAverage(bundle.model, decay)
    rates: list[float] = []
    first, pairs, started = 0.0, 0, 0.0
    with closing(tried.stream.groups()) as groups:
        for number in range(_UNTIMED + _MOST):
            start = time.perf_counter()
            group = next(groups)
            update_within_memory(step, 1, group.batches)
            if step.preparations():  # most shapes of a run have been recorded
                update_within_memory(step, 1, group.batches)
                start = time.perf_counter()
                update_within_memory(step, 1, group.batches)
            if average is not None:
                average.update(bundle.model, 1)
            now = time.perf_counter()
            waiting.look()
            show(pairs := pairs + sum(len(batch) for batch in group.batches))
            if number < _UNTIMED:  # they prepare memory and kernels
                first, started = first + now - start, now
                continue
            rates.append((now - start) / sum(map(_area, group.batches)))
            if len(rates) >= _FEWEST and now - started > _SHARE * most:
                break
    longest = _LONGEST * median(rates)
    seconds = mean([min(rate, longest) for rate in rates]) * _usual_area(tried.stream)
    return seconds, max(first - _UNTIMED * seconds, 0.0), len(rates)


def _step(bundle: Bundle, tried: Tried, training: TrainingConfig) -> TrainingStep:
    """Return the updates of a run, with a rate that hardly changes the model."""
    objective = Objective(bundle.model, training.label_smoothing, tried.precision)
    if training.compile:
        objective.compile_layers()
    return TrainingStep(
        objective,
        build_optimizer(bundle.model),
        Schedule("constant", 1e-6, 1, 1),
        clip_norm=training.clip_norm,
        parts=training.parts or 1,
        limits=Limits(tried.stream.max_tokens, tried.stream.longest),
    )


def _area(batch: Batch) -> int:
    """Return the pieces of both sides of a batch, padding included."""
    return batch.source_ids.numel() + batch.target_ids.numel()


def _usual_area(stream: BatchStream) -> float:
    """Return the mean area of the updates in the first block."""
    batches = stream.block(0, 0)
    longest = ((stream.pairs.lengths(rows) + 1).max(axis=0) for rows in batches)
    area = sum(len(rows) * int(most.sum()) for rows, most in zip(batches, longest, strict=True))
    return area / math.ceil(len(batches) / stream.accumulate)


def _translating(
    bundle: Bundle, texts: Sequence[Pair], length: int, beam_size: int, most: int, config: RunConfig
) -> tuple[float, float]:
    """Return the fixed seconds of translating any text, and the seconds of each sentence.

    The fixed seconds are those of a new translator, which prepares weights and processes. An
    untrained model does not end its translations, so each is made as long as the references.
    """
    if not texts:
        return 0.0, 0.0
    pairs = [texts[place] for place in _spread(len(texts), most)]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    options = SearchOptions(
        beam_size, config.decoding.length_penalty, min_length=length, max_length=length
    )
    way = {"options": options, "mend_runaways": False, "split_sentences": False}
    TextTranslator(bundle).translate(sources[:1], **way)  # loads and compiles the kernels
    start = time.perf_counter()
    translator = TextTranslator(bundle)
    translator.translate(sources, **way)
    prepared = time.perf_counter()
    translations = translator.translate(sources, **way)
    again = time.perf_counter()
    outputs = [translation.text for translation in translations]
    score_texts(outputs, references, config.evaluation.metrics, config.evaluation.bleu_tokenize)
    seconds = time.perf_counter() - prepared
    return max(prepared - start - (again - prepared), 0.0), seconds / len(pairs)


def _loss_seconds(
    bundle: Bundle, tried: Tried, sample: Sequence[EncodedPair], batch_tokens: int
) -> float:
    """Return the seconds for the losses of a validation, measured on some of its pairs."""
    validator = Validator(sample, [], metrics=[], bleu_tokenize="none", batch_tokens=batch_tokens)
    validator(bundle, tried.precision)  # the first pass prepares memory, once in a run
    start = time.perf_counter()
    validator(bundle, tried.precision)
    seconds = time.perf_counter() - start
    # The losses of the first pairs are computed twice more.
    counts = [len(pairs) + 2 * min(EXCHANGED_PAIRS, len(pairs)) for pairs in (tried.valid, sample)]
    return seconds * counts[0] / counts[1]


def _writing(bundle: Bundle, folder: Path) -> float:
    """Return the seconds for writing a file with the weights on the disk of the run."""
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    with tempfile.TemporaryDirectory(prefix=".headway-", dir=above) as place:
        start = time.perf_counter()
        save_snapshot(Path(place), 0, bundle.model)
        return time.perf_counter() - start


def _spread(count: int, most: int) -> list[int]:
    """Return at most this number of indices, evenly spread over all."""
    return np.linspace(0, count - 1, min(most, count)).round().astype(int).tolist()
