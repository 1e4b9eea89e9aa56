"""Curves and tables that need no sentence: positions, the learning rate, the loss of a run."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.data.lines import StrPath, read_lines
from headway.errors import DataError
from headway.inspection.drawing import drawing
from headway.model.positional_encoding import sinusoid_table


def positional_encoding_map(
    length: int, d_model: int, path: str | Path, *, layout: str = "interleaved"
) -> None:
    """Draw the sinusoids of section 3.5: a row for each position, a column for each dimension.

    layout: see `headway.model.positional_encoding.sinusoid_table`.
    """
    table = sinusoid_table(length, d_model, layout)
    with drawing(path, 7.5, 4.6) as figure:
        axes = figure.subplots()
        image = axes.imshow(
            table.numpy(), vmin=-1, vmax=1, cmap="PuOr", aspect="auto", interpolation="nearest"
        )
        axes.set_xlabel("dimension")
        axes.set_ylabel("position")
        axes.set_title(f"positional encoding, {length} positions of width {d_model}", fontsize=12)
        figure.colorbar(image, ax=axes, label="value", ticks=[-1, -0.5, 0, 0.5, 1])


def rate_curve(rates: Mapping[str, Sequence[float]], path: str | Path, *, title: str = "") -> None:
    """Draw learning rates over the steps (section 5.3, equation 3), a line for each name.

    rates: of step 1, 2, and so on, such as
    `{"paper": [paper_rate(step, 512, 4000) for step in range(1, 20001)]}`.
    """
    if not any(len(values) for values in rates.values()):
        raise DataError("There is no rate to draw.", "Give the rate of at least one step.")
    with drawing(path, 7.0, 3.6) as figure:
        axes = figure.subplots()
        for name, values in rates.items():
            axes.plot(range(1, len(values) + 1), values, label=name)
        axes.set_xlabel("step")
        axes.set_ylabel("learning rate")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        _finish(axes, title)


def loss_curve(
    metrics: Mapping[str, StrPath] | StrPath, path: str | Path, *, title: str = ""
) -> None:
    """Draw the losses in the `metrics.jsonl` of one run, or of several runs with a name each.

    A thin line is the loss of training, with smoothed labels; a thick one is that of validation.
    """
    runs = metrics if isinstance(metrics, Mapping) else {"": metrics}
    records = {name: _records(file) for name, file in runs.items()}
    with drawing(path, 7.0, 4.2) as figure:
        axes = figure.subplots()
        for number, (name, rows) in enumerate(records.items()):
            for kind, label, width in (
                ("step", "training (smoothed labels)", 0.9),
                ("validation", "validation", 2.2),
            ):
                points = [(r["step"], r["loss"]) for r in rows if r["kind"] == kind]
                if points:
                    # A single run has a color for each kind; several have one for each run.
                    color = f"C{number}" if name else ("C0" if kind == "step" else "C1")
                    axes.plot(
                        *zip(*points, strict=True),
                        marker="o" if len(points) <= 40 and kind == "validation" else None,
                        markersize=4,
                        linewidth=width,
                        color=color,
                        label=f"{name}: {label}" if name else label,
                    )
        axes.set_xlabel("step")
        axes.set_ylabel("loss (nats per target token)")
        axes.set_xlim(left=0)
        _finish(axes, title)


def _records(file: StrPath) -> list[dict[str, Any]]:
    """Return the records with a loss; DataError for a file without any."""
    records = []
    for number, line in enumerate(read_lines(file), start=1):
        try:
            record = json.loads(line) if line else {}
        except ValueError as error:
            raise DataError(
                f"{file}, line {number}: this is not JSON.", "Give the metrics.jsonl of a run."
            ) from error
        if record.get("kind") in ("step", "validation"):
            records.append(record)
    if not records:
        raise DataError(f"{file} has no losses.", "Give the metrics.jsonl of a run that has begun.")
    return records


def _finish(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=12)
    axes.grid(alpha=0.3)
    if any(label and not label.startswith("_") for label in axes.get_legend_handles_labels()[1]):
        axes.legend(frameon=False)
