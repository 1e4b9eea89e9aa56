"""The steps of attention as a flow, and numbers split into heads, right and wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import ConfigError, suggest
from headway.learn.figures.flows import Arrow, Box, flow
from headway.learn.figures.picture import DARK_INK, Picture, bare_axes, color_of, draw
from headway.learn.judging import readable
from headway.learn.language import Words, in_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ALT: Words = {
    "en": "From the bottom up: the vectors x give queries, keys and values. Queries and keys give "
    "scores, by dot products divided by the root of d_k. Softmax makes weights of the scores. The "
    "weights and the values give the output.",
    "ko": "아래에서 위로: 벡터 x에서 쿼리, 키, 값을 만듭니다. 쿼리와 키의 내적을 d_k의 제곱근으로 "
    "나누면 점수가 됩니다. 소프트맥스가 점수를 가중치로 바꿉니다. 가중치를 곱해 값을 더하면 "
    "출력이 됩니다.",
}
_APART, _HIGH = 1.9, 0.48  # inches
# A formula is in the note, because mathematics has no font for Hangul.
_BOXES = {
    "x": Box({"en": "x, a row per token", "ko": "x: 토큰마다 한 행"}, 0, 0, "grey", 1.9, _HIGH),
    "q": Box({"en": "queries", "ko": "쿼리"}, -_APART, 0.9, "blue", 1.5, _HIGH, note="$Q = xW^Q$"),
    "k": Box({"en": "keys", "ko": "키"}, 0, 0.9, "blue", 1.5, _HIGH, note="$K = xW^K$"),
    "v": Box({"en": "values", "ko": "값"}, _APART, 0.9, "orange", 1.5, _HIGH, note="$V = xW^V$"),
    "scores": Box(
        {"en": "scores", "ko": "점수"},
        -_APART / 2,
        1.85,
        "blue",
        1.8,
        _HIGH,
        note=r"$QK^T / \sqrt{d_k}$",
    ),
    "weights": Box(
        {"en": "weights", "ko": "가중치"},
        -_APART / 2,
        2.65,
        "green",
        1.8,
        _HIGH,
        note={"en": "softmax of each row", "ko": "행마다 소프트맥스"},
    ),
    "output": Box(
        {"en": "output", "ko": "출력"},
        _APART / 2,
        3.5,
        "orange",
        1.8,
        _HIGH,
        note={"en": "weights · V", "ko": "가중치 · V"},
    ),
}
_ARROWS = [
    Arrow(start, end, route="straight")
    for start, end in (
        ("x", "q"),
        ("x", "k"),
        ("x", "v"),
        ("q", "scores"),
        ("k", "scores"),
        ("scores", "weights"),
        ("weights", "output"),
        ("v", "output"),
    )
]

_COLORS = ("blue", "orange", "green", "purple")
_CELL, _GAP, _LETTER = 0.42, 0.75, 0.075  # inches


def attention(*, notes: Mapping[str, Words] | None = None, alt: Words = _ALT) -> Picture:
    """Draw scaled dot-product attention, from the vectors to the output.

    notes: small words in a box, such as its shape. Raises ConfigError for an
    unknown box.
    """
    boxes = dict(_BOXES)
    for name, words in (notes or {}).items():
        if name not in boxes:
            raise ConfigError(f"Attention has no box {name!r}.", suggest(name, boxes))
        before, after = in_language(boxes[name].note), in_language(words)
        boxes[name] = replace(boxes[name], note=f"{before}   {after}" if before else after)
    return flow(boxes, _ARROWS, alt=alt)


def heads_of_numbers(tokens: object, heads: int, *, alt: Words) -> Picture:
    """Draw a matrix of tokens twice, each cell in the color of its head, and each head below it.

    Left: the width is cut, then heads and tokens change places, as `MultiHeadAttention` does.
    Right: `view(B, H, L, d)` alone, which mixes the tokens. tokens: (L, d_model), whole numbers.
    Raises ConfigError if `heads` does not divide d_model, or is above 4.
    """
    numbers = readable(tokens)
    if numbers is None or numbers.dtype.kind != "f" or numbers.ndim != 2:
        raise ConfigError("The tokens are no matrix.", "Give one row of numbers for each token.")
    length, width = numbers.shape
    if not 1 <= heads <= len(_COLORS) or width % heads:
        raise ConfigError(
            f"{heads} heads do not fit a width of {width}.",
            f"Choose a divisor of {width} up to {len(_COLORS)}.",
        )
    splits = right_split(numbers, heads), wrong_split(numbers, heads)
    titles = "view(B, L, H, d).transpose(1, 2)", "view(B, H, L, d)"
    panel = max(width * _CELL, heads * (width // heads) * _CELL + (heads - 1) * _GAP / 2)
    across = max(panel, len(titles[0]) * _LETTER)
    height = 2 * length * _CELL + 1.35

    def paint(figure: "Figure") -> None:
        axes = bare_axes(figure, 2 * across + _GAP, height)
        for place, (split, title) in enumerate(zip(splits, titles, strict=True)):
            left = place * (across + _GAP)
            middle = left + across / 2
            axes.text(middle, height - 0.12, title, ha="center", va="center", family="monospace")
            head_of = {number: head for head in range(heads) for number in split[head].flat}
            colors = [[head_of[number] for number in row] for row in numbers]
            top = height - 0.35
            _paint_cells(axes, numbers, colors, middle - width * _CELL / 2, top)
            _paint_heads(axes, split, middle - panel / 2, top - length * _CELL - 0.5)

    return draw(2 * across + _GAP, height, alt, paint)


def right_split(tokens: NDArray[Any], heads: int) -> NDArray[Any]:
    """Split (L, d_model) into (H, L, d): cut the width, then exchange tokens and heads."""
    return tokens.reshape(len(tokens), heads, -1).swapaxes(0, 1)


def wrong_split(tokens: NDArray[Any], heads: int) -> NDArray[Any]:
    """Reshape (L, d_model) to (H, L, d) at once, which gives a head the wrong tokens' numbers."""
    return tokens.reshape(heads, len(tokens), -1)


def _paint_heads(axes: "Axes", split: NDArray[Any], left: float, top: float) -> None:
    heads, _, depth = split.shape
    for head in range(heads):
        x = left + head * (depth * _CELL + _GAP / 2)
        words = in_language({"en": f"head {head + 1}", "ko": f"헤드 {head + 1}"})
        axes.text(x + depth * _CELL / 2, top + 0.13, words, ha="center", va="center", fontsize=9.5)
        _paint_cells(axes, split[head], np.full(split[head].shape, head), x, top)


def _paint_cells(axes: "Axes", numbers: NDArray[Any], heads: Any, left: float, top: float) -> None:
    from matplotlib.patches import Rectangle

    for (row, column), number in np.ndenumerate(numbers):
        fill, edge = color_of(_COLORS[heads[row][column]])
        x, y = left + column * _CELL, top - (row + 1) * _CELL
        axes.add_patch(Rectangle((x, y), _CELL, _CELL, facecolor=fill, edgecolor=edge, lw=1.2))
        place = (x + _CELL / 2, y + _CELL / 2)
        axes.text(*place, f"{number:g}", ha="center", va="center", color=DARK_INK)
