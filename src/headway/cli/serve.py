"""`headway serve`: models in a browser."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import Debug, Device, Quiet, TrustCode
from headway.cli.remarks import remark_on_weights
from headway.messages import discard


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODEL...]",
            help="Bundles, or runs that hold one; without any, runs/demo of `headway demo`.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; 127.0.0.1 is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8080,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Look inside models in a browser; Ctrl-C ends it."""
    from headway.serving.running import serve as run

    chosen = models or [_demo()]
    for model in chosen:
        remark_on_weights(model, quiet)
    run(
        chosen,
        host=host,
        port=port,
        device=device,
        trust_code=trust_code,
        ready=_keep_quiet if quiet else _say,
    )
    from headway.serving.request_queue import is_computing

    if is_computing():
        # Python would destroy objects that the thread still uses, and PyTorch would abort.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _demo() -> Path:
    from headway.errors import ConfigError

    path = Path("runs/demo")
    if not path.exists():
        raise ConfigError(
            "No model is named, and there is no runs/demo.",
            "Name one, or train the demonstration's with `headway demo`.",
        )
    return path


def _say(address: str) -> None:
    """Print the address, on standard error if standard output is closed."""
    if sys.stdout is not None:
        try:
            print(address, flush=True)
            return
        except OSError:
            discard(sys.stdout)
    print(address, file=sys.stderr)


def _keep_quiet(address: str) -> None:
    """Print nothing, as --quiet asks."""
