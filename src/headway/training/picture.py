"""One picture of loss, scores and rate over the steps."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from headway.errors import MissingExtraError
from headway.evaluation.units import validation_in_percent
from headway.plotting import import_matplotlib
from headway.runtime.atomic_files import write_atomically
from headway.training.run_folder import writing_run

Records = list[dict[str, Any]]


class Curve(NamedTuple):
    """One line of a panel, from as many steps as values."""

    label: str
    steps: list[int]
    values: list[float]
    color: int


class Panel(NamedTuple):
    """Curves with one vertical axis, and the panel's height in inches."""

    axis: str
    height: float
    curves: list[Curve]


def draw_losses(records: Records, picture: Path, say: Callable[[str], None]) -> None:
    """Draw the records of a run; if that fails, say why.

    Errors of matplotlib end no run, so none leaves this function. Raises RunError if the picture
    cannot be written, as for every file of a run.
    """
    if not records:
        say("No loss picture: metrics.jsonl has no record.")
        return
    try:
        import_matplotlib()
        image = _picture(panels(records), picture.suffix.removeprefix("."))
    except MissingExtraError as error:
        say(f"No loss picture: {error}")
        return
    except Exception as error:  # of a broken installation
        say(f"No loss picture: matplotlib failed ({type(error).__name__}: {error}).")
        return
    with writing_run(picture):
        write_atomically(picture, image)


def _picture(shown: list[Panel], kind: str) -> bytes:
    """Return the panels as one picture of this kind, such as png."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    heights = [panel.height for panel in shown]
    figure = Figure(figsize=(7, sum(heights)), layout="constrained")
    grid = figure.subplots(len(shown), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(grid, shown, strict=True):
        _draw(axes, panel)
    grid[-1].set_xlabel("step")
    grid[-1].set_xlim(left=0)
    grid[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.align_ylabels()
    image = io.BytesIO()
    figure.savefig(image, format=kind, dpi=144)
    return image.getvalue()


def panels(records: Records) -> list[Panel]:
    """Return the panels with data: losses, scores and the rate."""
    steps = [record for record in records if record["kind"] == "step"]
    validations = [record for record in records if record["kind"] == "validation"]
    losses = [
        _curve("training (smoothed labels)", steps, lambda record: record["loss"], 0),
        _curve("validation", validations, lambda record: record["loss"], 1),
    ]
    rates = [_curve("", steps, lambda record: record["rate"], 0)]
    all_panels = [
        Panel("loss per target\ntoken (nats)", 3.5, losses),
        Panel("score (%)", 2.4, _scores(validations)),
        Panel("rate", 1.6, rates),
    ]
    nonempty = [panel._replace(curves=[c for c in panel.curves if c.steps]) for panel in all_panels]
    return [panel for panel in nonempty if panel.curves] or nonempty[:1]


def _scores(validations: Records) -> list[Curve]:
    labels = {
        "bleu": "BLEU",
        "chrf": "chrF",
        "ter": "TER (lower is better)",
        "exact": "exact",
        "wer": "word errors (lower is better)",
    }
    return [
        _curve(
            label,
            [record for record in validations if name in record["scores"]],
            lambda record, name=name: validation_in_percent(record)[name],
            color,
        )
        for color, (name, label) in enumerate(labels.items())
    ]


def _curve(
    label: str, records: Records, value: Callable[[dict[str, Any]], float], color: int
) -> Curve:
    steps = [record["step"] for record in records]
    return Curve(label, steps, [value(record) for record in records], color)


def _draw(axes: Any, panel: Panel) -> None:
    for curve in panel.curves:
        # Updates have no dots, nor have more than 40 validations, because dots would hide the line.
        # A single point needs a dot, because it has no line.
        dots = len(curve.steps) == 1 or (len(curve.steps) <= 40 and "training" not in curve.label)
        axes.plot(
            curve.steps,
            curve.values,
            "o-" if dots and curve.label else "-",
            label=curve.label,
            color=f"C{curve.color}",
            markersize=4,
        )
    axes.set_ylabel(panel.axis)
    axes.grid(alpha=0.3)
    if any(curve.label for curve in panel.curves):
        axes.legend(frameon=False)
