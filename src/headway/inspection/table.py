"""A trace in a terminal: its names with axes, and statistics of its numbers."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from headway.inspection.named_tensor import TracedTensor, axes_text
from headway.inspection.sentence import TracedSentence
from headway.inspection.statistics import statistics_of
from headway.inspection.steps import TargetRow

Tensors = Mapping[str, TracedTensor]


def summary(
    tensors: Tensors, sentence: TracedSentence | None, edits: Mapping[str, str], nbytes: int
) -> str:
    """Return the sentence and the names of a trace; layers of one shape share a line."""
    lines = [f"Trace of {len(tensors)} tensors, {_bytes(nbytes)}"]
    if sentence is not None:
        lines.append(f"source  {' '.join(sentence.source_pieces)}")
        lines.append(f"target  {' '.join(sentence.writes)}")
    lines += [f"edited  {name}: {edit}" for name, edit in edits.items()]
    rows = [
        (name, axes_text(tensor.axes, tensor.shape)) for name, tensor in _folded(tensors).items()
    ]
    return "\n".join([*lines, *_columns(rows)])


def table(tensors: Tensors) -> str:
    """Return name, axes, smallest, largest and mean number of each tensor, one a line."""
    rows = [("name", "axes", "min", "max", "mean")]
    for name, tensor in tensors.items():
        rows.append((name, axes_text(tensor.axes, tensor.shape), *_statistics(tensor)))
    return "\n".join(line.removeprefix("  ") for line in _columns(rows))


def rows_table(rows: Sequence[TargetRow]) -> str:
    """Return the pieces that each row reads and writes, with the probability of the likely ones."""
    cells = [("reads", "writes", "p", "most probable")]
    for row in rows:
        likely = [f"{piece} {value:.4f}" for piece, value in row.best]
        likely.append(f"all others {row.others:.4f}")
        cells.append((row.reads, row.writes, f"{row.probability:.4f}", ", ".join(likely)))
    return "\n".join(line.removeprefix("  ") for line in _columns(cells))


def _folded(tensors: Tensors) -> dict[str, TracedTensor]:
    """Return one tensor for all names of one shape that differ only in the layer."""
    groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name, tensor in tensors.items():
        pattern = re.sub(r"(\blayers)\.\d+\.", r"\1.*.", name)
        groups.setdefault((pattern, tuple(tensor.shape)), []).append(name)
    folded = {}
    for (pattern, _), names in groups.items():
        layers = [re.search(r"\blayers\.(\d+)\.", name) for name in names]
        numbers = [match[1] for match in layers if match]
        text = f"{numbers[0]}…{numbers[-1]}" if len(numbers) > 1 else "".join(numbers)
        folded[pattern.replace("*", text)] = tensors[names[0]]
    return folded


def _statistics(tensor: TracedTensor) -> tuple[str, str, str]:
    """Return smallest, largest and mean of the finite numbers, and how many are not finite."""
    statistics = statistics_of(tensor)
    infinite = sum(statistics.not_finite.values())
    if statistics.mean is None:
        return ("-", "-", f"none finite of {infinite}")
    note = f" ({infinite} not finite)" if infinite else ""
    return f"{statistics.min:.4g}", f"{statistics.max:.4g}", f"{statistics.mean:.4g}{note}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _width(text: str) -> int:
    """Return the number of terminal columns of a text; a syllable of Hangul takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
