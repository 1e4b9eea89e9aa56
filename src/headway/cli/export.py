"""`headway export`: a bundle in another framework's form."""

import os
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Model, Quiet, print_json


def export(
    model: Model,
    to: Annotated[str, typer.Option("--to", metavar="keras", help="What to write.")],
    out: Annotated[Path, typer.Option("--out", help="A new folder.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model in the form of another framework, once its logits are the same."""
    from headway.errors import ConfigError, suggest

    if to != "keras":
        raise ConfigError(f"There is no export to '{to}'.", suggest(to, ["keras"]))
    # The file is the same for every back end, and this one is always there.
    os.environ.setdefault("KERAS_BACKEND", "torch")
    from headway.interop.keras.export import export as write

    result = write(model, out)
    if as_json:
        print_json({"folder": str(result.folder), "largest_difference": result.largest_difference})
    elif not quiet:
        print(f"Wrote {result.folder}; logits differ by {result.largest_difference:.2g} at most.")
