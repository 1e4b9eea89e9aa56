"""Figures of a model's intermediates and results; PNG, SVG or PDF by the name of the file.

In a figure of attention or alignment, rows are queries (of the target) and columns are keys (of the
source).
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from headway.decoding.alignment import Alignment
from headway.errors import ConfigError, TraceError
from headway.evaluation.alignment_error import GoldAlignment
from headway.inspection.ablation import HeadImportance
from headway.inspection.attribution import Attribution
from headway.inspection.drawing import check_axes, drawing, label_cells, show_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headway.inspection.trace import Trace

_GOOD, _BAD = "#1f5fa8", "#c8571b"  # blue and orange, distinct for the color-blind


def reads_and_writes(pieces: Sequence[str], start: str = "<s>") -> list[str]:
    """Return a name for each row of the decoder: the pieces that it reads and then writes.

    Row t reads target piece t - 1 and chooses piece t (section 3.1, "shifted right"). With one of
    the two alone, a figure could be misread by one row.

    >>> reads_and_writes(["▁I", "▁go", "</s>"])
    ['<s> → ▁I', '▁I → ▁go', '▁go → </s>']
    """
    return [f"{read} → {written}" for read, written in zip([start, *pieces], pieces, strict=False)]


def attention_grid(
    weights: Float[Tensor, "H T S"],
    rows: Sequence[str],
    columns: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
    row_axis: str = "query",
    column_axis: str = "key",
) -> None:
    """Draw the attention weights of every head (section 3.2.1): rows are queries, columns are keys.

    rows, columns: the pieces along both axes, T and S of them; see `reads_and_writes` for those of
    the decoder. Raises MissingExtraError without matplotlib or without a font for Hangul,
    ConfigError if pieces and weights do not fit.
    """
    if weights.dim() != 3:
        raise ConfigError(
            f"The weights have shape {tuple(weights.shape)}.",
            "Give weights of one sentence, of shape (heads, rows, columns).",
        )
    check_axes(weights, rows, columns, "weights")
    heads = weights.size(0)
    across = min(heads, 4 if len(columns) <= 8 else 2)  # a wide picture is a small one
    down = -(-heads // across)
    longest = max(map(len, rows), default=0)
    width = 0.9 + 0.08 * longest + across * (0.5 + 0.34 * len(columns))
    height = 1.4 + down * (1.0 + 0.32 * len(rows))
    with drawing(path, width, height) as figure:
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        image = None
        for head, axes in enumerate(grid.flat):
            if head >= heads:
                axes.set_visible(False)
                continue
            image = show_matrix(
                axes, weights[head], rows, columns, low=0.0, high=1.0, colors="viridis"
            )
            axes.set_title(f"head {head}", fontsize=10)
        figure.supxlabel(column_axis, fontsize=11)
        figure.supylabel(row_axis, fontsize=11)
        figure.suptitle(title, fontsize=12)
        if image is not None:
            figure.colorbar(image, ax=grid.ravel().tolist(), label="weight", shrink=0.8)


def trace_attention(trace: "Trace", path: str | Path, name: str | None = None) -> None:
    """Draw the attention of one layer of a traced sentence.

    name: that of its weights; None is the cross-attention of the last decoder layer.
    """
    recorded = trace.names(name or "decoder.layers.*.cross_attention.weights")
    if not recorded and name is None:
        raise TraceError(
            "The trace holds no cross-attention to draw.", "Record it: record='attention'."
        )
    chosen = name or recorded[-1]
    weights = trace[chosen]
    if not chosen.endswith(".weights") or "*" in chosen or trace.sentence is None:
        raise ConfigError(
            f"'{chosen}' is not the attention of one layer.",
            "Name weights, such as 'encoder.layers.0.self_attention.weights'.",
        )
    _, rows, columns = weights.axes
    attention_grid(
        weights,
        rows.labels(),
        columns.labels(),
        path,
        title=f"{trace.sentence.source}\n{trace.sentence.target}\n{chosen}",
        row_axis="query (of the target: reads → writes)" if rows.reads else "query",
        column_axis="key",
    )


def alignment_grid(
    alignment: Alignment,
    source_words: Sequence[str],
    target_words: Sequence[str],
    path: str | Path,
    *,
    gold: GoldAlignment | None = None,
    title: str = "",
) -> None:
    """Draw which source word (column) each target word (row) is about.

    A filled square is a link of the alignment. With an alignment by hand, a thick frame is a sure
    link, a thin dashed one a possible link, and squares that are not possible have another color.
    """
    links = [*alignment, *(gold.possible if gold else ())]
    for side, (words, name) in enumerate(((source_words, "source"), (target_words, "target"))):
        largest_word = max((link[side] for link in links), default=-1)
        if largest_word >= len(words):
            raise ConfigError(
                f"A link has {name} word {largest_word}, counted from 0, but there are "
                f"{len(words)}.",
                "Give the words that the links connect, the source first.",
            )
    longest = max(map(len, target_words), default=0)
    width = 1.6 + 0.1 * longest + 0.42 * len(source_words) + (2.6 if gold else 0)
    deepest = max(map(len, source_words), default=0)
    with drawing(path, width, 1.4 + 0.1 * deepest + 0.42 * len(target_words)) as figure:
        axes = figure.subplots()
        axes.set_xlim(-0.5, len(source_words) - 0.5)
        axes.set_ylim(len(target_words) - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.set_xticks(
            range(len(source_words)), source_words, rotation=60, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks(range(len(target_words)), target_words)
        axes.set_xticks([n - 0.5 for n in range(len(source_words) + 1)], minor=True)
        axes.set_yticks([n - 0.5 for n in range(len(target_words) + 1)], minor=True)
        axes.grid(which="minor", color="0.85")
        axes.tick_params(which="both", length=0, labelsize=10)
        _links(axes, alignment, gold)
        axes.set_xlabel("source word")
        axes.set_ylabel("target word")
        axes.set_title(title, fontsize=12)


def _links(
    axes: "Axes", alignment: Collection[tuple[int, int]], gold: GoldAlignment | None
) -> None:
    from matplotlib.patches import Patch, Rectangle

    marks: dict[str, Patch] = {}
    for source, target in sorted(alignment):
        good = gold is None or (source, target) in gold.possible
        mark = Rectangle(
            (source - 0.36, target - 0.36), 0.72, 0.72, color=_GOOD if good else _BAD, linewidth=0
        )
        marks["aligned" if good else "aligned, not by hand"] = axes.add_patch(mark)
    for source, target in sorted(gold.possible if gold else ()):
        sure = gold is not None and (source, target) in gold.sure
        frame = Rectangle(
            (source - 0.45, target - 0.45),
            0.9,
            0.9,
            fill=False,
            edgecolor="black",
            linewidth=2 if sure else 1,
            linestyle="-" if sure else "--",
        )
        marks["sure, by hand" if sure else "possible, by hand"] = axes.add_patch(frame)
    if gold is not None:
        axes.legend(
            marks.values(), marks.keys(), loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False
        )


def head_importance_map(importance: HeadImportance, path: str | Path, *, title: str = "") -> None:
    """Draw how much the loss rises without each head: one panel a kind, layers down, heads across.

    Purple heads are useful, orange ones are harmful; white is no difference. All panels have one
    scale.
    """
    tables = importance.rises
    largest = max(float(table.abs().max()) for table in tables.values()) or 1.0
    rows, columns = (max(table.size(axis) for table in tables.values()) for axis in (0, 1))
    width, height = 1.8 + len(tables) * (0.9 + 0.48 * columns), 2.0 + 0.48 * rows
    with drawing(path, width, height) as figure:
        grid = figure.subplots(1, len(tables), squeeze=False)[0]
        image = None
        for axes, (kind, table) in zip(grid, tables.items(), strict=True):
            layers, heads = ([str(n) for n in range(count)] for count in table.shape)
            image = show_matrix(
                axes, table, layers, heads, low=-largest, high=largest, colors="PuOr"
            )
            axes.tick_params(axis="x", rotation=0)
            axes.set_xticks(range(len(heads)), heads, ha="center")
            label_cells(axes, table, largest)
            axes.set_title(kind, fontsize=10)
            axes.set_xlabel("head, from 0")
        grid[0].set_ylabel("layer, from 0")
        figure.suptitle(title, fontsize=12)
        if image is not None:
            figure.colorbar(
                image, ax=grid.tolist(), label="rise of the loss\n(nats a token)", shrink=0.8
            )


def attribution_bars(attribution: Attribution, path: str | Path, *, title: str = "") -> None:
    """Draw the attribution of a target piece: a bar for each source and each earlier piece."""
    sides = (
        ("source", attribution.source_pieces, attribution.source_scores),
        ("target before it", attribution.prefix_pieces, attribution.prefix_scores),
    )
    counts = [len(pieces) for _, pieces, _ in sides]
    with drawing(path, 6.4, 1.9 + 0.3 * sum(counts)) as figure:
        grid = figure.subplots(2, 1, sharex=True, height_ratios=counts)
        for axes, (name, pieces, scores) in zip(grid, sides, strict=True):
            colors = [_GOOD if score >= 0 else _BAD for score in scores]
            axes.barh(range(len(pieces)), scores, color=colors, height=0.7)
            axes.set_yticks(range(len(pieces)), pieces)
            axes.set_ylim(len(pieces) - 0.5, -0.5)
            axes.set_ylabel(name)
            axes.axvline(0, color="black", linewidth=0.8)
            axes.grid(axis="x", alpha=0.3)
        grid[-1].set_xlabel("what it adds to the log-probability (nats)")
        method = attribution.method.replace("_", " ").replace(" x ", " × ")
        question = f"why {attribution.piece}"
        if attribution.instead_of is not None:
            question = f"{question} and not {attribution.instead_of}"
        figure.suptitle(f"{title}\n{question} ({method})".strip(), fontsize=12)
