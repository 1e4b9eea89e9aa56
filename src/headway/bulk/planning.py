"""Make the plan of a bulk translation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import headway
from headway.bulk.inputs import inputs_of, parquet_file, shards_of_input
from headway.bulk.plan import Input, Plan
from headway.data.compression import compression
from headway.decoding.build_engine import computed_by
from headway.decoding.glossary import Glossary
from headway.decoding.options import changed_options
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, DataError, suggest
from headway.hub import hub_address
from headway.saved_bundle import find_bundle, read_bundle

if TYPE_CHECKING:
    from headway.decoding.build_engine import PrecisionName

_MANY = 50
"""Shards of a compressed input, each of which reads half of the file on average."""


def make_plan(
    model: Path,
    paths: Sequence[Path],
    *,
    shard_lines: int,
    column: str | None,
    into: str,
    search: Mapping[str, Any],
    glossary: Path | None,
    precision: str,
    device: str,
    trust_code: bool = False,
    **same: Any,
) -> Plan:
    """Read the inputs once, and return the plan.

    column: the field or column to translate; None for text. into: the one that translations get.
    search: changes of the model's own search options. precision: "auto" becomes the one that is
    fastest here, for all workers. same: further fields of the plan.
    """
    inputs = inputs_of(paths)
    _check_column(inputs, column, into)
    translator = TextTranslator.load(
        model,
        device,
        engine=same["engine"],
        precision=cast("PrecisionName", precision),  # `load` checks the names
        trust_code=trust_code,
    )
    terms: tuple[tuple[str, str], ...] = ()
    if glossary is not None:
        known = Glossary.read(glossary)
        translator.requests.check_glossary(known)
        terms = tuple(known.entries.items())
    saved = read_bundle(model, mapped=True)
    return Plan(
        model=str(model) if hub_address(model) else str(find_bundle(model).absolute()),
        model_sha256=saved.checksum,
        inputs=inputs,
        shards=tuple(
            shard
            for number, entry in enumerate(inputs)
            for shard in shards_of_input(number, entry, shard_lines)
        ),
        options=changed_options(translator.options, search),
        column=column or "",
        into=into if column else "",
        precision=computed_by(translator.engine).split(", ")[-1],
        device=device,
        glossary=terms,
        headway=headway.__version__,
        **same,
    )


def slow_to_read(plan: Plan) -> str:
    """Return the path of a compressed input with so many shards that reading costs much, or ""."""
    counts = Counter(shard.input for shard in plan.shards)
    return next(
        (
            entry.path
            for number, entry in enumerate(plan.inputs)
            if compression(entry.path) and counts[number] > _MANY
        ),
        "",
    )


def _check_column(inputs: Sequence[Input], column: str | None, into: str) -> None:
    """Raise ConfigError for a column that the inputs cannot have, or that is missing."""
    form, name = inputs[0].form, Path(inputs[0].path).name
    if form == "text":
        if column is not None:
            raise ConfigError(
                f"{name} is text and has no column '{column}'.",
                "Leave out --column, or give .jsonl or .parquet.",
            )
        return
    if column is None:
        raise ConfigError(
            f"It is not known which column of {name} to translate.", "Name it with --column."
        )
    if form == "jsonl":
        return  # each line is checked when it is translated
    for entry in inputs:
        known = parquet_file(entry.path).schema_arrow
        if column not in known.names:
            raise DataError(f"{entry.path} has no column '{column}'.", suggest(column, known.names))
        if into in known.names:
            raise DataError(
                f"{entry.path} already has a column '{into}'.", "Name another with --into."
            )
