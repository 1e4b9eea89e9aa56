"""What both sides of a comparison of translators are asked, and what they answer.

Nothing here imports PyTorch: a peer that does not need it must not have it in its memory.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.runtime.resident_memory import held_by, peak_of_ended_children, peak_of_process


@dataclass(frozen=True, slots=True)
class Text:
    """The sentences that everybody translates, and how long a translation may become."""

    sentences: tuple[str, ...]
    extra_pieces: int
    """Output limit: the pieces of the source, of the longest one in a file, plus this many."""
    most_pieces: int
    """Pieces that the model has positions for."""

    def limit(self, source_pieces: int) -> int:
        """Return the output limit for a longest source of so many pieces."""
        return min(source_pieces + self.extra_pieces, self.most_pieces)


@dataclass(frozen=True, slots=True)
class Job:
    """One way through the text."""

    beam_size: int
    """1 is greedy."""
    batch: int
    """Sentences computed together; 1: each sentence is given when the one before is done."""
    workers: int = 1
    """Searches side by side. A peer has its own from the beginning."""
    threads: int = 1
    sentences: int | None = None
    """Only the first so many."""
    refill: bool = True
    """False: a batch is decoded to its end before the next one begins."""
    longest_first: bool = True
    """False: sentences are taken as they come. Both matter for files only."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job, tokenization included."""

    seconds: float
    milliseconds: tuple[float, ...]
    """Of each sentence, where they were translated one by one."""
    texts: tuple[str, ...]
    pieces: int
    """Of all translations, without end symbols."""
    cut: int
    """Translations that the output limit ended."""
    memory_mb: float
    """The most memory that the process has had yet."""

    @property
    def rate(self) -> float:
        """Return target pieces a second."""
        return self.pieces / self.seconds


@dataclass(frozen=True, slots=True)
class Translated:
    """A translation: text, number of pieces, and whether the output limit ended it."""

    text: str
    pieces: int
    cut: bool


def one_by_one(sentences: Sequence[str], translate: Callable[[str], Translated]) -> Outcome:
    """Translate each sentence by itself and time each."""
    found, milliseconds = [], []
    for sentence in sentences:
        start = time.perf_counter()
        found.append(translate(sentence))
        milliseconds.append(1000 * (time.perf_counter() - start))
    return _outcome(sum(milliseconds) / 1000, milliseconds, found)


def all_at_once(
    sentences: Sequence[str], translate: Callable[[Sequence[str]], list[Translated]]
) -> Outcome:
    """Translate all sentences in one call."""
    start = time.perf_counter()
    found = translate(sentences)
    return _outcome(time.perf_counter() - start, [], found)


def _outcome(seconds: float, milliseconds: Sequence[float], found: Sequence[Translated]) -> Outcome:
    return Outcome(
        seconds=seconds,
        milliseconds=tuple(milliseconds),
        texts=tuple(one.text for one in found),
        pieces=sum(one.pieces for one in found),
        cut=sum(one.cut for one in found),
        memory_mb=peak_memory_mb(),
    )


def peak_memory_mb() -> float:
    """Return the most memory that this process has had, in MiB."""
    return peak_of_process() / 2**20


def workers_memory_mb(workers: int) -> float:
    """Return what forked workers had at most beside what they share with this process, in MiB.

    The largest of those that have ended or still live counts for each. 0 where there were none.
    """
    if workers == 1 or sys.platform != "linux":
        return 0.0
    living = [held_by(str(worker.pid), "VmHWM") for worker in multiprocessing.active_children()]
    largest = max([peak_of_ended_children(), *living])
    return workers * max(largest - held_by("self", "VmRSS"), 0) / 2**20


def pytorch_alone() -> Callable[[], float]:
    """Prepare a measurement of what a process takes that has PyTorch and does nothing."""
    import torch

    torch.ones(1)
    return peak_memory_mb
