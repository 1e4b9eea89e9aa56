"""`headway push`: a bundle into a repository of the hub."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Model, Quiet, print_json
from headway.cli.remarks import remark_on_weights


def push(
    model: Model,
    repository: Annotated[
        str,
        typer.Argument(
            metavar="OWNER/NAME", help="Repository on the hub; created if it does not exist."
        ),
    ],
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="Make the repository private; an existing public one is refused."
        ),
    ] = False,
    revision: Annotated[
        str,
        typer.Option(
            "--revision", metavar="BRANCH", help="Branch to push to; created if it does not exist."
        ),
    ] = "",
    licence: Annotated[
        str,
        typer.Option(
            "--license",
            metavar="NAME",
            help="Licence of the model, by the hub's name for it, such as mit.",
        ),
    ] = "",
    code: Annotated[
        Path | None,
        typer.Option(
            "--code", metavar="FILE", help="File with the function `change` for your own parts."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Upload a model to the Hugging Face Hub, with a page made from its record."""
    from headway.interop.hub import push as upload

    remark_on_weights(model, quiet)
    result = upload(
        model, repository, private=private, revision=revision, licence=licence, code=code
    )
    if result.needs_code and not quiet:
        print(
            "Note: the model has parts of your own. Without --code FILE, others must have their "
            "code to load it.",
            file=sys.stderr,
        )
    if as_json:
        print_json(
            {
                "address": str(result.address),
                "revision": result.address.revision,
                "page": result.page,
            }
        )
    elif not quiet:
        print(f"Pushed to {result.page}\nThis revision is {result.address}")
