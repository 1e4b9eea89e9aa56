"""Translation speed: target pieces a second and milliseconds a sentence, of ours and of a peer.

Both have the same weights, text, beam, length penalty and output limit, and go from text to text. A
contestant is a process with one precision and, for a peer, one layout of threads. A cell is a
search with one sentence at a time or with a file. Its configurations take turns; the median of the
turns counts, and then the best configuration of each side. A cell can be measured again beside a
process that keeps one core busy.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args

from headway.bench import ctranslate2
from headway.bench.busy_core import one_core_busy
from headway.bench.cells import Cell, Figures, Refill, Row, title_of
from headway.bench.comparison import TranslationComparison
from headway.bench.configurations import (
    OURS,
    Configuration,
    Entrant,
    beam_size_of,
    configurations,
    peer_layouts,
)
from headway.bench.contestants import Contestant, in_turns
from headway.bench.first_sentence import measure_first_sentence
from headway.bench.jobs import Outcome, Text, pytorch_alone
from headway.bench.machine import describe_machine
from headway.bench.material import Material, read_material
from headway.bench.our_translation import prepare_ours
from headway.bench.quality import Judge
from headway.bench.random_model import random_bundle
from headway.bench.training import is_imitated
from headway.bundle import Bundle, load_bundle, save_bundle
from headway.decoding.build_engine import PrecisionName, automatic_precision
from headway.errors import ConfigError, suggest
from headway.evaluation.metrics import check_metrics
from headway.runtime.processor import num_cores
from headway.saved_bundle import find_bundle

PEERS = ("ctranslate2",)

_TRIAL = 8  # sentences
_HOPELESS = 4.0
_PRECISIONS = tuple(name for name in get_args(PrecisionName) if name != "auto")

Say = Callable[[str], None]


def compare_translation(
    model: str | Path | None,
    peers: Sequence[str] = (),
    *,
    size: str | None = None,
    source: str | Path | None = None,
    reference: str | Path | None = None,
    sentences: int | None = None,
    rounds: int = 3,
    precisions: Sequence[str] = (),
    peer_precisions: Sequence[str] = (),
    searches: Sequence[str] = ("greedy", "beam4"),
    batches: Sequence[int] = (1, 64),
    cores: int | None = None,
    length_penalty: float = 1.0,
    refill: bool = False,
    busy: bool = False,
    first: bool = False,
    tokenize: str = "13a",
    trust_code: bool = False,
    say: Say = lambda text: None,
) -> TranslationComparison:
    """Measure a bundle and the peers, so far only `ctranslate2`, in turns.

    model: a bundle or a run; or size: one of `RANDOM_MODELS`, a model with random weights, whose
    translations have one length on both sides. precisions: of ours; if empty, all that make sense
    on this processor. float32 is always among them, because it is the baseline of quality.
    peer_precisions: of the peers; if empty, `ctranslate2.PRECISIONS`. batches: 1 is one sentence at
    a time; among the others each side takes its best for a file. length_penalty: a beam is ranked
    by the log-probability divided by |Y| to this power. refill: also measure batches without
    refill. busy: also measure every cell beside a process that keeps one core busy. first: also
    time new processes that translate one sentence. tokenize: tokenization of sacreBLEU, for BLEU.
    trust_code: run the code that the bundle may have. say: called with the next measurement.

    Raises ConfigError for an unknown name, MissingExtraError for a peer that is not installed.
    """
    _check_names(peers, precisions, peer_precisions, batches, tokenize)
    beams = {search: beam_size_of(search) for search in dict.fromkeys(searches)}
    bundle, material = _bundle_and_material(model, size, source, reference, sentences, trust_code)
    text = replace(material.text, length_penalty=length_penalty)
    cores = num_cores() if cores is None else cores
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "bundle"
        if model is None:
            save_bundle(path, bundle)
        else:
            path = find_bundle(model)
        chosen, notes = _our_precisions(precisions)
        entrants = [Entrant(OURS, precision) for precision in chosen]
        if peers:
            _export(bundle, folder)
            entrants += _peer_entrants(peer_precisions or ctranslate2.PRECISIONS, cores)
        installed = automatic_precision(bundle.model)
        field = Field(stack, path, folder, text, trust_code)
        notes += field.start(entrants, needed=["float32", *precisions], say=say)
        if installed not in chosen:
            notes.append(f"As installed, in {installed}, is not measured: --precision left it out.")
        measure = Measurement(field, material, rounds, cores, installed, tokenize, say)
        cells = []
        for search, batch in product(beams, _cells(batches)):
            cells.append(measure.cell(search, batch, refill=refill))
            if busy:
                with one_core_busy():
                    cells.append(measure.cell(search, batch, busy=True))
        pytorch = field.pytorch_memory()
        seconds = None
        if first:
            say("the first sentence of new processes")
            exported = folder / "int8" if peers else None
            beam_size = bundle.decoding.beam_size
            seconds = measure_first_sentence(path, exported, text, beam_size, rounds, trust_code)
    if material.blank:
        notes.append(f"{material.blank} blank lines were left out.")
    if size is not None:
        notes.append(
            f"The weights are random, so every translation has {material.text.length} tokens, and "
            "every precision counts, whatever its texts."
        )
    return TranslationComparison(
        model=str(model or size),
        length=material.text.length,
        sentences=len(material.text.sentences),
        length_penalty=length_penalty,
        references=material.references is not None,
        rounds=rounds,
        machine=describe_machine(cores, *peers),
        pytorch_memory_mb=pytorch,
        cells=cells,
        first=seconds,
        notes=notes,
    )


def _bundle_and_material(
    model: str | Path | None,
    size: str | None,
    source: str | Path | None,
    reference: str | Path | None,
    sentences: int | None,
    trust_code: bool,
) -> tuple[Bundle, Material]:
    """Read the bundle and its sentences, or make a bundle of a size."""
    if (model is None) == (size is None):
        choice = "neither a model nor a size" if model is None else "both a model and a size"
        raise ConfigError(
            f"There is {choice}.", "Give a model, or a size for a model with random weights."
        )
    if size is None:
        bundle = load_bundle(str(model), trust_code=trust_code)
        return bundle, read_material(bundle, source, reference, sentences)
    if reference is not None:
        raise ConfigError(
            "There are references for a model with random weights, which translates nothing.",
            "Leave out --reference, or give a trained model.",
        )
    return random_bundle(size, source, sentences)


class Field:
    """The competing processes, and how to start another one."""

    def __init__(
        self,
        stack: contextlib.ExitStack,
        bundle: Path,
        exported: Path,
        text: Text,
        trust_code: bool = False,
    ) -> None:
        """Keep the arguments of the processes; they end with the stack."""
        self.stack = stack
        self.bundle = bundle
        self.exported = exported
        self.text = text
        self.trust_code = trust_code
        self.processes: dict[Entrant, Contestant] = {}

    def start(self, entrants: Sequence[Entrant], needed: Sequence[str], say: Say) -> list[str]:
        """Start a process for each entrant; return notes on those that were left out.

        A precision of ours is left out if it cannot be computed and was not requested.
        """
        notes = []
        for entrant in entrants:
            say(f"starting {entrant}")
            try:
                self.processes[entrant] = self.stack.enter_context(self.fresh(entrant))
            except ConfigError as error:
                if entrant.side != OURS or entrant.precision in needed:
                    raise
                notes.append(f"{entrant} is not measured: {error}")
        return notes

    def fresh(self, entrant: Entrant) -> Contestant:
        """Start one process."""
        if entrant.side == OURS:
            return Contestant(
                prepare_ours,
                str(self.bundle),
                entrant.precision,
                self.text,
                self.trust_code,
                warm_up=0,
            )
        folder = str(self.exported / entrant.precision)
        return Contestant(
            ctranslate2.prepare_ctranslate2,
            folder,
            entrant.precision,
            entrant.replicas,
            entrant.threads,
            self.text,
            warm_up=0,
        )

    def memory(self, configuration: Configuration) -> float:
        """Return the peak memory of a new process that does only this."""
        with self.fresh(configuration.entrant) as process:
            return process.result(configuration.job).memory_mb

    def pytorch_memory(self) -> float:
        """Return the peak memory of a process that has PyTorch and does nothing."""
        with Contestant(pytorch_alone, warm_up=0) as process:
            return process.result()

    def race(self, entries: Sequence[Configuration], rounds: int) -> dict[Configuration, Figures]:
        """Let all take turns, except those that were far too slow in a trial of a few sentences.

        Threads that wait for a core of another program can take a hundred times as long.
        """
        trial = {entry: self._call(entry, sentences=_TRIAL) for entry in entries}
        # The first time is a warm-up.
        tried = {entry: outcomes[1:] for entry, outcomes in in_turns(trial, 3).items()}
        seconds = {entry: min(run.seconds for run in runs) for entry, runs in tried.items()}
        return self.take_turns(_not_hopeless(seconds), rounds)

    def take_turns(
        self, entries: Sequence[Configuration], rounds: int
    ) -> dict[Configuration, Figures]:
        """Let all take turns."""
        calls = {entry: self._call(entry) for entry in entries}
        return {entry: Figures.of(runs) for entry, runs in in_turns(calls, rounds).items()}

    def _call(self, entry: Configuration, sentences: int | None = None) -> Callable[[], Outcome]:
        process = self.processes[entry.entrant]
        return partial(process.result, replace(entry.job, sentences=sentences))


def _not_hopeless(seconds: Mapping[Configuration, float]) -> list[Configuration]:
    """Return those that are not many times slower than the fastest of their kind.

    A kind is a side and a precision, because precisions differ in speed. The configuration as
    installed is always among them, because users have it.
    """
    fastest: dict[tuple[str, str], float] = {}
    for entry, taken in seconds.items():
        fastest[entry.kind] = min(taken, fastest.get(entry.kind, taken))
    return [
        entry
        for entry, taken in seconds.items()
        if taken <= _HOPELESS * fastest[entry.kind] or entry.job.as_installed
    ]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measures cells with the same processes, text and turns."""

    field: Field
    material: Material
    rounds: int
    cores: int
    installed: str
    """The precision that is chosen here unless a user asks for another."""
    tokenize: str
    say: Say

    def cell(
        self, search: str, batches: Sequence[int], *, refill: bool = False, busy: bool = False
    ) -> Cell:
        """Measure one cell; memory and refill only on a machine that is not busy."""
        field, beam_size = self.field, beam_size_of(search)
        entries = configurations(field.processes, beam_size, batches, self.cores, self.installed)
        single = list(batches) == [1]
        self.say(f"{title_of(search, single=single, busy=busy)}: {len(entries)} ways")
        figures = field.race(entries, self.rounds)
        exact = next(f for e, f in figures.items() if e.ours and e.entrant.precision == "float32")
        untrained = self.material.text.length is not None
        judge = Judge(exact.texts, self.material.references, self.tokenize, untrained=untrained)
        rows = [Row.of(entry, medians, judge) for entry, medians in figures.items()]
        hopeless = [entry for entry in entries if entry not in figures]
        cell = Cell(search, single, busy, judge.float32, rows, hopeless)
        for row in (cell.ours, cell.peer):
            if row is not None and not busy:
                row.memory_mb = field.memory(row.configuration)
        if refill and not single:
            self.say(f"{search}, file: with and without refill")
            cell.refill = _measure_refill(field, cell.ours or cell.rows[0], self.rounds)
        return cell


