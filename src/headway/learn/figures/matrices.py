"""A matrix as a heat map, with tokens along its sides and numbers in its cells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import ConfigError
from headway.learn.figures.picture import (
    DARK_INK,
    LIGHT_INK,
    LINES,
    Picture,
    draw,
    literal,
)
from headway.learn.judging import readable, without_device
from headway.learn.language import Words, in_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARE = ((238, 243, 250), (66, 146, 198), (8, 48, 107))
_SIGNED = ((33, 102, 172), (238, 243, 250), (196, 86, 0))
_MOST_CELLS = 600  # of more cells the colors are an image
_LETTER = 0.085  # inches
_LONGEST = 7  # letters of a column's label that is not turned


def heat_map(
    values: object,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    alt: Words,
    title: Words = "",
    row_axis: Words = "",
    column_axis: Words = "",
    panels: Sequence[Words] = (),
    digits: int | None = 2,
    limit: float | None = None,
    hidden: object = None,
    marked: Sequence[tuple[int, int]] = (),
    cell: float | None = None,
) -> Picture:
    """Draw a matrix: rows are queries, columns are keys, if it is a matrix of attention.

    values: (rows, columns) or (panels, rows, columns), numbers or booleans; an array, a tensor or
    lists. −∞ is hatched. rows, columns: labels, such as tokens. panels: titles of several matrices
    side by side. digits: of the numbers in the cells; None leaves them out. limit: the value of
    the strongest color; by default the largest one, or 1 for shares. hidden: True where a cell is
    hatched. marked: cells with a frame. cell: the width of a cell in inches.

    Raises ConfigError if labels do not fit the matrix.
    """
    numbers, covered, digits = _numbers(values, hidden, digits)
    _check(numbers, rows, columns, panels)
    style = _Style(numbers, covered, digits, limit, marked)
    count, down, across = numbers.shape
    wide, high = _cell_size(numbers, columns, digits, cell)
    gap = 0.35
    labels = max((len(label) for label in rows), default=0) * _LETTER + 0.2
    width = labels + count * (across * wide) + (count - 1) * gap
    turned = any(len(label) * _LETTER > wide * 1.05 for label in columns)
    above = 0.3 + (max((len(label) for label in columns), default=0) * 0.07 if turned else 0.1)
    height = above + down * high + 0.3

    def paint(figure: "Figure") -> None:
        for panel in range(count):
            left = (labels + panel * (across * wide + gap)) / width
            place = (left, 0.15 / height, across * wide / width, down * high / height)
            axes = figure.add_axes(place)
            style.paint(axes, panel)
            _label(axes, rows if panel == 0 else (), columns, turned)
            if panels:
                axes.set_title(in_language(panels[panel]), fontsize=10)
            if panel == 0:
                axes.set_ylabel(in_language(row_axis))
            axes.xaxis.set_label_position("bottom")
            axes.set_xlabel(in_language(column_axis))
        if title:
            figure.suptitle(in_language(title), fontsize=11, y=1.02)

    return draw(width, height, alt, paint)


def _numbers(
    values: object, hidden: object, digits: int | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int | None]:
    """Return numbers and hatched cells, both (panels, rows, columns), and the digits."""
    array = np.asarray(without_device(values))
    covered = np.zeros(array.shape, dtype=bool)
    if array.dtype == bool:  # a mask: True is open
        covered, array, digits = ~array, array.astype(float), 0 if digits is not None else None
    numbers = readable(array)
    if numbers is None or numbers.dtype.kind != "f" or numbers.ndim not in (2, 3):
        raise ConfigError(
            f"A heat map needs a matrix, not a value of type {type(values).__name__}"
            f"{f' and shape {array.shape}' if array.shape else ''}.",
            "Give numbers with two axes, rows and columns, or three for several matrices.",
        )
    covered = covered | (numbers == -np.inf)
    if hidden is not None:
        covered = covered | np.asarray(hidden, dtype=bool)
    if numbers.ndim == 2:
        numbers, covered = numbers[None], covered[None]
    return numbers, np.broadcast_to(covered, numbers.shape), digits


def _check(
    numbers: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    panels: Sequence[Words],
) -> None:
    for name, labels, count in zip(
        ("panels", "rows", "columns"), (panels, rows, columns), numbers.shape, strict=True
    ):
        if labels and len(labels) != count:
            raise ConfigError(
                f"There are {len(labels)} labels for {count} {name}.",
                "Give one label for each, or none.",
            )


def _cell_size(
    numbers: NDArray[np.float64], columns: Sequence[str], digits: int | None, cell: float | None
) -> tuple[float, float]:
    """Return the width and height of a cell in inches."""
    if cell is not None:
        return cell, cell if digits is None else max(0.3, min(cell, 0.36))
    if digits is None:
        size = float(np.clip(5.5 / max(numbers.shape[1:]), 0.05, 0.36))
        return size, size
    finite = numbers[np.isfinite(numbers)]
    longest = max((len(f"{number:.{digits}f}") for number in finite), default=1)
    label = min(max((len(label) for label in columns), default=0), _LONGEST)
    return max(0.36, 0.12 + _LETTER * max(longest, label)), 0.34


def _label(axes: "Axes", rows: Sequence[str], columns: Sequence[str], turned: bool) -> None:
    axes.tick_params(length=0, labelsize=9.5, pad=4)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [literal(label) for label in rows])
    labels = [literal(label) for label in columns]
    if turned:
        axes.set_xticks(range(len(columns)), labels, rotation=50, ha="left", va="bottom")
        axes.tick_params(axis="x", pad=1)
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
    else:
        axes.set_xticks(range(len(columns)), labels)
    for spine in axes.spines.values():
        spine.set_visible(False)


class _Style:
    """The colors, numbers, hatches and frames of the cells."""

    def __init__(
        self,
        numbers: NDArray[np.float64],
        covered: NDArray[np.bool_],
        digits: int | None,
        limit: float | None,
        marked: Sequence[tuple[int, int]],
    ) -> None:
        self.numbers, self.covered, self.digits, self.marked = numbers, covered, digits, marked
        finite = numbers[np.isfinite(numbers)]
        most = float(np.abs(finite).max(initial=0.0)) or 1.0
        self.signed = bool((finite < 0).any())
        shares = not self.signed and most <= 1
        self.limit = limit or (1.0 if shares and digits is not None else most)

    def paint(self, axes: "Axes", panel: int) -> None:
        from matplotlib.patches import Rectangle

        numbers, covered = self.numbers[panel], self.covered[panel]
        colors = self._colors(numbers, covered)
        down, across = numbers.shape
        axes.set_xlim(-0.5, across - 0.5)
        axes.set_ylim(down - 0.5, -0.5)
        if numbers.size > _MOST_CELLS:
            axes.imshow(colors, aspect="auto", interpolation="none")
        else:
            for row, column in np.ndindex(down, across):
                hatch = "////" if covered[row, column] else None
                corner = (column - 0.47, row - 0.47)
                color = colors[row, column] / 255
                axes.add_patch(Rectangle(corner, 0.94, 0.94, facecolor=color, hatch=hatch, lw=0))
        if self.digits is not None:
            self._write(axes, numbers, covered, colors)
        for row, column in self.marked:
            frame = Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, fill=False)
            frame.set(edgecolor=LINES[1], linewidth=2.2)
            axes.add_patch(frame)

    def _colors(self, numbers: NDArray[np.float64], covered: NDArray[np.bool_]) -> NDArray[Any]:
        """Return red, green and blue, 0 to 255, of each cell."""
        strength = np.clip(np.where(np.isfinite(numbers), numbers, 0) / self.limit, -1, 1)
        places, stops = ((-1, 0, 1), _SIGNED) if self.signed else ((0, 0.5, 1), _SHARE)
        bands = [np.interp(strength, places, band) for band in zip(*stops, strict=True)]
        colors = np.stack(bands, axis=-1)
        colors[covered] = (226, 231, 240)
        return np.rint(colors).astype(np.uint8)

    def _write(
        self,
        axes: "Axes",
        numbers: NDArray[np.float64],
        covered: NDArray[np.bool_],
        colors: NDArray[Any],
    ) -> None:
        for row, column in np.ndindex(*numbers.shape):
            number = numbers[row, column]
            text = "−∞" if number == -np.inf else f"{number:.{self.digits}f}".replace("-", "−")
            ink = DARK_INK if covered[row, column] else _ink_on(colors[row, column])
            axes.text(column, row, text, ha="center", va="center", fontsize=9, color=ink)


def _ink_on(color: NDArray[Any]) -> str:
    """Return the ink that has more contrast with a background, as WCAG measures it."""
    share = color / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return DARK_INK if linear @ (0.2126, 0.7152, 0.0722) > 0.18 else LIGHT_INK
