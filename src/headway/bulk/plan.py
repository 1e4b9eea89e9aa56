"""The plan of a bulk translation: its model, options, inputs and shards, in one file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.counted import counted
from headway.decoding.options import SearchOptions
from headway.errors import DataError
from headway.json_text import to_json
from headway.runtime.atomic_files import write_atomically

FORMAT = 1
PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class Input:
    """A file to translate."""

    path: str
    """Absolute."""
    form: str
    """text, jsonl or parquet."""
    size: int
    """Bytes of the file as it is, compressed or not."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of lines of one input."""

    input: int
    """Its place among the inputs."""
    first_line: int
    """The number of lines before it in its input."""
    lines: int
    """Lines, or rows of a Parquet file."""
    offset: int
    """Bytes before it, after decompression."""
    size: int
    """Its bytes, after decompression."""
    sha256: str
    """Of these bytes."""
    first_group: int = 0
    """The number of row groups before it; 0 if the input is not a Parquet file."""
    groups: int = 0
    """Its row groups; 0 if the input is not a Parquet file."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A bulk translation; it never changes."""

    model: str
    """An absolute path, or an address on the hub with its revision."""
    model_sha256: str
    """Of the manifest of the bundle."""
    inputs: tuple[Input, ...]
    shards: tuple[Shard, ...]
    options: SearchOptions
    column: str = ""
    """The field or column to translate; empty for text."""
    into: str = ""
    """The field or column of translations; empty for text."""
    precision: str = "float32"
    engine: str = "auto"
    device: str = "cpu"
    batch_tokens: int = 16384
    split_sentences: bool | None = None
    banned: tuple[str, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    headway: str = ""
    """The version that made the plan."""

    @property
    def form(self) -> str:
        """Return the form of all inputs: text, jsonl or parquet."""
        return self.inputs[0].form

    @property
    def lines(self) -> int:
        """Return the number of all lines."""
        return sum(shard.lines for shard in self.shards)

    @property
    def ending(self) -> str:
        """Return the ending of the names of parts, and of the merged file."""
        return {"text": ".txt", "jsonl": ".jsonl", "parquet": ".parquet"}[self.form]


def write_plan(folder: Path, plan: Plan) -> bool:
    """Write the plan into a new or empty folder; return False if the same plan is there.

    Raises DataError if the folder has another plan or other files, or cannot be made.
    """
    content = to_json({"format": FORMAT, **asdict(plan)}).encode() + b"\n"
    path = folder / PLAN
    if path.exists():
        if path.read_bytes() == content:
            return False
        raise DataError(
            f"{folder} has the plan of another translation, with other "
            f"{_differences(plan, read_plan(folder))}.",
            "Choose another folder with --out.",
        )
    remedy = "Choose a new or empty folder with --out."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(f"{folder} has other files and no plan.", remedy)
        for name in ("claims", "parts", "failures"):
            (folder / name).mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be a folder ({error.strerror}).", remedy) from error
    write_atomically(path, content)
    return True


def read_plan(folder: Path) -> Plan:
    """Return the plan of a folder; DataError if there is none, or it is damaged."""
    path = folder / PLAN
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{folder} has no {PLAN}.", "Make one: headway bulk plan MODEL INPUT... --out FOLDER"
        ) from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Plan again in a new folder.") from None
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise DataError(
            f"{path} is not a plan of this version of Headway.", "Plan again in a new folder."
        )
    try:
        return _plan(values)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is damaged: {error}.", "Plan again in a new folder.") from None


def _plan(values: dict[str, Any]) -> Plan:
    return Plan(
        inputs=tuple(Input(**value) for value in values.pop("inputs")),
        shards=tuple(Shard(**value) for value in values.pop("shards")),
        options=SearchOptions(**values.pop("options")),
        banned=tuple(values.pop("banned")),
        glossary=tuple((source, target) for source, target in values.pop("glossary")),
        **values,
    )


def _differences(plan: Plan, old: Plan) -> str:
    """Return the names of the fields in which two plans differ."""
    names = [
        name for name in Plan.__dataclass_fields__ if getattr(plan, name) != getattr(old, name)
    ]
    return ", ".join(names)


def check_shard(plan: Plan, number: int) -> None:
    """Raise DataError for the number of a shard that the plan does not have."""
    if not 0 <= number < len(plan.shards):
        raise DataError(
            f"There is no shard {number}: the plan has {counted(len(plan.shards), 'shard')}.",
            f"Give a number from 0 to {len(plan.shards) - 1}.",
        )
