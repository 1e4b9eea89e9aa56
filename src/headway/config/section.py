"""The base of every section of a configuration: frozen, strict, and clear about mistakes."""

from typing import Any, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from headway.errors import ConfigError, suggest


class Section(BaseModel):
    """A frozen group of settings; an unknown key or a wrong type is a ConfigError."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _check_numbers(cls, values: Any) -> Any:
        """Refuse numbers that nothing counts with, whichever setting it is."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, int) and abs(value) >= 2**63:
                raise ConfigError(f"'{name}' does not fit into 64 bits.", "Give a smaller number.")
        return values

    @classmethod
    def parse(cls, values: dict[str, Any], where: str = "") -> Self:
        """Check plain values, as TOML or JSON gives them, and return the section.

        Raises ConfigError that names the key, what was given, what is allowed, and for an unknown
        key the nearest one.
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
    path = [str(part) for part in first["loc"]]
    name = ".".join(([where] if where else []) + path)
    if first["type"] == "extra_forbidden":
        return unknown_key(name, path[-1], _fields_at(section, path[:-1]))
    if first["type"] == "missing":
        return ConfigError(f"'{name}' is missing.", "Set it in the configuration.")
    if first["type"] == "value_error":
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            return cause
    problem = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    given = first["input"]
    way = "--set"
    if first["type"] == "list_type":
        problem, way = "a list", f'--set \'{name}=["one", "two"]\''
    return ConfigError(
        f"'{name}' is {given!r} ({type(given).__name__}), but must be {problem}.",
        f"Change it in the configuration or with {way}.",
    )


def unknown_key(name: str, key: str, known: list[str]) -> ConfigError:
    """Return the error for a key that no setting has."""
    return ConfigError(f"There is no setting '{name}'.", suggest(key, known))


def _fields_at(section: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        if part.isdigit():
            continue  # the place in a list of sections
        annotation = section.model_fields[part].annotation
        if get_origin(annotation) is list:
            annotation = get_args(annotation)[0]
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            section = annotation
    return list(section.model_fields)
