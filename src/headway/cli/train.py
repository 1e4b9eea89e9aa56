"""`headway train`: from parallel text to a bundle."""

import functools
import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import AsJson, Debug, Device, Quiet, TrustCode, print_json
from headway.cli.run_folders import named_folder
from headway.cli.run_options import (
    Config,
    Minutes,
    Preset,
    Settings,
    Source,
    StartFrom,
    Target,
    ValidSource,
    ValidTarget,
    check_minutes,
    chosen_settings,
)
from headway.stopping import if_stopped

if TYPE_CHECKING:
    from headway.config.run import RunConfig
    from headway.training.run import RunResult


def train(
    config: Config = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of the run; unset: runs/NAME of CONFIG, or runs/en-af for the languages.",
        ),
    ] = None,
    settings: Settings = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out, bit for bit.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=2, help="Train this many runs, with consecutive seeds."),
    ] = None,
    minutes: Minutes = None,
    source: Source = "",
    target: Target = "",
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    preset: Preset = "",
    start_from: StartFrom = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Train a model on aligned text files.

    Without a CONFIG, the presets tiny and small have training settings for a laptop.
    """
    began = time.monotonic()
    from headway.config.run import load_run_config
    from headway.runtime.memory import prepare_process
    from headway.training.budget import Budget
    from headway.training.distributed import is_leader
    from headway.training.reporting import Reporter
    from headway.training.run import train as run
    from headway.training.seeds import begun_config

    prepare_process()
    check_minutes(minutes, settings or [], seeds)
    sides = {"source": source, "target": target}
    files = sides | {"valid_source": valid_source, "valid_target": valid_target}
    continues = config is None and resume
    overrides = chosen_settings(
        files, preset, settings or [], starter=not (config or resume), start_from=start_from
    )
    silent = quiet or as_json or not is_leader()
    folder = out or named_folder(config, overrides, resume=resume, quiet=silent)
    if continues:
        # A continued run has its own configuration, which only options of this call change.
        config = begun_config(folder) if seeds else folder / "config.toml"
    # Without a configuration, `run` reports that no run exists.
    wanted = not continues or (overrides and config is not None and config.exists())
    chosen = load_run_config(config, overrides) if wanted else None
    if seeds:
        how = {"resume": resume, "device": device, "trust_code": trust_code}
        _train_seeds(chosen, folder, seeds, how, quiet=quiet, json=as_json)
        return
    budget = None if minutes is None else Budget(minutes, began)
    reporter = Reporter(silent)
    result = run(
        chosen,
        folder,
        resume=resume,
        device=device,
        reporter=reporter,
        minutes=budget,
        trust_code=trust_code,
    )
    if is_leader():  # process 0 prints for all
        took = _in_minutes(time.monotonic() - began, minutes)
        _tell(result, took, as_json=as_json, quiet=quiet, trust_code=trust_code)


def _tell(result: "RunResult", took: str, *, as_json: bool, quiet: bool, trust_code: bool) -> None:
    """Print the result of the run, or the command that continues it."""
    folder = result.folder
    if not result.finished:
        typer.echo(_how_to_go_on(result.step, folder, trust_code=trust_code), err=True)
        raise typer.Exit(1)
    if as_json:
        print_json(result.report)
        return
    print(f"Done in {took}: {result.bundle}")
    if not quiet:
        print(_how_to_translate(folder, result.report))


def _in_minutes(seconds: float, requested: float | None) -> str:
    asked_for = "" if requested is None else f", where {requested:g} were asked for"
    return f"{seconds / 60:.1f} minutes{asked_for}"


def _how_to_translate(folder: Path, report: dict[str, Any]) -> str:
    if report.get("start_is_better"):
        start = report["started_from"]["bundle"]
        return f"Translate with the starting model: headway translate {quote(start)} FILE"
    tags = report["tags"]  # a model that was also trained on lines without a tag needs none
    begin = f", whose lines begin with {' or '.join(tags)} and a space" if all(tags) else ""
    return f"Translate with: headway translate {quote(str(folder))} FILE{begin}"


def _train_seeds(
    config: "RunConfig | None",
    out: Path,
    seeds: int,
    how: dict[str, Any],
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Train several runs; print their results, or the command that continues them.

    how: arguments of `headway.training.seeds.train_seeds`.
    """
    from headway.training.reporting import Reporter
    from headway.training.seeds import table, train_seeds

    make = functools.partial(Reporter, quiet or json)
    trusts = " --trust-code" if how["trust_code"] else ""
    again = f"Go on with: headway train --out {quote(str(out))} --seeds {seeds} --resume{trusts}"
    with if_stopped(f"Stopped. {again}", instead=True):
        summary = train_seeds(config, out, seeds, make_reporter=make, **how)
    if summary is None:
        typer.echo(f"Stopped and saved. {again}", err=True)
        raise typer.Exit(1)
    if json:
        print_json(summary)
        return
    for line in table(summary):
        print(line)


def _how_to_go_on(step: int, folder: Path, *, trust_code: bool = False) -> str:
    from headway.training.distributed import is_one_of_several

    program = "torchrun … -m headway" if is_one_of_several() else "headway"
    trusts = " --trust-code" if trust_code else ""
    again = f"{program} train --out {quote(str(folder))} --resume{trusts}"
    return f"Stopped after step {step:,} and saved. Go on with: {again}"
