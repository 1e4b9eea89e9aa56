"""A whole run in one TOML file: recipe, data, tokenizer, model, training, decoding, scores."""

import json
import tomllib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from pydantic import Field

from headway.config.data import DataConfig, TokenizerConfig
from headway.config.decoding import DecodingConfig
from headway.config.evaluation import EvaluationConfig
from headway.config.model import Architecture
from headway.config.presets import architecture, paper_training
from headway.config.section import Section, unknown_key
from headway.config.training import TrainingConfig
from headway.errors import ConfigError, require_type
from headway.home import expanded

_SIZES = ("num_encoder_layers", "num_decoder_layers", "d_model", "d_ff", "num_heads")

_OVERRIDES = "Give a list of texts, such as ['training.seed=1']."


class Recipe(Section):
    """The description of a documented run; nothing here changes the run."""

    name: str = ""
    """Name of the recipe."""
    description: str = ""
    """Task and languages."""
    data_source: str = ""
    """Address of the data."""
    licence: str = ""
    """Licence of the data."""
    expected: str = ""
    """The score that the run must reach."""
    took: str = ""
    """Time and hardware of the run that reached it."""
    examples: list[str] = Field(default_factory=list)
    """Sentences to try, which the explorer offers."""


class RunConfig(Section):
    """All settings of a run; saved with its weights."""

    recipe: Recipe = Recipe()
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: Architecture = Architecture()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @property
    def new_pieces(self) -> list[str]:
        """Return all texts that are never cut: the named ones, and the tags of corpora."""
        return list(dict.fromkeys([*self.tokenizer.new_pieces, *self.data.tags]))


def load_run_config(path: str | Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file and apply `section.key=value` overrides, later ones winning.

    `[model] preset = "tiny"` starts from a preset; other keys of the section change it. A row of
    Table 3 also brings its label smoothing and number of steps.
    """
    require_type("A configuration", path, (str, PathLike, type(None)), "Give the name of a file.")
    require_type("overrides", overrides, (list, tuple), _OVERRIDES)
    for override in overrides:  # checked before the file, because in `--set a.b c` the file is c
        require_type("An override", override, str, _OVERRIDES)
        _check_form(override)
    values = {} if path is None else _read_toml(expanded(path))
    of_file, of_training = (
        dict(table) if isinstance(table := values.get(section), dict) else {}
        for section in ("model", "training")
    )
    for override in overrides:
        _apply(values, override)
    chosen = {override.partition("=")[0].strip() for override in overrides}
    if "model.preset" in chosen and "preset" not in of_file:
        name = str(values["model"]["preset"])
        _check_preset(name, {"model": of_file, "training": of_training}, chosen, path)
    return parse_run_config(values)


def _check_preset(
    name: str, of_file: dict[str, dict[str, Any]], chosen: set[str], path: str | Path | None
) -> None:
    """Refuse a preset for a file that sets every size itself, as the file of a run does.

    Set sizes take precedence over those of a preset, so the preset would have no effect.
    """
    if any(size not in of_file["model"] for size in _SIZES):
        return
    preset, usual = architecture(name).model_dump(), Architecture().model_dump()
    decided = {  # by the preset
        "model": {
            key: value for key, value in preset.items() if key in _SIZES or value != usual[key]
        },
        "training": paper_training(name),
    }
    for section, wanted in decided.items():
        for key, value in wanted.items():
            in_file = of_file[section].get(key, value)
            if in_file != value and f"{section}.{key}" not in chosen:
                raise ConfigError(
                    f"model.preset is to be '{name}', with {key} {value}, but {path} has {key} "
                    f"{in_file}.",
                    f"Remove that from the file, or choose {section}.{key}, too.",
                )


def parse_run_config(values: dict[str, Any]) -> RunConfig:
    """Check plain values; the model's preset is resolved here."""
    model = values.get("model")
    if isinstance(model, dict) and "preset" in model:
        name = str(model["preset"])
        changes = {key: value for key, value in model.items() if key != "preset"}
        values = values | {
            "model": architecture(name).model_dump() | changes,
        }
        training = values.get("training", {})
        if isinstance(training, dict):  # another type is refused below
            values["training"] = paper_training(name) | training
    return RunConfig.parse(values)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        remedy = _remedy(path, "Check the name.")
        raise ConfigError(f"There is no configuration file {path}.", remedy) from None
    except OSError as error:
        raise ConfigError(
            f"The configuration file {path} cannot be read ({error.strerror}).",
            "Check that it is a file and its permissions.",
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"{path} is not UTF-8 text.", _remedy(path, "Save it as UTF-8.")
        ) from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        remedy = _remedy(path, "Mend the line that is named.")
        raise ConfigError(f"{path} is not valid TOML: {error}.", remedy) from None


def _remedy(path: Path, usual: str) -> str:
    """Return the remedy for a file that is not TOML; it may be a text, by its name."""
    if path.suffix == ".toml":
        return usual
    return "A configuration is TOML. Text is named with --source and --target."


def _whole_setting(override: str) -> str:
    """Return the whole form of a setting that lacks its section or its value."""
    key, _, text = override.partition("=")
    for section, default in RunConfig():
        fields = getattr(type(default), "model_fields", {})
        if (field := key.strip().removeprefix(f"{section}.")) in fields:
            return f"Did you mean --set {section}.{field}={text.strip() or 'VALUE'}?"
    return "Write for instance --set training.warmup_steps=8000."


def _check_form(override: str) -> None:
    key, equals, _ = override.partition("=")
    section, dot, field = key.strip().partition(".")
    if not (equals and dot and section and field):
        raise ConfigError(
            f"'{override}' is not of the form section.key=value.", _whole_setting(override)
        )


def _apply(values: dict[str, Any], override: str) -> None:
    key, _, text = override.partition("=")
    section, _, field = key.strip().partition(".")
    if section not in RunConfig.model_fields:
        raise unknown_key(f"'{key.strip()}'", section, list(RunConfig.model_fields))
    table = values.setdefault(section, {})
    if not isinstance(table, dict):
        raise ConfigError(f"'{section}' is {table!r}, but must be a table of settings.")
    fields = type(getattr(RunConfig(), section)).model_fields
    kind = fields[field].annotation if field in fields else None
    table[field] = _parse_value(text.strip(), kind)


def _parse_value(text: str, kind: Any) -> Any:
    """Read a value as TOML; anything else is text, so that names need no quotes."""
    if text == "none" and type(None) in get_args(kind):
        return None
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = table.pop("value")
    if table:  # the text continued on another line, after a value
        return text
    # No setting is a date, but a folder may be named like one, or like a number.
    kinds = (str,) if kind is str else (str, int, float, list)
    return value if isinstance(value, kinds) else text


def dump_run_config(config: RunConfig) -> str:
    """Write the resolved configuration as TOML that `load_run_config` reads back."""
    lines: list[str] = []
    for section, values in config.model_dump().items():
        tables = values.pop("corpora", [])
        lines += [f"[{section}]", *_settings(values), ""]
        for table in tables:
            lines += [f"[[{section}.corpora]]", *_settings(table), ""]
    return "\n".join(lines)


def _settings(values: dict[str, Any]) -> list[str]:
    """Write each setting on a line; None has no TOML form and is the default of its setting."""
    return [f"{key} = {_to_toml(value)}" for key, value in values.items() if value is not None]


def _to_toml(value: Any) -> str:
    """Write one value as JSON, which is also TOML for such values, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
