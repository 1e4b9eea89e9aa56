"""`headway train`: from parallel text to a bundle."""

import json
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
        str,
        typer.Option("--preset", help="tiny (if unset), small, base, big, or a row of Table 3."),
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Train a model from aligned text files.

    Without a CONFIG, the presets tiny and small come with a training that suits a laptop.
    """
    from headway.config.presets import STARTER_TRAINING
    from headway.config.run import load_run_config
    from headway.training.memory import keep_freed_memory
    from headway.training.reporting import Reporter
    from headway.training.run import train as run

    keep_freed_memory()
    folder = out or Path("runs") / (config.stem if config else "run")
    named: dict[str, object] = {
        "data.source_language": _language(source),
        "data.target_language": _language(target),
        "data.source": source,
        "data.target": target,
        "data.valid_source": valid_source,
        "data.valid_target": valid_target,
        "model.preset": preset,
    }
    if config is None and not resume:
        named["model.preset"] = preset or "tiny"
        starter = STARTER_TRAINING.get(preset or "tiny", {})
        named |= {f"training.{key}": value for key, value in starter.items()}
    overrides = [f"{key}={json.dumps(value)}" for key, value in named.items() if value]
    overrides += settings or []
    # A continued run has its own configuration, and only what is named here changes it.
    begun = folder / "config.toml" if resume and config is None else None
    chosen = load_run_config(config or begun, overrides) if not resume or overrides else None
    result = run(chosen, folder, resume=resume, device=device, reporter=Reporter(quiet or as_json))
    if not result.finished:
        typer.echo(_how_to_go_on(result.step, folder), err=True)
        raise typer.Exit(1)
    if as_json:
        print_json(result.report)
    elif not quiet:
        print(f"Done in {result.seconds / 60:.1f} minutes: {folder / 'averaged'}")
        print(f"Translate with: headway translate {folder} FILE")


def _how_to_go_on(step: int, folder: Path) -> str:
    again = f"headway train --out {folder} --resume"
    return f"Stopped after step {step:,} and saved. Go on with: {again}"


def _language(name: str) -> str:
    """Guess the language from a name like `train.ko` or `train.ko.gz`; nothing from `a.txt`."""
    suffix = Path(name.removesuffix(".gz")).suffix.removeprefix(".")
    return "" if suffix in ("txt", "tsv") else suffix
