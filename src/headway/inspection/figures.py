"""Figures of what a model computed; PNG, SVG or PDF by the name of the file."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from headway.errors import ConfigError, MissingExtraError


def attention_grid(
    weights: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
    row_axis: str = "asks",
    column_axis: str = "is looked at",
) -> None:
    """Draw the attention weights of every head, (H, T, S): rows ask, columns are looked at.

    rows, columns: the pieces along both axes, T and S of them. Raises MissingExtraError without
    matplotlib, ConfigError when pieces and weights do not fit.
    """
    if weights.dim() != 3 or weights.shape[1:] != (len(rows), len(columns)):
        raise ConfigError(
            f"The weights have shape {tuple(weights.shape)}, but there are {len(rows)} rows and "
            f"{len(columns)} columns.",
            "Give weights of shape (heads, rows, columns), for one sentence.",
        )
    try:
        import matplotlib as mpl
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "Figures need matplotlib.", "Install it with: pip install 'headway[plot]'."
        ) from error
    from headway.inspection.fonts import font_families

    weights = weights.detach().float().cpu()
    heads = weights.size(0)
    scale = ScalarMappable(Normalize(0, 1), cmap="viridis")
    across = min(heads, 4 if len(columns) <= 8 else 2)  # a wide picture is a small one
    down = -(-heads // across)
    size = (0.8 + across * (0.9 + 0.34 * len(columns)), 1.2 + down * (0.9 + 0.32 * len(rows)))
    with mpl.rc_context({"font.family": font_families(), "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        for head, axes in enumerate(grid.flat):
            if head >= heads:
                axes.set_visible(False)
                continue
            axes.imshow(weights[head].numpy(), norm=scale.norm, cmap=scale.cmap)
            axes.set_title(f"head {head + 1} of {heads}", fontsize=10)
            axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", fontsize=9)
            axes.set_yticks(range(len(rows)), rows, fontsize=9)
        figure.supxlabel(column_axis, fontsize=11)
        figure.supylabel(row_axis, fontsize=11)
        figure.suptitle(title, fontsize=12)
        figure.colorbar(scale, ax=grid.ravel().tolist(), label="weight", shrink=0.8)
        figure.savefig(path, dpi=144)
