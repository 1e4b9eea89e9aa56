"""`headway import`: a model of another program as a bundle."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.guesses import Command, Commands
from headway.cli.options import AsJson, Debug, Quiet, print_json

importing = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Make a bundle of another program's model.",
)


@importing.command("marian", cls=Command)
def marian(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder with the model's files.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder of the bundle.")],
    source_language: Annotated[
        str | None,
        typer.Option("--source-language", help="Its name or code; that of the files if unset."),
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--target-language", help="The same for the target.")
    ] = None,
    tag: Annotated[
        str,
        typer.Option("--tag", help="Put this tag of the model, such as '>>deu<<', before texts."),
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Import a model of Marian: from Hugging Face, in its own files, or a Firefox student."""
    from headway.bundle import summary
    from headway.interop.marian import import_marian

    imported = import_marian(
        folder, out, source_language=source_language, target_language=target_language, tag=tag
    )
    if as_json:
        print_json({"folder": str(imported.folder), "kind": imported.kind, "notes": imported.notes})
        return
    if not quiet:
        for note in imported.notes:
            print(f"Note: {note}", file=sys.stderr)
        print(f"Wrote {imported.folder}: {', '.join(summary(imported.bundle))}.")
