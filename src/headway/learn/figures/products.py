"""A product of matrices as boxes, with the size of each side."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from headway.errors import ConfigError
from headway.learn.figures.picture import DARK_INK, Picture, bare_axes, color_of, draw
from headway.learn.language import Words, in_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Size = int | tuple[int, Words]


@dataclass(frozen=True)
class Matrix:
    """A box of a product: its name, its sizes and its color.

    A size is a number, or a number with words, such as (3, "tokens").
    """

    name: Words
    rows: Size
    columns: Size
    color: str = "blue"
    cut: int = 1
    """The number of equal parts into which lines cut the columns, such as heads."""

    def __post_init__(self) -> None:
        color_of(self.color)
        if min(_count(self.rows), _count(self.columns), self.cut) < 1:
            raise ConfigError(
                f"The sizes of a matrix are {self.rows} and {self.columns}, in {self.cut} parts.",
                "Give positive numbers.",
            )

    @property
    def width(self) -> float:
        """The drawn width in inches; large sizes are shortened."""
        return _inches(_count(self.columns))

    @property
    def height(self) -> float:
        """The drawn height in inches; large sizes are shortened."""
        return _inches(_count(self.rows))


def matrix_product(terms: Sequence[Matrix | Words], *, alt: Words, title: Words = "") -> Picture:
    """Draw matrices with the signs between them, such as [X, "·", W, "=", Q].

    Each box has its number of rows at its left side and its number of columns above.
    """
    widths = [_term_width(term) for term in terms]
    height = max((term.height for term in terms if isinstance(term, Matrix)), default=0.5)
    width, full = sum(widths), height + 0.6 + (0.3 if title else 0)

    def paint(figure: "Figure") -> None:
        axes = bare_axes(figure, width, full)
        middle, left = height / 2 + 0.1, 0.0
        for term, wide in zip(terms, widths, strict=True):
            if isinstance(term, Matrix):
                _paint_matrix(axes, term, left + _side(term.rows), middle)
            else:
                axes.text(
                    left + wide / 2,
                    middle,
                    in_language(term),
                    ha="center",
                    va="center",
                    fontsize=13,
                )
            left += wide
        if title:
            axes.text(width / 2, full - 0.1, in_language(title), ha="center", va="top", fontsize=11)

    return draw(width, full, alt, paint)


def _paint_matrix(axes: "Axes", matrix: Matrix, left: float, middle: float) -> None:
    from matplotlib.patches import Rectangle

    fill, edge = color_of(matrix.color)
    bottom, wide = middle - matrix.height / 2, matrix.width
    axes.add_patch(
        Rectangle(
            (left, bottom), wide, matrix.height, facecolor=fill, edgecolor=edge, linewidth=1.6
        )
    )
    for part in range(1, matrix.cut):
        x = left + wide * part / matrix.cut
        axes.plot(
            [x, x],
            [bottom, bottom + matrix.height],
            color=edge,
            linewidth=0.9,
            linestyle=(0, (3, 2)),
        )
    axes.text(
        left + wide / 2,
        middle,
        in_language(matrix.name),
        ha="center",
        va="center",
        fontsize=12,
        color=DARK_INK,
    )
    axes.text(left - 0.06, middle, _words(matrix.rows), ha="right", va="center", fontsize=9)
    axes.text(
        left + wide / 2,
        bottom + matrix.height + 0.05,
        _words(matrix.columns),
        ha="center",
        va="bottom",
        fontsize=9,
    )


def _term_width(term: Matrix | Words) -> float:
    if isinstance(term, Matrix):
        return max(_side(term.rows) + term.width, 0.075 * len(_words(term.columns))) + 0.1
    return 0.25 + 0.13 * len(in_language(term).replace("$", ""))


def _side(size: Size) -> float:
    """Return the inches that the words at the left side take."""
    return 0.12 + max(0.085 * len(line) for line in _words(size).split("\n"))


def _count(size: Size) -> int:
    return size if isinstance(size, int) else size[0]


def _words(size: Size) -> str:
    return f"{size:,}" if isinstance(size, int) else f"{size[0]:,} {in_language(size[1])}"


def _inches(size: int) -> float:
    return 0.34 + 0.17 * log2(size)
