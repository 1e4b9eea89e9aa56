"""Writes the tables of the pages `settings.md` from the settings themselves: `make settings`.

The Korean page keeps its own meanings; everything else in its tables is made. A new setting gets
an empty meaning there, which the test refuses.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tests.meta.pages import DOCS, LANGUAGES

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

_PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \|.* \| (.*) \|$", flags=re.MULTILINE)
_KINDS = {bool: "`true`, `false`", str: "text", int: "integer", float: "number"}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_KOREAN = {
    "setting": "설정",
    "default": "기본값",
    "takes": "가능한 값",
    "meaning": "뜻",
    "must be set": "필수",
    "text": "텍스트",
    "integer": "정수",
    "number": "수",
    "tables": "테이블 여러 개",
    "list of texts": "텍스트 목록",
    "preset": "프리셋",
    "differs from base in": "base와 다른 점",
    "millions": "백만 개",
    "in the paper": "논문",
    "and": "그 밖에",
}
_SIZES = ("d_model", "d_ff", "num_heads", "num_encoder_layers", "num_decoder_layers", "dropout")
_PAPER_VOCABULARY = 37_000


def page_of(language: str) -> Path:
    """Return the page of a language."""
    return DOCS / language / "reference" / "settings.md"


def written(language: str, text: str) -> str:
    """Return the text of a page with each table as it must be."""
    return _PLACE.sub(lambda place: f"{place[1]}{_table_of(language, place)}\n{place[3]}", text)


def table_of(text: str, name: str) -> str:
    """Return one table in the text of a page."""
    (table,) = [place[0] for place in _PLACE.finditer(text) if place[2] == name]
    return table


def meanings(text: str) -> dict[str, str]:
    """Return the last cell of each setting in the text of a table."""
    return dict(_ROW.findall(text))


@cache
def tables() -> dict[str, list[Sequence[str]]]:
    """Return the rows of all tables by name, in English, with the head first."""
    sections = {name: _section(field.annotation) for name, field in RunConfig.model_fields.items()}
    return {
        **sections,
        "corpora": _section(CorpusConfig),
        "presets": _presets(),
        "table-3": _rows_of_table_3(),
        "starters": _starters(),
    }


def _table_of(language: str, place: re.Match[str]) -> str:
    """Return one table as it must be; place: where it is on the page, with its present text."""
    head, *rows = tables()[place[2]]
    if language == "ko":
        known = meanings(place[0])
        if head[-1] == "meaning":
            rows = [(*row[:-1], known.get(row[0].strip("`"), "")) for row in rows]
        head, *rows = ([_in_korean(cell) for cell in row] for row in (head, *rows))
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _in_korean(cell: str) -> str:
    """Translate a cell, or the kind of value with which it begins."""
    kind, space, bounds = cell.partition(" ")
    return _KOREAN.get(cell) or _KOREAN.get(kind, kind) + space + bounds


def _section(section: Any) -> list[Sequence[str]]:
    assert issubclass(section, BaseModel)
    return [
        ("setting", "default", "takes", "meaning"),
        *(
            (f"`{name}`", _default(field), _allowed(field), _text(field.description))
            for name, field in section.model_fields.items()
        ),
    ]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be set"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "" if value is None or value in ("", []) else _toml(value)


def _allowed(field: FieldInfo) -> str:
    """Return the kind of value and its bounds, such as `number > 0, ≤ 1`."""
    (kind,) = _kinds(field.annotation)
    bounds = ", ".join(
        f"{sign} {_number(getattr(rule, bound))}"
        for rule in field.metadata
        for bound, sign in _BOUNDS.items()
        if hasattr(rule, bound)
    )
    return f"{kind} {bounds}".strip()


def _kinds(annotation: Any) -> list[str]:
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return [words for kind in kinds for words in _kinds(kind)]
    if get_origin(annotation) is Literal:
        return [", ".join(f"`{value}`" for value in get_args(annotation))]
    if get_origin(annotation) is list:
        (kind,) = get_args(annotation)
        return ["tables"] if issubclass(kind, BaseModel) else ["list of texts"]
    return [_KINDS[annotation]]


def _presets() -> list[Sequence[str]]:
    rows = [
        (
            f"`{name}`",
            *(str(getattr(sizes, size)) for size in _SIZES),
            *_millions(name),
            ", ".join(_training(name)),
        )
        for name, sizes in ARCHITECTURES.items()
    ]
    return [("preset", *_SIZES, "millions", "in the paper", "and"), *rows]


def _rows_of_table_3() -> list[Sequence[str]]:
    rows = [
        (f"`{name}`", ", ".join(_differences(name)), *_millions(name))
        for name in TABLE_3
        if name not in ARCHITECTURES
    ]
    return [("preset", "differs from base in", "millions", "in the paper"), *rows]


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


def _starters() -> list[Sequence[str]]:
    columns = {**STARTER_TRAINING, "--from": FINE_TUNING}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = [(f"`{name}`", *(_toml(column[name]) for column in columns.values())) for name in names]
    return [("setting", *(f"`{name}`" for name in columns)), *rows]


def _text(words: str | None) -> str:
    assert words
    return " ".join(words.split()).replace("|", "\\|")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _toml(value: Any) -> str:
    return f"`{json.dumps(value)}`"


if __name__ == "__main__":
    for language in LANGUAGES:
        page = page_of(language)
        page.write_text(written(language, page.read_text(encoding="utf-8")), encoding="utf-8")
