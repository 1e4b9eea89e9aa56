"""Options that `headway train` and `headway check` share: those that describe a run."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None, typer.Argument(metavar="CONFIG.toml", help="A configuration or recipe.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="a.b=c",
        help="Change one setting (docs/en/reference/settings.md); may be repeated.",
    ),
]
Source = Annotated[str, typer.Option("--source", help="Training text, source side.")]
Target = Annotated[str, typer.Option("--target", help="Training text, target side.")]
ValidSource = Annotated[str, typer.Option(help="Validation text, source side.")]
ValidTarget = Annotated[str, typer.Option(help="Validation text, target side.")]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        help="tiny, small, base, big, student or a row of Table 3; unset: tiny; with CONFIG base.",
    ),
]
StartFrom = Annotated[
    str,
    typer.Option(
        "--from", metavar="MODEL", help="Fine-tune: start from the weights of a bundle or run."
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        "--minutes",
        metavar="N",
        help="Choose steps, warm-up and validations so that the whole command takes N minutes.",
    ),
]


def check_minutes(minutes: float | None, settings: Sequence[str], seeds: int | None = None) -> None:
    """Raise ConfigError for settings that --minutes chooses itself, and for --seeds."""
    if minutes is None:
        return
    from headway.errors import ConfigError
    from headway.training.budget import DECIDED

    chosen = [setting.partition("=")[0].strip() for setting in settings]
    if set_twice := [key for key in chosen if key.removeprefix("training.") in DECIDED]:
        raise ConfigError(
            f"--minutes chooses {set_twice[0]} by the speed of this machine, but --set also sets "
            "it.",
            "Leave one of the two out.",
        )
    if seeds is not None:
        raise ConfigError(
            "--minutes is for one run: with --seeds each run would have other steps.",
            "Train once with --minutes, then train OUT/config.toml with --seeds.",
        )


def chosen_settings(
    files: Mapping[str, str],
    preset: str,
    settings: Sequence[str],
    *,
    starter: bool,
    start_from: str = "",
) -> list[str]:
    """Return all choices of the command line as settings, `a.b=c`.

    files: names by setting of [data]. starter: without a configuration, a small preset or
    fine-tuning has its own training settings.
    """
    from headway.config.presets import FINE_TUNING, STARTER_TRAINING
    from headway.training.languages import language_ending

    named: dict[str, object] = {
        "data.source_language": language_ending(files["source"]),
        "data.target_language": language_ending(files["target"]),
        **{f"data.{key}": name for key, name in files.items()},
        "model.preset": preset,
        "training.start_from": start_from,
    }
    if starter:
        named["model.preset"] = preset or ("" if start_from else "tiny")
        training = FINE_TUNING if start_from else STARTER_TRAINING.get(preset or "tiny", {})
        named |= {f"training.{key}": value for key, value in training.items()}
    return [
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in named.items() if value
    ] + [*settings]