def _measure_refill(field: Field, row: Row, rounds: int) -> Refill:
    """Measure the best configuration with one worker, with and without refill, in both orders."""
    entrant = row.configuration.entrant
    job = replace(row.configuration.job, workers=1, threads=1, as_installed=False)
    ways = {
        (refill, longest_first): Configuration(
            entrant, replace(job, refill=refill, longest_first=longest_first)
        )
        for longest_first in (True, False)
        for refill in (True, False)
    }
    figures = field.take_turns(list(ways.values()), rounds + 1)  # the first is a warm-up
    return Refill(ways[True, True], {way: figures[entry].rate for way, entry in ways.items()})


def _cells(batches: Sequence[int]) -> Iterator[list[int]]:
    """Yield the batches of each cell; all batches for a file compete in one cell."""
    if several := sorted({batch for batch in batches if batch > 1}):
        yield several
    if 1 in batches:
        yield [1]


def _our_precisions(asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our precisions to measure, float32 first, and notes on those left out."""
    if asked:
        return list(dict.fromkeys(["float32", *asked])), []
    if not is_imitated("bfloat16"):
        return list(_PRECISIONS), []
    note = f"{OURS} bfloat16 is not measured: this processor only imitates it."
    return [name for name in _PRECISIONS if name != "bfloat16"], [note]


def _peer_entrants(precisions: Sequence[str], cores: int) -> Iterator[Entrant]:
    for precision in dict.fromkeys(precisions):
        for replicas, threads in peer_layouts(cores):
            yield Entrant("ctranslate2", precision, replicas, threads)


def _export(bundle: Bundle, folder: Path) -> None:
    """Write the bundle for the peer, in each precision, as its users store it."""
    from headway.interop.ctranslate2 import write

    for precision in ctranslate2.PRECISIONS:
        write(bundle, folder / precision, "none" if precision == "float32" else precision)


def _check_names(
    peers: Sequence[str],
    precisions: Sequence[str],
    peer_precisions: Sequence[str],
    batches: Sequence[int],
    tokenize: str,
) -> None:
    for peer in peers:
        if peer not in PEERS:
            raise ConfigError(f"There is no peer '{peer}'.", suggest(peer, PEERS))
    for asked, known in ((precisions, _PRECISIONS), (peer_precisions, ctranslate2.PRECISIONS)):
        for precision in asked:
            if precision not in known:
                raise ConfigError(
                    f"There is no precision '{precision}'.", suggest(precision, known)
                )
    if not batches or min(batches) < 1:
        raise ConfigError(
            f"The batches are {', '.join(map(str, batches)) or 'none'}; each must be 1 or more.",
            "1 is one sentence at a time.",
        )
    check_metrics(("bleu", "chrf"), tokenize)
