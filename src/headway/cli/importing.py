"""`headway import`: a model of another program as a bundle."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.guesses import Command, Commands
from headway.cli.options import AsJson, Debug, Quiet, print_json

if TYPE_CHECKING:
    from headway.interop.imported import Imported

importing = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Make a bundle from another program's model.",
)


Out = Annotated[Path, typer.Option("--out", help="The folder of the bundle.")]
SourceLanguage = Annotated[
    str | None,
    typer.Option("--source-language", help="Its name or code; that of the files if unset."),
]
TargetLanguage = Annotated[
    str | None, typer.Option("--target-language", help="The same for the target.")
]


@importing.command("marian", cls=Command)
def marian(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder with the model's files.")
    ],
    out: Out,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    tag: Annotated[
        str,
        typer.Option("--tag", help="Put this tag of the model, such as '>>deu<<', before texts."),
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Import a model of Marian: from Hugging Face, in its own files, or a Firefox student."""
    from headway.interop.marian import import_marian

    imported = import_marian(
        folder, out, source_language=source_language, target_language=target_language, tag=tag
    )
    _report(imported, as_json, quiet)


@importing.command("joeynmt", cls=Command)
def joeynmt(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT_OR_DIR",
            help="A checkpoint beside its config.yaml, or their folder, whose best.ckpt is read.",
        ),
    ],
    out: Out,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Import a Transformer of JoeyNMT 2."""
    from headway.interop.checkpoints import import_joeynmt

    imported = import_joeynmt(
        checkpoint, out, source_language=source_language, target_language=target_language
    )
    _report(imported, as_json, quiet)


@importing.command("fairseq", cls=Command)
def fairseq(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT_OR_DIR",
            help="A checkpoint beside its dictionaries, or their folder, whose checkpoint_best.pt "
            "is read.",
        ),
    ],
    out: Out,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Import a Transformer of fairseq."""
    from headway.interop.checkpoints import import_fairseq

    imported = import_fairseq(
        checkpoint, out, source_language=source_language, target_language=target_language
    )
    _report(imported, as_json, quiet)


def _report(imported: "Imported", as_json: bool, quiet: bool) -> None:
    """Print the notes, and the folder that was written."""
    from headway.bundle import summary

    folder, notes = imported.folder, imported.notes
    if as_json:
        print_json({"folder": str(folder), "kind": imported.kind, "notes": notes})
        return
    if not quiet:
        for note in notes:
            print(f"Note: {note}", file=sys.stderr)
        print(f"Wrote {folder}: {', '.join(summary(imported.bundle))}.")
