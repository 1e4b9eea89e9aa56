"""`headway train`: from parallel text to a bundle."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Device, Quiet, print_json


def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.toml]", help="A configuration or recipe.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the run; runs/NAME of the configuration if unset."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="a.b=c", help="Change one setting; may be repeated."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out, bit for bit.")
    ] = False,
    source: Annotated[str, typer.Option("--source", help="Training text, source side.")] = "",
    target: Annotated[str, typer.Option("--target", help="Training text, target side.")] = "",
    valid_source: Annotated[str, typer.Option(help="Validation text, source side.")] = "",
    valid_target: Annotated[str, typer.Option(help="Validation text, target side.")] = "",
    preset: Annotated[
        str, typer.Option("--preset", help="tiny, small, base, big, or a row of Table 3.")
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Train a model from aligned text files."""
    from headway.config.run import load_run_config
    from headway.training.reporting import Reporter
    from headway.training.run import train as run

    named = {
        "data.source_language": _language(source),
        "data.target_language": _language(target),
        "data.source": source,
        "data.target": target,
        "data.valid_source": valid_source,
        "data.valid_target": valid_target,
        "model.preset": preset,
    }
    overrides = [f'{key}="{value}"' for key, value in named.items() if value]
    overrides += settings or []
    folder = out or Path("runs") / (config.stem if config else "run")
    chosen = load_run_config(config, overrides) if config or overrides or not resume else None
    result = run(chosen, folder, resume=resume, device=device, reporter=Reporter(quiet or as_json))
    if not result.finished:
        typer.echo(
            f"Stopped after step {result.step:,} and saved. "
            f"Go on with: headway train --out {folder} --resume",
            err=True,
        )
        raise typer.Exit(1)
    if as_json:
        print_json(result.report)
    elif not quiet:
        print(f"Done in {result.seconds / 60:.1f} minutes: {folder / 'averaged'}")
        print(f"Translate with: headway translate {folder} FILE")


def _language(name: str) -> str:
    """Guess the language from a name like `train.ko` or `train.ko.gz`; nothing from `a.txt`."""
    suffix = Path(name.removesuffix(".gz")).suffix.removeprefix(".")
    return "" if suffix in ("txt", "tsv") else suffix
