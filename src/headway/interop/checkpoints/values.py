"""Settings of another program, each looked up with a check, and refused by its name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.errors import BundleError, ConfigError

_REMEDY = "Headway imports Transformers of the form that the paper describes."


@dataclass(frozen=True, slots=True)
class Values:
    """The settings in one section of a file."""

    values: Mapping[str, Any]
    path: Path
    section: str = ""
    """The names above these settings, each with a dot behind it: `model.encoder.`."""

    def below(self, name: str) -> "Values":
        """Return the section of this name, empty if it is missing."""
        values = self.get(name, dict, {})
        return Values(values, self.path, f"{self.section}{name}.")

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """Return a value; BundleError if it has another type, or is missing without a default."""
        value = self.values.get(name, default)
        if value is None and default is None:
            raise BundleError(
                f"{self.path} lacks '{self.section}{name}'.", "Give the settings of the training."
            )
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise self.refused(name, f"a value of type {kind.__name__}")
        return value

    def demand(self, required: Mapping[str, Any]) -> None:
        """Raise BundleError for a setting that has neither this value nor none at all."""
        for name, value in required.items():
            given = self.values.get(name)
            if given is not None and given != value:
                raise self.refused(name, f"{value!r}")

    def refused(self, name: str, allowed: str) -> BundleError:
        """Return the error for a value that does not fit."""
        return BundleError(
            f"'{self.section}{name}' in {self.path} is {self.values.get(name)!r:.60}, but must be "
            f"{allowed}.",
            _REMEDY,
        )


def model_config(values: Mapping[str, Any], path: Path) -> ModelConfig:
    """Return the configuration with these values; BundleError names the file of a wrong one."""
    try:
        return ModelConfig.parse(dict(values), "model")
    except ConfigError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None


def decoding_config(values: Mapping[str, Any], path: Path) -> DecodingConfig:
    """Return the settings of the search with these values; BundleError names the file."""
    try:
        return DecodingConfig.parse(dict(values), "decoding")
    except ConfigError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None
