"""Remarks of a command on the model that it loads: which weights, and which precision."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.decoding.translator import TextTranslator


def remark_on_weights(model: Path, quiet: bool) -> Path:
    """Say on standard error which bundle stands for a run, if a run is named; return the path."""
    from headway.saved_bundle import which_weights

    words = which_weights(model)
    if words and not quiet:
        print(f"Note: {words}", file=sys.stderr)
    return model


def remark_on_precision(translator: "TextTranslator", precision: str, quiet: bool) -> None:
    """Say on standard error what `--precision auto` chose."""
    from headway.decoding.build_engine import computed_by

    if precision == "auto" and not quiet:
        print(
            f"Note: --precision auto chose the {computed_by(translator.engine)}.", file=sys.stderr
        )
