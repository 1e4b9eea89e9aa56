"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.json_text import to_json

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A bundle, or a run that holds one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results and errors only.")]
# `main` reads it, because it sees the arguments before any command does.
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]
Device = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda|mps", help="Where to compute.")
]
TrustCode = Annotated[
    bool,
    typer.Option("--trust-code", help="Run the model's own code, parts.py. Read it first."),
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam", min=1, help="Hypotheses kept; 1 is greedy search. Unset: the model's own number."
    ),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option("--length-penalty", min=0, max=10, help="alpha; 0 favours short translations."),
]


def print_json(value: Any) -> None:
    """Print one JSON value on one line; a number that is not finite is null."""
    print(to_json(value))
