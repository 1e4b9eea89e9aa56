"""The competing configurations of each side: precision, layout of threads, batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.bench.jobs import Job
from headway.errors import ConfigError, suggest

OURS = "headway"


@dataclass(frozen=True, slots=True)
class Entrant:
    """One process; ours can divide its searches differently each time, a peer cannot."""

    side: str
    precision: str
    replicas: int = 1
    threads: int = 1

    def __str__(self) -> str:
        """Return side and precision."""
        return f"{self.side} {self.precision}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A process, and its way through the text."""

    entrant: Entrant
    job: Job

    @property
    def ours(self) -> bool:
        """Return True for a configuration of Headway."""
        return self.entrant.side == OURS

    @property
    def kind(self) -> tuple[str, str]:
        """Return side and precision."""
        return self.entrant.side, self.entrant.precision

    @property
    def workers(self) -> int:
        """Return the number of searches at the same time."""
        return self.job.workers if self.ours else self.entrant.replicas

    @property
    def threads(self) -> int:
        """Return the number of threads of each search."""
        return self.job.threads if self.ours else self.entrant.threads

    @property
    def layout(self) -> str:
        """Return workers, threads and batch, or that `translate` chooses them."""
        if self.job.as_installed:
            return "as installed"
        return f"{self.workers} x {self.threads} batch {self.job.batch}"

    def __str__(self) -> str:
        """Return the whole configuration on one line."""
        return f"{self.entrant} {self.layout}"

    def as_dict(self) -> dict[str, Any]:
        """Return the values that differ within a side; None where `translate` chooses."""
        chosen = not self.job.as_installed
        return {
            "precision": self.entrant.precision,
            "workers": self.workers if chosen else None,
            "threads": self.threads if chosen else None,
            "batch": self.job.batch if chosen else None,
        }


def peer_layouts(cores: int) -> list[tuple[int, int]]:
    """Return pairs of replicas and threads: 1, 2, 4, … replicas up to cores, and all as threads.

    >>> peer_layouts(6)
    [(1, 1), (2, 1), (4, 1), (6, 1), (1, 6)]
    """
    counts = [1]
    while 2 * counts[-1] < cores:
        counts.append(2 * counts[-1])
    counts += [cores] if cores > 1 else []
    return [(count, 1) for count in counts] + ([(1, cores)] if cores > 1 else [])


def configurations(
    entrants: Iterable[Entrant],
    beam_size: int,
    batches: Sequence[int],
    cores: int,
    installed: str = "",
) -> list[Configuration]:
    """Return the configurations of one cell; batches: [1], or all sizes to try for a file.

    For a file ours has a worker of one thread on each core; for one sentence, one or all threads.
    In the precision `installed`, ours also competes as `translate` works unless a user asks for
    something else. More than one replica of a peer is of no use for one sentence.
    """
    single = list(batches) == [1]
    competing = []
    as_installed = Job(beam_size, batches[0], threads=cores, as_installed=True)
    for entrant in entrants:
        for batch in batches:
            if entrant.side != OURS:
                if not single or entrant.replicas == 1:
                    competing.append(Configuration(entrant, Job(beam_size, batch)))
            elif single:
                for threads in sorted({1, cores}):
                    competing.append(Configuration(entrant, Job(beam_size, batch, threads=threads)))
            else:
                competing.append(Configuration(entrant, Job(beam_size, batch, workers=cores)))
        if entrant == Entrant(OURS, installed):
            competing.append(Configuration(entrant, as_installed))
    return competing


def beam_size_of(search: str) -> int:
    """Return the beam of `greedy`, which is 1, or of `beam4`.

    >>> beam_size_of("greedy"), beam_size_of("beam4")
    (1, 4)
    """
    if search == "greedy":
        return 1
    size = search.removeprefix("beam")
    if search.startswith("beam") and size.isdecimal() and int(size) > 1:
        return int(size)
    raise ConfigError(f"There is no search '{search}'.", suggest(search, ["greedy", "beam4"]))
