"""Remarks of a command, on standard error, on its model: the weights and the precision."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.decoding.translator import TextTranslator


def remark_on_weights(model: Path, quiet: bool) -> Path:
    """Print the bundle of a run, or the revision on the hub, that is used; return the path."""
    from headway.saved_bundle import which_weights

    words = which_weights(model)
    if words and not quiet:
        print(f"Note: {words}", file=sys.stderr)
    return model


def remark_on_unfinished(models: Sequence[Path], quiet: bool) -> None:
    """Print the bundle that is used of each run that is not finished, and revisions on the hub."""
    from headway.hub import hub_address
    from headway.saved_bundle import unfinished_weights, which_weights

    for model in () if quiet else models:
        if words := which_weights(model) if hub_address(model) else unfinished_weights(model):
            print(f"Note: {words}", file=sys.stderr)


def remark_on_precision(translator: "TextTranslator", precision: str, quiet: bool) -> None:
    """Print the precision that `--precision auto` chose, unless it is float32."""
    from headway.decoding.build_engine import computed_by

    chosen = computed_by(translator.engine).split(", ")[-1]
    if precision == "auto" and not quiet and chosen != "float32":
        print(
            f"Note: computing in {chosen}, the fastest precision here that scores as float32 does; "
            "--precision float32 is the most exact.",
            file=sys.stderr,
        )
