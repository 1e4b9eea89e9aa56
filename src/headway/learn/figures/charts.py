"""Curves and bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import ConfigError
from headway.learn.figures.picture import LINES, PAGE_INK, Picture, draw
from headway.learn.judging import readable
from headway.learn.language import Words, in_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Series = Sequence[tuple[Words, object]]
"""Numbers with their names."""

_SHAPES = ("-", "--", "-.", ":")
_HATCHES = (None, "///", "...", "xx")


def curves(
    x: object,
    lines: Series,
    *,
    alt: Words,
    title: Words = "",
    x_axis: Words = "",
    y_axis: Words = "",
    log: str = "",
    points: bool = False,
) -> Picture:
    """Draw one line for each (name, numbers); lines differ in color and in stroke.

    log: "x", "y" or "xy" for axes with a logarithmic scale. points: draw a dot for each number.
    """
    places = _row(x)
    rows = [_row(numbers) for _, numbers in lines]
    for row in rows:
        if row.shape != places.shape:
            raise ConfigError(
                f"A line has {row.size} numbers, but there are {places.size} places.",
                "Give one number for each place.",
            )

    def paint(figure: "Figure") -> None:
        axes = figure.add_axes((0.1, 0.15, 0.87, 0.8))
        for number, ((words, _), row) in enumerate(zip(lines, rows, strict=True)):
            axes.plot(
                places,
                row,
                color=LINES[number % len(LINES)],
                linestyle=_SHAPES[number % len(_SHAPES)],
                marker="o" if points else None,
                markersize=4,
                linewidth=2,
                label=in_language(words),
            )
        if "x" in log:
            axes.set_xscale("log")
        if "y" in log:
            axes.set_yscale("log")
        _finish(axes, title, x_axis, y_axis, legend=len(lines) > 1)

    return draw(6.0, 3.1, alt, paint)


def bars(
    names: Sequence[Words],
    values: object,
    *,
    alt: Words,
    title: Words = "",
    y_axis: Words = "",
    digits: int = 2,
    log: bool = False,
) -> Picture:
    """Draw a bar for each name with its number; values may be several (name, numbers).

    digits: of the numbers above the bars. log: a logarithmic scale.
    """
    groups: Series = values if _are_series(values) else [("", values)]  # pyright: ignore
    rows = [_row(numbers) for _, numbers in groups]
    for row in rows:
        if row.size != len(names):
            raise ConfigError(
                f"There are {row.size} numbers for {len(names)} bars.",
                "Give one number for each name.",
            )
    labels = [in_language(name) for name in names]
    slot = max(0.75, 0.09 * max(map(len, labels), default=0) + 0.15, 0.5 * len(rows))

    def paint(figure: "Figure") -> None:
        axes = figure.add_axes((0.1, 0.15, 0.87, 0.8))
        wide = 0.8 / len(rows)
        for number, ((words, _), row) in enumerate(zip(groups, rows, strict=True)):
            places = np.arange(len(names)) + (number - (len(rows) - 1) / 2) * wide
            drawn = axes.bar(
                places,
                row,
                width=0.9 * wide,
                color=LINES[number % len(LINES)],
                edgecolor="#ffffff",
                linewidth=0,
                hatch=_HATCHES[number % len(_HATCHES)],
                label=in_language(words),
            )
            axes.bar_label(drawn, [f"{value:,.{digits}f}" for value in row], fontsize=9, padding=2)
        if log:
            axes.set_yscale("log")
        axes.set_xticks(range(len(names)), labels)
        axes.tick_params(axis="x", length=0)
        axes.margins(y=0.12)
        _finish(axes, title, "", y_axis, legend=len(rows) > 1)

    return draw(max(3.0, 0.8 + slot * len(names)), 2.7, alt, paint)


def _finish(axes: "Axes", title: Words, x_axis: Words, y_axis: Words, *, legend: bool) -> None:
    axes.set_xlabel(in_language(x_axis))
    axes.set_ylabel(in_language(y_axis))
    if title:
        axes.set_title(in_language(title), fontsize=11)
    axes.grid(axis="y", color=PAGE_INK, alpha=0.15, linewidth=0.8)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(frameon=False, fontsize=9.5)


def _row(numbers: object) -> Any:
    row = readable(numbers)
    if row is None or row.dtype.kind != "f" or row.ndim != 1:
        raise ConfigError(
            f"A chart needs numbers in a row, not a value of type {type(numbers).__name__}.",
            "Give a list, or an array or tensor with one axis.",
        )
    return row


def _are_series(values: object) -> bool:
    return isinstance(values, list | tuple) and all(
        isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str | dict)
        for entry in values
    )
