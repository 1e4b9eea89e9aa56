"""The results of one cell: figures of every configuration, and the best of each side."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.bench.configurations import Configuration
from headway.bench.jobs import Outcome
from headway.bench.quality import Judge, Quality


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians over the turns of one configuration, and its translations."""

    rate: float
    """Target pieces a second, without end symbols."""
    p50: float | None
    """Milliseconds for a sentence; None for a file."""
    p99: float | None
    texts: tuple[str, ...]
    cut: int
    """Number of translations that the output limit ended."""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Figures":
        """Combine the outcomes of all turns."""
        last = outcomes[-1]
        p50, p99 = (
            statistics.median(float(np.percentile(o.milliseconds, share)) for o in outcomes)
            if last.milliseconds
            else None
            for share in (50, 99)
        )
        rate = statistics.median(outcome.rate for outcome in outcomes)
        return cls(rate, p50, p99, last.texts, last.cut)


@dataclass(slots=True)
class Row:
    """One configuration with all its results."""

    configuration: Configuration
    figures: Figures
    quality: Quality
    accepted: bool
    """False if its translations are worse than those of float32, so its speed does not count."""
    memory_mb: float | None = None
    """Peak memory of a process that does nothing else; for the best of each side."""

    @classmethod
    def of(cls, configuration: Configuration, figures: Figures, judge: Judge) -> "Row":
        """Judge the translations of a configuration."""
        accepted = judge.accepts(figures.texts, gains=not configuration.ours)
        return cls(configuration, figures, judge.quality(figures.texts), accepted)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "side": self.configuration.entrant.side,
            **self.configuration.as_dict(),
            "as_installed": self.configuration.job.as_installed,
            "tokens_per_second": _rounded(self.figures.rate, 1),
            "ms": self.milliseconds(),
            "bleu": _rounded(self.quality.bleu, 3),
            "chrf": _rounded(self.quality.chrf, 3),
            "changed": _rounded(self.quality.changed, 4),
            "cut": self.figures.cut,
            "accepted": self.accepted,
        }

    def milliseconds(self) -> dict[str, float | None] | None:
        """Return the percentiles of one sentence, or None for a file."""
        if self.figures.p50 is None:
            return None
        return {"p50": _rounded(self.figures.p50, 3), "p99": _rounded(self.figures.p99, 3)}


@dataclass(frozen=True, slots=True)
class Refill:
    """A file with continuous refill, and with batches that are decoded to the end."""

    configuration: Configuration
    rates: Mapping[tuple[bool, bool], float]
    """Target pieces a second by (refill, longest first)."""

    def as_dict(self) -> dict[str, Any]:
        """Return rates and ratio, with sentences sorted as by `translate`, and unsorted."""
        return {
            **self._compare(longest_first=True),
            "as_they_come": self._compare(longest_first=False),
            "layout": self.configuration.as_dict(),
        }

    def _compare(self, *, longest_first: bool) -> dict[str, float | None]:
        with_refill, without = (self.rates[refill, longest_first] for refill in (True, False))
        return {
            "with": _rounded(with_refill, 1),
            "without": _rounded(without, 1),
            "ratio": _rounded(with_refill / without, 3),
        }


