"""The folder of a new or continued run without --out."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

_RUNS = Path("runs")
_NAME = re.compile(r"[\w-]+")


def named_folder(
    config: Path | None, settings: Sequence[str], *, resume: bool, quiet: bool = False
) -> Path:
    """Return and print the folder of a run, named after its configuration or its languages.

    settings: all chosen settings, such as `data.source_language=en`. Without either, --resume
    continues the only run in `runs` that can go on; ConfigError if several can.
    """
    if config is not None:
        folder = _RUNS / config.stem
    elif name := _languages(settings):
        folder = _RUNS / name
    else:
        folder = _only_run() if resume else _RUNS / "run"
    if not quiet:
        begins = f"Continuing the run in {folder}{_translates(folder)}."
        first = begins if resume else f"The run goes into {folder}."
        print(f"{first} Use --out to choose another folder.", file=sys.stderr)
    return folder


def _languages(settings: Sequence[str]) -> str:
    """Return `en-af`, from and to; empty if a language is unknown or cannot name a folder."""
    parts = [setting.partition("=") for setting in settings]
    chosen = {key.strip(): value.strip(" \"'") for key, _, value in parts}
    names = [chosen.get(f"data.{side}_language", "") for side in ("source", "target")]
    if not all(_NAME.fullmatch(name) for name in names):
        return ""
    return "-".join(names[::-1] if chosen.get("data.reverse") == "true" else names)


def _only_run() -> Path:
    from headway.counted import listed
    from headway.errors import ConfigError

    runs = sorted(path.parent for path in _RUNS.glob("*/config.toml"))
    runs += sorted({path.parent.parent for path in _RUNS.glob("*/seed-*/config.toml")})
    candidates = [folder for folder in runs if not (folder / "report.json").exists()] or runs
    if not candidates:
        return _RUNS / "run"
    if len(candidates) > 1:
        raise ConfigError(
            f"--resume could mean any of {listed(candidates)}.",
            "Name one with --out.",
        )
    return candidates[0]


def _translates(folder: Path) -> str:
    """Return the languages of a run in words; empty without a run, or if they are unset."""
    for path in (folder / "config.toml", *sorted(folder.glob("seed-*/config.toml"))):
        if path.is_file():
            from headway.config.run import load_run_config

            languages = load_run_config(path).data.languages
            return "" if "source" in languages else f", from {' to '.join(languages)}"
    return ""
