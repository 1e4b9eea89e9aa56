"""`headway pull`: a bundle from the hub."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Quiet, print_json


def pull(
    repository: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@REVISION]", help="Repository on the hub.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for the bundle; without it, the hub's cache."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Download a model from the Hugging Face Hub and check it, without running code from it."""
    from headway.interop.hub import pull as download

    result = download(repository, out)
    if as_json:
        print_json(
            {
                "address": str(result.address),
                "revision": result.address.revision,
                "folder": str(result.folder),
                "checksum": result.checksum,
            }
        )
    elif not quiet:
        print(f"Pulled {result.address} into {result.folder}")
