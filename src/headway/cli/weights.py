"""Which weights of a run a command takes."""

import sys
from pathlib import Path


def remark_on_weights(model: Path, quiet: bool) -> Path:
    """Say on standard error which bundle stands for a run, if a run is named; return the path."""
    from headway.saved_bundle import which_weights

    words = which_weights(model)
    if words and not quiet:
        print(f"Note: {words}", file=sys.stderr)
    return model
