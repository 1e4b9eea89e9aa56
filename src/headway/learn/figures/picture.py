"""A figure as SVG inside HTML, in the ink of the page around it.

The background is transparent and everything outside of boxes and cells has the color of the page's
text, so that a figure is readable on light and dark pages. Boxes and cells bring their own
background and their own ink.
"""

import hashlib
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import ConfigError
from headway.home import expanded
from headway.learn.language import Words, in_language
from headway.plotting import import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_INK = "#161b27"
"""Drawn as the color of the page's text."""
DARK_INK, LIGHT_INK = "#010101", "#ffffff"
"""Inks on a background of the figure's own."""

LINES = ("#2b7cd3", "#d9661f", "#2a9460", "#8a63d2")
"""Colors of lines and bars, with enough contrast to white and to black."""
FILLS = {
    "blue": ("#e3eefa", "#2b7cd3"),
    "orange": ("#fdeede", "#d9661f"),
    "green": ("#e2f3ea", "#2a9460"),
    "purple": ("#efe9fb", "#8a63d2"),
    "grey": ("#eef2f8", "#8390a8"),
}
"""Backgrounds of boxes with the colors of their edges."""

_SMALLEST = 0.55  # of its size; a smaller figure could not be read, so it is scrolled
_PHONE = 19.0  # the width of a page's text on a phone, in em


@dataclass(frozen=True)
class Picture:
    """A figure that a notebook shows; `alt` describes it in words."""

    svg: str = field(repr=False)
    alt: str

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file."""
        expanded(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        least = re.search(r"min-width: ([\d.]+)em", self.svg)
        # A figure that a phone must scroll has to be reachable by the keyboard.
        scrolls = least is not None and float(least.group(1)) > _PHONE
        focus = ' tabindex="0"' if scrolls else ""
        return f'<div class="headway-figure" style="overflow-x: auto"{focus}>{self.svg}</div>'


def color_of(name: str) -> tuple[str, str]:
    """Return the background and the edge of a box; ConfigError for an unknown color."""
    if name not in FILLS:
        raise ConfigError(f"There is no color {name!r}.", f"Known: {', '.join(FILLS)}.")
    return FILLS[name]


def draw(width: float, height: float, alt: Words, paint: Callable[["Figure"], None]) -> Picture:
    """Return a picture of this size in inches; `paint` draws on an empty figure.

    Raises ConfigError if the description is empty, MissingExtraError without matplotlib or without
    a font for the Hangul in the figure.
    """
    description = in_language(alt)
    if not description.strip():
        raise ConfigError("A figure has no description.", "Say in `alt` what it shows.")
    import_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from headway.inspection.fonts import check_hangul, font_families

    with mpl.rc_context(_settings(font_families())):
        figure = Figure(figsize=(width, height))
        paint(figure)
        texts = figure.findobj(Text)
        check_hangul(text.get_text() for text in texts if isinstance(text, Text))
        image = io.StringIO()
        figure.savefig(
            image,
            format="svg",
            transparent=True,
            bbox_inches="tight",
            pad_inches=0.05,
            metadata={"Date": None, "Creator": None},
        )
    return Picture(_as_element(image.getvalue(), description), description)


def _settings(families: list[str]) -> dict[Any, Any]:
    return {
        "font.family": families,
        "font.size": 10,
        "svg.fonttype": "path",  # looks the same without the font
        "svg.hashsalt": "headway",  # the same figure is the same text
        "text.color": PAGE_INK,
        "axes.edgecolor": PAGE_INK,
        "axes.labelcolor": PAGE_INK,
        "xtick.color": PAGE_INK,
        "ytick.color": PAGE_INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "hatch.color": "#a9b4c8",
        "hatch.linewidth": 0.8,
    }


def _as_element(document: str, description: str) -> str:
    """Return the `svg` element of a document, for use in HTML with other figures."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace(PAGE_INK, "currentColor")
    # The names of all elements belong to one page, so a figure has a prefix of its own.
    prefix = f"f{hashlib.sha256(svg.encode()).hexdigest()[:8]}-"
    svg = re.sub(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)', prefix, svg)
    size = re.search(r'<svg [^>]*?width="([\d.]+)pt"', svg)
    width = float(size.group(1)) / 12 if size else 0.0  # 12 points are a line of the page's text
    least = _SMALLEST * width
    style = f"width: {width:.2f}em; max-width: 100%; min-width: {least:.2f}em; height: auto"
    start = f'<svg role="img" aria-label="{html.escape(description)}" style="{style}" '
    return start + svg.removeprefix("<svg ")


def bare_axes(figure: "Figure", width: float, height: float) -> "Axes":
    """Return axes over the whole figure whose units are inches, without frame and ticks."""
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    return axes


def literal(text: str) -> str:
    """Return a token as it is: a dollar sign begins no formula."""
    return text.replace("$", r"\$")
