"""The loss over the steps, as a picture."""

import io
import json
from collections.abc import Callable
from pathlib import Path

from headway.bundle import write_atomically
from headway.training.run_folder import writing


def draw_losses(metrics: Path, picture: Path, say: Callable[[str], None]) -> None:
    """Draw training and validation loss from metrics.jsonl; without matplotlib say so."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        say("No loss picture: matplotlib is not installed. Install headway[plot] to have one.")
        return
    lines = metrics.read_text(encoding="utf-8").split("\n")
    records = [json.loads(line) for line in lines if line]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for kind, label, style in (
        ("step", "training (smoothed labels)", "-"),
        ("validation", "validation", "o-"),
    ):
        chosen = [record for record in records if record["kind"] == kind]
        axes.plot(
            [record["step"] for record in chosen],
            [record["loss"] for record in chosen],
            style,
            label=label,
            markersize=4,
        )
    axes.set_xlabel("step")
    axes.set_ylabel("loss per target piece (nats)")
    axes.grid(alpha=0.3)
    axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format=picture.suffix.removeprefix("."), dpi=144)
    with writing(picture):
        write_atomically(picture, image.getvalue())
