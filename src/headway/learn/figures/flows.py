"""Boxes and arrows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.errors import ConfigError
from headway.learn.figures.picture import DARK_INK, PAGE_INK, Picture, bare_axes, color_of, draw
from headway.learn.language import Words, in_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUTES = ("auto", "straight", "left", "right")
_MARGIN = 0.15
_AROUND = 0.22  # how far an arrow goes around boxes


@dataclass(frozen=True)
class Box:
    """A box at a place in inches, x to the right and y up, which is its middle.

    color: one of the style, or "none" for words without a box. note: small words in a second line,
    for which a box needs a height of 0.5.
    """

    words: Words
    x: float
    y: float
    color: str = "blue"
    width: float = 1.7
    height: float = 0.36
    note: Words = ""


@dataclass(frozen=True)
class Arrow:
    """An arrow from one box to another.

    route: "auto" is vertical or horizontal, with two corners if it must; "straight" may be
    slanted; "left" and "right" branch off above the first box and go around those between, as a
    residual connection does.
    """

    start: str
    end: str
    words: Words = ""
    route: str = "auto"
    dashed: bool = False


@dataclass(frozen=True)
class Frame:
    """A frame around boxes, with words at its side."""

    boxes: Sequence[str]
    words: Words = ""
    side: str = "left"


def flow(
    boxes: Mapping[str, Box],
    arrows: Sequence[Arrow],
    *,
    alt: Words,
    frames: Sequence[Frame] = (),
    title: Words = "",
) -> Picture:
    """Draw boxes by name, and arrows between them. Raises ConfigError for an unknown name."""
    _check(boxes, arrows, frames)
    left = min(box.x - box.width / 2 for box in boxes.values()) - _MARGIN - 0.5
    right = max(box.x + box.width / 2 for box in boxes.values()) + _MARGIN + 0.5
    bottom = min(box.y - box.height / 2 for box in boxes.values()) - _MARGIN
    top = max(box.y + box.height / 2 for box in boxes.values()) + _MARGIN

    def paint(figure: "Figure") -> None:
        axes = bare_axes(figure, right - left, top - bottom)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        for frame in frames:
            _paint_frame(axes, frame, [boxes[name] for name in frame.boxes])
        for arrow in arrows:
            _paint_arrow(axes, arrow, _route(arrow, boxes))
        for box in boxes.values():
            _paint_box(axes, box)
        if title:
            axes.text((left + right) / 2, top, in_language(title), ha="center", fontsize=11)

    return draw(right - left, top - bottom, alt, paint)


def _check(boxes: Mapping[str, Box], arrows: Sequence[Arrow], frames: Sequence[Frame]) -> None:
    if not boxes:
        raise ConfigError("There are no boxes.", "Give at least one.")
    named = [name for arrow in arrows for name in (arrow.start, arrow.end)]
    named += [name for frame in frames for name in frame.boxes]
    for name in named:
        if name not in boxes:
            raise ConfigError(f"There is no box {name!r}.", f"Known: {', '.join(boxes)}.")
    for arrow in arrows:
        if arrow.route not in ROUTES:
            raise ConfigError(f"There is no route {arrow.route!r}.", f"Known: {', '.join(ROUTES)}.")


def _paint_box(axes: "Axes", box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    ink = PAGE_INK
    if box.color != "none":
        fill, edge = color_of(box.color)
        ink = DARK_INK
        corner = (box.x - box.width / 2, box.y - box.height / 2)
        style = "round,pad=0,rounding_size=0.07"
        patch = FancyBboxPatch(corner, box.width, box.height, boxstyle=style)
        patch.set(facecolor=fill, edgecolor=edge, linewidth=1.4)
        axes.add_patch(patch)
    shift = 0.09 if box.note else 0.0
    axes.text(box.x, box.y + shift, in_language(box.words), ha="center", va="center", color=ink)
    if box.note:
        note = in_language(box.note)
        axes.text(box.x, box.y - 0.11, note, ha="center", va="center", color=ink, fontsize=8.5)


def _paint_frame(axes: "Axes", frame: Frame, boxes: Sequence[Box]) -> None:
    from matplotlib.patches import FancyBboxPatch

    left = min(box.x - box.width / 2 for box in boxes) - 0.33
    right = max(box.x + box.width / 2 for box in boxes) + 0.33
    bottom = min(box.y - box.height / 2 for box in boxes) - 0.2
    top = max(box.y + box.height / 2 for box in boxes) + 0.12
    patch = FancyBboxPatch(
        (left, bottom), right - left, top - bottom, boxstyle="round,pad=0,rounding_size=0.12"
    )
    patch.set(fill=False, edgecolor=PAGE_INK, linewidth=1, linestyle=(0, (4, 3)), alpha=0.6)
    axes.add_patch(patch)
    x = left - 0.08 if frame.side == "left" else right + 0.08
    axes.text(
        x,
        (bottom + top) / 2,
        in_language(frame.words),
        ha="right" if frame.side == "left" else "left",
        va="center",
    )


def _paint_arrow(axes: "Axes", arrow: Arrow, points: Sequence[tuple[float, float]]) -> None:
    style = (0, (4, 3)) if arrow.dashed else "-"
    xs, ys = zip(*points, strict=True)
    if len(points) > 2:
        axes.plot(
            xs[:-1],
            ys[:-1],
            color=PAGE_INK,
            linewidth=1.2,
            linestyle=style,
            solid_joinstyle="round",
        )
    axes.annotate(
        "",
        points[-1],
        points[-2],
        arrowprops={
            "arrowstyle": "-|>",
            "color": PAGE_INK,
            "lw": 1.2,
            "shrinkA": 0,
            "shrinkB": 1,
            "linestyle": style,
            "mutation_scale": 11,
        },
    )
    if arrow.words:
        _label(axes, arrow, points)


def _label(axes: "Axes", arrow: Arrow, points: Sequence[tuple[float, float]]) -> None:
    """Write the words of an arrow beside the middle one of its lines, or above it."""
    middle = len(points) // 2
    (x0, y0), (x1, y1) = points[middle - 1], points[middle]
    x, y, words = (x0 + x1) / 2, (y0 + y1) / 2, in_language(arrow.words)
    if abs(x1 - x0) > 0.05:
        axes.text(x, y + 0.04, words, fontsize=9, ha="center", va="bottom")
    elif arrow.route == "left":
        axes.text(x - 0.07, y, words, fontsize=9, ha="right", va="center")
    else:
        axes.text(x + 0.07, y, words, fontsize=9, ha="left", va="center")


def _route(arrow: Arrow, boxes: Mapping[str, Box]) -> list[tuple[float, float]]:
    """Return the corners of an arrow, from the edge of one box to that of the other."""
    start, end = boxes[arrow.start], boxes[arrow.end]
    if arrow.route == "straight":
        return [_on_edge(start, end), _on_edge(end, start)]
    if arrow.route in ("left", "right"):
        return _around(start, end, boxes.values(), -1 if arrow.route == "left" else 1)
    up = 1 if end.y > start.y else -1
    if abs(end.x - start.x) < (end.width - 0.1) / 2 and abs(end.y - start.y) > 0.05:
        return [
            (start.x, start.y + up * start.height / 2),
            (start.x, end.y - up * end.height / 2),
        ]
    across = 1 if end.x > start.x else -1
    begin, finish = start.x + across * start.width / 2, end.x - across * end.width / 2
    if abs(end.y - start.y) < 0.05:
        return [(begin, start.y), (finish, end.y)]
    middle = (begin + finish) / 2
    return [(begin, start.y), (middle, start.y), (middle, end.y), (finish, end.y)]


def _around(start: Box, end: Box, boxes: Iterable[Box], side: int) -> list[tuple[float, float]]:
    """Return the corners of an arrow that leaves above a box and goes around the next ones."""
    between = [box for box in boxes if start.y < box.y <= end.y and abs(box.x - end.x) < 0.1]
    x = end.x + side * (max(box.width for box in between) / 2 + _AROUND)
    branch = start.y + start.height / 2 + 0.1
    return [(start.x, branch), (x, branch), (x, end.y), (end.x + side * end.width / 2, end.y)]


def _on_edge(box: Box, other: Box) -> tuple[float, float]:
    """Return the point of a box's edge on the line to the middle of another box."""
    dx, dy = other.x - box.x, other.y - box.y
    shares = [
        half / abs(delta)
        for half, delta in ((box.width / 2, dx), (box.height / 2, dy))
        if abs(delta) > 1e-9
    ]
    share = min(shares, default=0.0)
    return box.x + share * dx, box.y + share * dy
