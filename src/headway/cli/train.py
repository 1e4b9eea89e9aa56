"""`headway train`: from parallel text to a bundle."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Device, Quiet, print_json
from headway.cli.run_options import (
    Config,
    Preset,
    Settings,
    Source,
    Target,
    ValidSource,
    ValidTarget,
    chosen_settings,
)


def train(
    config: Config = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the run; runs/NAME of the configuration if unset."),
    ] = None,
    settings: Settings = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out, bit for bit.")
    ] = False,
    source: Source = "",
    target: Target = "",
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    preset: Preset = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Train a model from aligned text files.

    Without a CONFIG, the presets tiny and small come with a training that suits a laptop.
    """
    from headway.config.run import load_run_config
    from headway.training.distributed import is_leader
    from headway.training.memory import keep_freed_memory
    from headway.training.reporting import Reporter
    from headway.training.run import train as run

    keep_freed_memory()
    folder = out or Path("runs") / (config.stem if config else "run")
    files = {
        "source": source,
        "target": target,
        "valid_source": valid_source,
        "valid_target": valid_target,
    }
    begins = config is None and not resume
    overrides = chosen_settings(files, preset, settings or [], starter=begins)
    # A continued run has its own configuration, and only what is named here changes it.
    begun = folder / "config.toml" if resume and config is None else None
    chosen = (
        load_run_config(config or begun, overrides) if config or not resume or overrides else None
    )
    reporter = Reporter(quiet or as_json or not is_leader())
    result = run(chosen, folder, resume=resume, device=device, reporter=reporter)
    if not is_leader():
        return  # process 0 speaks for all
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
