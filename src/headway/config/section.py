"""The base of every section of a configuration: frozen, strict, and clear about mistakes."""

import os
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from headway.errors import ConfigError, suggest

_TOO_LARGE = "too_large"  # our type of error, in the terms of pydantic


PathText = Annotated[str, AfterValidator(os.path.expanduser)]
"""The name of a file or folder; a leading `~` is the home folder."""


class Section(BaseModel):
    """A frozen group of settings; an unknown key or a wrong type is a ConfigError."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    shorthands: ClassVar[tuple[str, ...]] = ()
    """Keys that are replaced by settings before the section is checked."""

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, values: Any) -> Any:
        """Refuse numbers that are too large for any setting."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, int) and abs(value) >= 2**63:
                raise PydanticCustomError(_TOO_LARGE, "{name}", {"name": name})
        return values

    @classmethod
    def parse(cls, values: dict[str, Any], where: str = "") -> Self:
        """Check plain values, as TOML or JSON gives them, and return the section.

        Raises ConfigError that names the key, the value and the allowed values, or for an unknown
        key the nearest key.
        """
        try:
            return cls.model_validate(values, strict=True)
        except ValidationError as error:
            raise _explain(cls, error, where) from None

    def replace(self, changes: dict[str, Any]) -> Self:
        """Return a copy with some settings changed, checked again."""
        return self.parse(self.model_dump() | changes)


def _explain(section: type[BaseModel], error: ValidationError, where: str) -> ConfigError:
    first = error.errors()[0]
    path = [*([where] if where else []), *first["loc"]]
    if first["type"] == _TOO_LARGE:
        large = _named([*path, first["msg"]])
        return ConfigError(f"{large} does not fit into 64 bits.", "Give a smaller number.")
    name = _named(path)
    if first["type"] == "extra_forbidden":
        key = str(path[-1])
        known = _fields_at(section, first["loc"][:-1])
        return unknown_key(name, key, known, _sections_with(section, key))
    begin = name[:1].upper() + name[1:]
    if first["type"] == "missing":
        return ConfigError(f"{begin} is missing.", "Set it in the configuration.")
    if first["type"] == "value_error":
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            return cause
    problem = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    value = first["input"]
    # An entry of a list cannot be set by itself.
    way = "" if any(isinstance(part, int) for part in path) else " or with --set"
    remedy = f"Change it in the configuration{way}."
    if first["type"] == "list_type":
        problem, key = "a list", ".".join(map(str, path))
        if isinstance(value, dict):
            remedy = f"Write [[{key}]] over each of its entries, where [{key}] is one table."
        elif way:
            remedy = f'Change it in the configuration{way} \'{key}=["one", "two"]\'.'
    return ConfigError(
        f"{begin} is {value!r} ({type(value).__name__}), but must be {problem}.", remedy
    )


def _named(path: Iterable[str | int]) -> str:
    """Return the name of a setting in quotes, with entries of lists counted from 1 in words."""
    words, keys = "", list[str]()
    for part in path:
        if isinstance(part, int):
            words = f"entry {part + 1} of {_of(keys, words)}"
            keys = []
        else:
            keys.append(part)
    return _of(keys, words)


def _of(keys: Sequence[str], words: str) -> str:
    if not keys:
        return words
    name = f"'{'.'.join(keys)}'"
    return f"{name} in {words}" if words else name


def unknown_key(
    name: str, key: str, known: list[str], elsewhere: Sequence[str] = ()
) -> ConfigError:
    """Return the error for an unknown key; name: the key with its section, in quotes.

    elsewhere: settings with this key in other sections.
    """
    if elsewhere:
        return ConfigError(f"There is no setting {name}.", suggest(elsewhere[0], elsewhere))
    remedy, path = suggest(key, known), name.split("'")[1]
    if path.endswith(f".{key}"):  # a suggestion is a whole name, which can be copied
        remedy = remedy.replace(" '", f" '{path.removesuffix(key)}")
    return ConfigError(f"There is no setting {name}.", remedy)


def _sections_with(section: type[BaseModel], key: str) -> list[str]:
    """Return the settings with this key in the sections of a section."""
    return [
        f"{name}.{key}"
        for name, field in section.model_fields.items()
        if isinstance(field.annotation, type)
        and issubclass(field.annotation, Section)
        and key in {*field.annotation.model_fields, *field.annotation.shorthands}
    ]


def _fields_at(section: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    for part in path:
        if isinstance(part, int):
            continue  # an index in a list of sections
        annotation = section.model_fields[part].annotation
        if get_origin(annotation) is list:
            annotation = get_args(annotation)[0]
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            section = annotation
    return list(section.model_fields)
