"""`headway serve`: models in a browser, and as a translation service."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import Debug, Device, Quiet, TrustCode
from headway.cli.remarks import remark_on_weights
from headway.messages import discard

# The defaults are those of `headway.service.settings.Settings`, which a test compares.


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
    no_explorer: Annotated[
        bool, typer.Option("--no-explorer", help="Translate only; the explorer is not shown.")
    ] = False,
    no_files: Annotated[
        bool, typer.Option("--no-files", help="Refuse files; texts are translated.")
    ] = False,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--languages",
            metavar="FROM-TO",
            help="Languages of a model, such as de-en; once for each model. By default the "
            "bundle's.",
        ),
    ] = None,
    pivot: Annotated[
        str | None,
        typer.Option("--pivot", metavar="CODE", help="Language between two models, such as en."),
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary", metavar="FILE", help="Source terms and their translations, tab between."
        ),
    ] = None,
    char_limit: Annotated[
        int | None, typer.Option("--char-limit", min=1, help="Characters of a text.")
    ] = None,
    batch_limit: Annotated[
        int, typer.Option("--batch-limit", min=1, help="Texts of a request.")
    ] = 1000,
    alternatives_limit: Annotated[
        int, typer.Option("--alternatives-limit", min=0, help="Alternatives of a text.")
    ] = 10,
    body_limit: Annotated[
        int, typer.Option("--body-limit", min=1, metavar="MB", help="Megabytes of a request.")
    ] = 10,
    queue: Annotated[
        int,
        typer.Option("--queue", min=1, help="Characters that a model has not yet translated."),
    ] = 200_000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds until a request is given up.")
    ] = 30.0,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="N/UNIT", help="Texts of a client, such as 120/minute."),
    ] = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            "--api-keys", metavar="FILE", help="A key, a space and its owner on each line."
        ),
    ] = None,
    require_key: Annotated[
        bool, typer.Option("--require-key", help="Refuse requests without a key.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="Site whose pages may send requests."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="Name by which clients reach the server."
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            "--proxy", metavar="ADDRESSES", help="Proxies whose X-Forwarded headers are trusted."
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Translate for programs, and show models in a browser; Ctrl-C ends it."""
    from headway.runtime.signals import let_hang_up_end_at_once
    from headway.service.rate import parse_rate
    from headway.service.running import serve as run
    from headway.service.settings import MEGABYTE, Settings

    settings = Settings(
        char_limit=char_limit,
        batch_limit=batch_limit,
        alternatives_limit=alternatives_limit,
        body_limit=body_limit * MEGABYTE,
        queue=queue,
        files=not no_files,
        timeout=timeout,
        rate=None if rate is None else parse_rate(rate),
        api_keys=api_keys,
        require_key=_with_keys(api_keys, require_key),
        pivot=pivot,
        glossary=glossary,
        cors=cors or (),
        hosts=allow_host or (),
        proxy=proxy,
    )
    chosen = models or [_demo()]
    for model in chosen:
        remark_on_weights(model, quiet)
    let_hang_up_end_at_once()  # a KeyboardInterrupt in the server's event loop would be logged
    run(
        chosen,
        host=host,
        port=port,
        device=device,
        trust_code=trust_code,
        explorer=not no_explorer,
        languages=languages or (),
        settings=settings,
        ready=_keep_quiet if quiet else _say,
    )
    from headway.serving.request_queue import is_computing

    if is_computing():
        # Python would destroy objects that the thread still uses, and PyTorch would abort.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _with_keys(api_keys: Path | None, require_key: bool) -> bool:
    from headway.errors import ConfigError

    if require_key and api_keys is None:
        raise ConfigError(
            "--require-key is given, but there are no keys.", "Name their file with --api-keys."
        )
    return require_key


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
