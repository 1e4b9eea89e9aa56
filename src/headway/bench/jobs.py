"""The jobs of both sides in a comparison of translators, and their outcomes.

Nothing here imports PyTorch, which must not count in the memory of a peer without it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.runtime.resident_memory import peak_of_process


@dataclass(frozen=True, slots=True)
class Text:
    """The sentences to translate, the limits on a translation, and the rank of one in a beam."""

    sentences: tuple[str, ...]
    extra_pieces: int
    """Output limit: the pieces of the (longest) source plus this many."""
    most_pieces: int
    """Positions of the model."""
    length: int | None = None
    """Pieces of every translation, forced on both sides; None if the model ends it."""
    length_penalty: float = 0.0
    """A beam is ranked by the log-probability divided by |Y| to this power, on both sides."""

    def limit(self, source_pieces: int) -> int:
        """Return the output limit if the longest source has this many pieces."""
        if self.length is not None:
            return self.length
        return min(source_pieces + self.extra_pieces, self.most_pieces)

    @property
    def shortest(self) -> int:
        """Return the number of pieces before which no translation may end."""
        return self.length or 0


@dataclass(frozen=True, slots=True)
class Job:
    """One way through the text."""

    beam_size: int
    """1 is greedy."""
    batch: int
    """Sentences computed together; 1: each sentence comes after the previous one is done."""
    workers: int = 1
    """Searches at the same time, of ours; a peer has its number from the beginning."""
    threads: int = 1
    sentences: int | None = None
    """Number of first sentences to take; None for all."""
    refill: bool = True
    """False: a batch is decoded to the end before the next one begins."""
    longest_first: bool = True
    """False: sentences keep their order. Like refill, it matters for files only."""
    as_installed: bool = False
    """True, of ours: workers and batches are those of `translate`, whatever the job says."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job, tokenization included."""

    seconds: float
    milliseconds: tuple[float, ...]
    """Milliseconds of each sentence, if they were translated one by one."""
    texts: tuple[str, ...]
    pieces: int
    """Pieces of all translations, without end symbols."""
    cut: int
    """Number of translations that the output limit ended."""
    memory_mb: float
    """Peak memory of the process so far."""

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
    """Translate the sentences one by one and time each."""
    translations, milliseconds = [], []
    for sentence in sentences:
        start = time.perf_counter()
        translations.append(translate(sentence))
        milliseconds.append(1000 * (time.perf_counter() - start))
    return _outcome(sum(milliseconds) / 1000, milliseconds, translations)


def all_at_once(
    sentences: Sequence[str], translate: Callable[[Sequence[str]], list[Translated]]
) -> Outcome:
    """Translate all sentences in one call."""
    start = time.perf_counter()
    translations = translate(sentences)
    return _outcome(time.perf_counter() - start, [], translations)


def _outcome(
    seconds: float, milliseconds: Sequence[float], translations: Sequence[Translated]
) -> Outcome:
    return Outcome(
        seconds=seconds,
        milliseconds=tuple(milliseconds),
        texts=tuple(translated.text for translated in translations),
        pieces=sum(translated.pieces for translated in translations),
        cut=sum(translated.cut for translated in translations),
        memory_mb=peak_memory_mb(),
    )


def peak_memory_mb() -> float:
    """Return the peak memory of this process, in MiB."""
    return peak_of_process() / 2**20


def pytorch_alone() -> Callable[[], float]:
    """Prepare to measure the memory of a process that has PyTorch and does nothing."""
    import torch

    torch.ones(1)
    return peak_memory_mb
