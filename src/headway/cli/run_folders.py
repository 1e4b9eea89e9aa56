"""Which folder a run goes into, or is continued in, where --out does not say."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

_RUNS = Path("runs")
_NAME = re.compile(r"[\w-]+")


def named_folder(
    config: Path | None, settings: Sequence[str], *, resume: bool, quiet: bool = False
) -> Path:
    """Return the folder of a run that is named by its configuration or its languages, and say it.

    settings: all that is chosen, `data.source_language=en` among them. Where a run is to be
    continued of which nothing is known, it is the only one in `runs` that can be. ConfigError where
    there are several.
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
    """Return `en-af`, from and to, or nothing where a language is not known or is no name."""
    parts = [setting.partition("=") for setting in settings]
    chosen = {key.strip(): value.strip(" \"'") for key, _, value in parts}
    names = [chosen.get(f"data.{side}_language", "") for side in ("source", "target")]
    if not all(_NAME.fullmatch(name) for name in names):
        return ""
    return "-".join(names[::-1] if chosen.get("data.reverse") == "true" else names)


def _only_run() -> Path:
    from headway.errors import ConfigError

    begun = sorted(path.parent for path in _RUNS.glob("*/config.toml"))
    begun += sorted({path.parent.parent for path in _RUNS.glob("*/seed-*/config.toml")})
    candidates = [folder for folder in begun if not (folder / "report.json").exists()] or begun
    if not candidates:
        return _RUNS / "run"
    if len(candidates) > 1:
        raise ConfigError(
            f"--resume could mean any of {', '.join(map(str, candidates))}.",
            "Name one with --out.",
        )
    return candidates[0]


def _translates(folder: Path) -> str:
    """Return the languages of a run as words; nothing where there is no run, or they are unset."""
    for path in (folder / "config.toml", *sorted(folder.glob("seed-*/config.toml"))):
        if path.is_file():
            from headway.config.run import load_run_config

            languages = load_run_config(path).data.languages
            return "" if "source" in languages else f", from {' to '.join(languages)}"
    return ""