@dataclass(slots=True)
class Cell:
    """One search, with a file or with one sentence at a time, on a machine that is busy or not."""

    search: str
    single: bool
    busy: bool
    """Whether another process kept one core busy."""
    float32: Quality
    """Quality of our float32 translations, the baseline of all others."""
    rows: list[Row] = field(default_factory=list)
    hopeless: list[Configuration] = field(default_factory=list)
    """Configurations that were far too slow on the first sentences to be measured."""
    refill: Refill | None = None

    @property
    def as_installed(self) -> Row | None:
        """Return our row without any choice by a user, whether its scores are accepted or not."""
        return _fastest(row for row in self.rows if row.configuration.job.as_installed)

    @property
    def ours(self) -> Row | None:
        """Return our fastest accepted row."""
        return _fastest(row for row in self.rows if row.configuration.ours and row.accepted)

    @property
    def peer(self) -> Row | None:
        """Return the peer's fastest accepted row, or None."""
        return _fastest(row for row in self.rows if not row.configuration.ours and row.accepted)

    @property
    def fastest_peer(self) -> Row | None:
        """Return the peer's fastest row, accepted or not."""
        return _fastest(row for row in self.rows if not row.configuration.ours)

    @property
    def ratio(self) -> float | None:
        """Return our best rate divided by the peer's best rate."""
        return ratio(self.ours, self.peer)

    def notes(self, references: bool) -> list[str]:
        """Return notes that a reader needs before comparing."""
        notes = []
        refused = [row for row in self.rows if not row.accepted]
        if refused:
            what = "scores" if references else "texts"
            names = dict.fromkeys(str(row.configuration.entrant) for row in refused)
            remedy = "" if references else " With --reference their quality would decide."
            notes.append(
                f"{self.title}: {', '.join(names)} do not count, because their {what} differ by "
                "more than 0.1 BLEU or chrF from ours in float32 (a peer's only if they are "
                f"worse).{remedy}"
            )
        if self.hopeless:
            notes.append(
                f"{self.title}: not measured, because the first sentences took many times as long "
                f"as in another layout: {', '.join(map(str, self.hopeless))}."
            )
        if cut := max(row.figures.cut for row in self.rows):
            notes.append(f"{self.title}: the output limit ended up to {cut} translations.")
        return notes

    @property
    def title(self) -> str:
        """Return the heading of the cell."""
        return title_of(self.search, single=self.single, busy=self.busy)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `batch` is that of our best row, as it was asked for."""
        ours, peer, fastest, installed = self.ours, self.peer, self.fastest_peer, self.as_installed
        batches = [row.configuration.job.batch for row in (ours, *self.rows) if row is not None]
        sides = {"ours": ours, "peer": peer}
        result: dict[str, Any] = {"search": self.search, "batch": batches[0], "busy": self.busy}
        result |= {side: row and _rounded(row.figures.rate, 1) for side, row in sides.items()}
        result["ratio"] = _rounded(self.ratio, 3)
        for side, row in sides.items():
            result |= {
                f"{side}_layout": row and row.configuration.as_dict(),
                f"{side}_ms": row and row.milliseconds(),
                f"{side}_memory_mb": row and _rounded(row.memory_mb, 1),
            }
        result["as_installed"] = installed and installed.as_dict()
        result["as_installed_ratio"] = _rounded(ratio(installed, peer), 3)
        result["as_installed_share"] = _rounded(ratio(installed, ours), 3)
        result["fastest_peer"] = fastest and fastest.as_dict()
        result["ratio_to_fastest_peer"] = _rounded(ratio(ours, fastest), 3)
        for score, digits in (("bleu", 3), ("chrf", 3), ("changed", 4)):
            values = {"float32": self.float32} | {
                side: row.quality for side, row in sides.items() if row is not None
            }
            result[score] = {
                side: _rounded(getattr(quality, score), digits) for side, quality in values.items()
            }
        result["configurations"] = [row.as_dict() for row in self.rows]
        if self.refill is not None:
            result["refill"] = self.refill.as_dict()
        return result


def title_of(search: str, *, single: bool, busy: bool) -> str:
    """Return search, kind, and whether a core was busy.

    >>> title_of("greedy", single=False, busy=True)
    'greedy, file, beside a busy core'
    """
    kind = "one sentence at a time" if single else "file"
    return f"{search}, {kind}{', beside a busy core' if busy else ''}"


def _fastest(rows: Any) -> Row | None:
    return max(rows, key=lambda row: row.figures.rate, default=None)


def ratio(row: Row | None, other: Row | None) -> float | None:
    """Return the rate of a row divided by that of another; None without both."""
    if row is None or other is None:
        return None
    return row.figures.rate / other.figures.rate


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
