"""Writes the tables of the page `settings.md` from the settings themselves: `make settings`."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from headway.config.data import CorpusConfig
from headway.config.presets import (
    ARCHITECTURES,
    FINE_TUNING,
    STARTER_TRAINING,
    TABLE_3,
    architecture,
    paper_training,
)
from headway.config.run import RunConfig
from headway.model.accounting import count_parameters
from headway.model.uninitialized import empty_model

PAGE = Path(__file__).parents[2] / "docs" / "en" / "reference" / "settings.md"

_PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
_NUMBERS = {int: "a whole number", float: "a number"}
_BOUNDS = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
_SIZES = ("d_model", "d_ff", "num_heads", "num_encoder_layers", "num_decoder_layers", "dropout")
_PAPER_VOCABULARY = 37_000


@cache
def tables() -> dict[str, str]:
    """Return all tables by name."""
    sections = {name: _section(field.annotation) for name, field in RunConfig.model_fields.items()}
    return {
        **sections,
        "corpora": _section(CorpusConfig),
        "presets": _presets(),
        "table-3": _rows_of_table_3(),
        "starters": _starters(),
    }


def written(text: str) -> str:
    """Return the text of the page with each table as it must be."""
    found = tables()
    return _PLACE.sub(lambda place: f"{place[1]}{found[place[2]]}\n{place[3]}", text)


def table_of(text: str, name: str) -> str:
    """Return one table as it stands in the text of the page."""
    (table,) = [place[0] for place in _PLACE.finditer(text) if place[2] == name]
    return table


def _section(section: Any) -> str:
    assert issubclass(section, BaseModel)
    rows = [
        (f"`{name}`", _default(field), _allowed(field), _text(field.description))
        for name, field in section.model_fields.items()
    ]
    return _table(("setting", "default", "takes", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be set"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "" if value is None or value in ("", []) else _toml(value)


def _allowed(field: FieldInfo) -> str:
    kinds = " or ".join(_kinds(field.annotation))
    bounds = {
        bound: _number(getattr(rule, bound))
        for rule in field.metadata
        for bound in _BOUNDS
        if hasattr(rule, bound)
    }
    if bounds.keys() == {"ge", "le"}:
        return f"{kinds}, {bounds['ge']} to {bounds['le']}"
    words = [_BOUNDS[bound].format(number) for bound, number in bounds.items()]
    return ", ".join(filter(None, [kinds, " and ".join(words)]))


def _kinds(annotation: Any) -> list[str]:
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return [words for kind in kinds for words in _kinds(kind)]
    if get_origin(annotation) is Literal:
        return [", ".join(f"`{value}`" for value in get_args(annotation))]
    if get_origin(annotation) is list:
        (kind,) = get_args(annotation)
        return ["tables"] if issubclass(kind, BaseModel) else ["a list of texts"]
    return [{bool: "`true`, `false`", str: "text", **_NUMBERS}[annotation]]


def _presets() -> str:
    rows = [
        (
            f"`{name}`",
            *(str(getattr(sizes, size)) for size in _SIZES),
            *_millions(name),
            ", ".join(_training(name)),
        )
        for name, sizes in ARCHITECTURES.items()
    ]
    return _table(("preset", *_SIZES, "millions", "in the paper", "and"), rows)


def _rows_of_table_3() -> str:
    rows = [
        (f"`{name}`", ", ".join(_differences(name)), *_millions(name))
        for name in TABLE_3
        if name not in ARCHITECTURES
    ]
    return _table(("preset", "differs from base in", "millions", "in the paper"), rows)


def _millions(name: str) -> tuple[str, str]:
    model = empty_model(architecture(name).with_vocabulary(_PAPER_VOCABULARY), "cpu")
    printed = TABLE_3[name].millions if name in TABLE_3 else None
    return f"{count_parameters(model) / 1e6:.1f}", f"{printed or ''}"


def _differences(name: str) -> Iterator[str]:
    base, own = ARCHITECTURES["base"].model_dump(), architecture(name).model_dump()
    changes = {key: value for key, value in own.items() if value != base[key]}
    for key, value in changes.items():
        yield f"`{key} = {json.dumps(value)}`"
    yield from _training(name)


def _training(name: str) -> Iterator[str]:
    for key, value in paper_training(name).items():
        yield f"`training.{key} = {json.dumps(value)}`"


def _starters() -> str:
    columns = {**STARTER_TRAINING, "--from": FINE_TUNING}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = [(f"`{name}`", *(_toml(column[name]) for column in columns.values())) for name in names]
    return _table(("setting", *(f"`{name}`" for name in columns)), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _text(words: str | None) -> str:
    assert words
    return " ".join(words.split()).replace("|", "\\|")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _toml(value: Any) -> str:
    return f"`{json.dumps(value)}`"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
