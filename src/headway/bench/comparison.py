"""A whole comparison of translators, for programs and for people."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headway.bench.cells import Cell, Refill, Row, ratio
from headway.bench.first_sentence import FirstSentence


@dataclass(frozen=True, slots=True)
class TranslationComparison:
    """The results of a comparison."""

    model: str
    """A path, or the name of a size whose weights are random."""
    length: int | None
    """Tokens of every translation of random weights; None if the model ends a translation."""
    sentences: int
    length_penalty: float
    """Exponent of the length in the rank of a beam."""
    references: bool
    """Whether BLEU and chrF are against references, or else against our float32."""
    rounds: int
    machine: dict[str, Any]
    pytorch_memory_mb: float
    """Peak memory of a process that has PyTorch and does nothing."""
    cells: list[Cell]
    first: FirstSentence | None
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the output of `headway bench translate --json`."""
        return {
            "model": self.model,
            "length": self.length,
            "sentences": self.sentences,
            "length_penalty": self.length_penalty,
            "rounds": self.rounds,
            "machine": self.machine,
            "tokens": "target tokens without end symbols",
            "scores_against": "reference" if self.references else "ours in float32",
            "pytorch_memory_mb": round(self.pytorch_memory_mb, 1),
            "cells": [cell.as_dict() for cell in self.cells],
            "first_sentence": self.first and self.first.as_dict(),
            "notes": self.all_notes(),
        }

    def all_notes(self) -> list[str]:
        """Return notes on configurations that were left out or do not count."""
        return self.notes + [note for cell in self.cells for note in cell.notes(self.references)]

    def lines(self) -> Iterator[str]:
        """Yield a table for people."""
        machine = self.machine
        yield f"{self.sentences:,} sentences, {machine['processor']}, {machine['cores']} cores"
        against = "the references" if self.references else "ours in float32"
        yield f"BLEU and chrF against {against}; tokens without end symbols; medians"
        if self.length_penalty:
            yield f"beams ranked by log P / |Y|^{self.length_penalty:g}"
        yield ""
        yield from _summary(self.cells)
        if self.first is not None:
            yield ""
            yield from self.first.lines()
        for cell in self.cells:
            yield ""
            yield from _cell_lines(cell)


def _summary(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a table of all cells: ours as installed, our best and the peer's best."""
    names = {row.configuration.entrant.side for cell in cells if (row := cell.peer) is not None}
    yield _columns("tokens/s, and times the peer's best", ["as installed", "best", *names])
    for cell in cells:
        rows = [cell.as_installed, cell.ours, *([cell.peer] if names else [])]
        yield _columns(cell.title, [_rate_text(row, cell.peer) for row in rows])
        if cell.single:
            yield _columns("  p50 / p99 in ms", [_milliseconds_text(row) for row in rows])


def _columns(title: str, texts: Iterable[str]) -> str:
    return f"{title:<49}" + "".join(f"{text:>19}" for text in texts)


def _rate_text(row: Row | None, peer: Row | None) -> str:
    if row is None:
        return "-"
    times = ratio(row, peer) if row.configuration.ours else None
    return f"{row.figures.rate:,.0f}" + ("" if times is None else f" {times:6.2f}")


def _milliseconds_text(row: Row | None) -> str:
    return "-" if row is None else f"{row.figures.p50:.2f} / {row.figures.p99:.2f}"


def _cell_lines(cell: Cell) -> Iterator[str]:
    """Yield every configuration, the fastest first."""
    yield cell.title
    best = [row for row in (cell.ours, cell.peer) if row is not None]
    for row in sorted(cell.rows, key=lambda row: -row.figures.rate):
        mark = "*" if any(row is winner for winner in best) else " " if row.accepted else "!"
        yield f"{mark} {_row_line(row)}"
    if cell.ratio is not None:
        yield f"  {cell.ratio:.2f} times the peer's best (* best of its side, ! does not count)"
    if cell.refill is not None:
        yield from _refill_lines(cell.refill)


def _row_line(row: Row) -> str:
    entry, figures, quality = row.configuration, row.figures, row.quality
    speed = f"{figures.rate:>9,.0f} tokens/s"
    if figures.p50 is not None:
        speed += f"  p50 {figures.p50:7.2f} ms  p99 {figures.p99:7.2f} ms"
    memory = "" if row.memory_mb is None else f"  {row.memory_mb:,.0f} MiB"
    return (
        f"{entry.entrant.side:<12}{entry.entrant.precision:<9}"
        f"{entry.layout:<16}{speed}"
        f"  BLEU {quality.bleu:6.2f}  chrF {quality.chrf:6.2f}"
        f"  {quality.changed:6.1%} changed{memory}"
    )


def _refill_lines(refill: Refill) -> Iterator[str]:
    rates = refill.as_dict()
    for name, values in (("longest first", rates), ("as they come", rates["as_they_come"])):
        yield (
            f"  sentences {name}: {values['with']:,.0f} tokens/s with refill, "
            f"{values['without']:,.0f} without, {values['ratio']:.2f} times"
        )
