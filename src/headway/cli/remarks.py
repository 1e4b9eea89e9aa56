"""Remarks of a command, on standard error, on its model: the weights and the precision."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.decoding.translator import TextTranslator


def remark_on_weights(model: Path, quiet: bool) -> Path:
    """Print the bundle that is used if the path is a run; return the path."""
    from headway.saved_bundle import which_weights

    words = which_weights(model)
    if words and not quiet:
        print(f"Note: {words}", file=sys.stderr)
    return model


def remark_on_precision(translator: "TextTranslator", precision: str, quiet: bool) -> None:
    """Print the precision that `--precision auto` chose."""
    from headway.decoding.build_engine import computed_by

    if precision == "auto" and not quiet:
        print(
            f"Note: --precision auto chose the {computed_by(translator.engine)}.", file=sys.stderr
        )
