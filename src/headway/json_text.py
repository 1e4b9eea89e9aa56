"""Standard JSON, which has neither NaN nor infinity: they are written as null."""

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any, *, indent: int | None = None, compact: bool = False) -> str:
    """Write plain values as JSON; a number that is not finite is null.

    indent: as in `json.dumps`. compact: without blanks.

    >>> to_json({"loss": float("nan"), "scores": (1.5, 2)})
    '{"loss": null, "scores": [1.5, 2]}'
    """
    separators = (",", ":") if compact else None
    try:
        return _dump(value, indent, separators)
    except ValueError:
        return _dump(_finite(value), indent, separators)


def _dump(value: Any, indent: int | None, separators: tuple[str, str] | None) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
