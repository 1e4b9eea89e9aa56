"""`headway translate`: one line in, one line out, always, in order."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Beam, Debug, Device, LengthPenalty, Model, Quiet


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Text, one sentence a line; else stdin.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; else stdout.")] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    nbest: Annotated[
        int,
        typer.Option("--nbest", min=1, help="Print N lines a sentence: number, score, text."),
    ] = 1,
    prefix: Annotated[
        Path | None,
        typer.Option("--prefix", help="How each translation must begin, one line a sentence."),
    ] = None,
    batch_tokens: Annotated[
        int, typer.Option(min=1, help="Pieces computed together; changes speed and memory only.")
    ] = 4096,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Translate a file or standard input."""
    from headway.cli.lines import LineWriter, incoming_lines
    from headway.data.lines import read_lines
    from headway.decoding.translator import load

    translator = load(model, device)
    prefixes = None if prefix is None else read_lines(prefix)
    with LineWriter(out, nbest=nbest, as_json=as_json, quiet=quiet) as writer:
        for lines in incoming_lines(file):
            writer.write(
                translator.translate(
                    lines,
                    beam_size=beam,
                    length_penalty=length_penalty,
                    n_best=nbest,
                    prefix=None if prefixes is None else take_prefixes(prefixes, len(lines)),
                    batch_tokens=batch_tokens,
                )
            )
    if prefixes is not None and next(prefixes, None) is not None and not quiet:
        print("Note: the prefix file has more lines than there were sentences.", file=sys.stderr)


def take_prefixes(prefixes, count: int) -> list[str]:
    """Return the prefixes of the next sentences; DataError when there are too few."""
    from itertools import islice

    from headway.errors import DataError

    taken = list(islice(prefixes, count))
    if len(taken) < count:
        raise DataError(
            "The prefix file has fewer lines than there are sentences.",
            "Give one line for each; an empty one forces nothing.",
        )
    return taken
