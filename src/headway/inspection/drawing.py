"""The base of all figures: matplotlib if it is installed, fonts, kinds of file, a matrix."""

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headway.errors import ConfigError, TraceError
from headway.home import expanded
from headway.plotting import import_matplotlib
from headway.runtime.atomic_files import check_file_place, write_atomically, writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".pdf", ".png", ".svg")


@contextmanager
def drawing(path: str | Path, width: float, height: float) -> Iterator["Figure"]:
    """Give an empty figure, in inches, and write it at the end of the `with` block.

    path: PNG, SVG or PDF by its ending. SVG has text as outlines, which look the same without the
    font. Raises MissingExtraError without matplotlib, or without a font for the Hangul in it;
    ConfigError for another ending; TraceError if the file cannot be written, before the drawing if
    possible. After an error nothing is written.
    """
    path = expanded(path)
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(
            f"A figure cannot be written as '{path.name}'.",
            f"Choose a name with one of these endings: {', '.join(ENDINGS)}.",
        )
    check_file_place(path, TraceError)
    import_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from headway.inspection.fonts import check_hangul, font_families

    # Outlines and embedded fonts: a figure looks the same without the font.
    settings: dict[Any, Any] = {
        "font.family": font_families(),
        "svg.fonttype": "path",
        "pdf.fonttype": 42,
        "text.parse_math": False,  # a dollar sign in a sentence is just that
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        texts = figure.findobj(Text)
        check_hangul(text.get_text() for text in texts if isinstance(text, Text))
        image = io.BytesIO()
        figure.savefig(image, format=path.suffix.lower().removeprefix("."), dpi=144)
    with writing(f"The picture {path}", TraceError, "Free some space or choose another place."):
        write_atomically(path, image.getvalue())


def show_matrix(
    axes: "Axes",
    values: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    low: float,
    high: float,
    colors: str,
) -> Any:
    """Draw a matrix with names of rows and columns; return the image that a color bar needs."""
    image = axes.imshow(
        values.detach().float().cpu().numpy(), vmin=low, vmax=high, cmap=colors, aspect="equal"
    )
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=9, length=2)
    return image


def label_cells(axes: "Axes", values: Tensor, largest: float) -> None:
    """Write each number into its cell, with its sign, so that `largest` has two digits or more.

    Numbers in dark cells are white; a number that rounds to nothing is a plain 0.
    """
    digits = max(2, 1 - math.floor(math.log10(largest)))
    for row, numbers in enumerate(values.tolist()):
        for column, number in enumerate(numbers):
            text = "0" if round(number, digits) == 0 else f"{number:+.{digits}f}"
            color = "white" if abs(number) > 0.6 * largest else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=color)


def check_axes(values: Tensor, rows: Sequence[str], columns: Sequence[str], name: str) -> None:
    """Raise ConfigError unless the names fit the last two axes of a tensor."""
    if values.dim() < 2 or values.shape[-2:] != (len(rows), len(columns)):
        raise ConfigError(
            f"The {name} have shape {tuple(values.shape)}, but there are {len(rows)} rows and "
            f"{len(columns)} columns.",
            "Give one name for each row and each column, rows first.",
        )
