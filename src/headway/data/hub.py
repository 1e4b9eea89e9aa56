"""Reads pairs from a data set of Hugging Face `datasets`: one in a folder, or one from the hub.

hf://FOLDER                          saved with `save_to_disk`; with splits: ?split=train
hf://OWNER/NAME?name=ko-en&split=train      from the hub, streamed; `name` is its configuration
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from headway.counted import listed
from headway.errors import ConfigError, DataError, MissingExtraError

_SCHEME = "hf://"
_OPTIONS = {"name", "split"}


def is_dataset(source: object) -> bool:
    """Return True if a name of training text means a data set."""
    return isinstance(source, str) and source.startswith(_SCHEME)


def dataset_name(source: str) -> str:
    """Return the folder or the name on the hub of a data set; "" for other training text."""
    return _parse(source)[0] if is_dataset(source) else ""


def rows_of(source: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data set, one at a time.

    Rows have only the columns with these fields if the data set has all of them, because other
    columns may be pictures, which would be decoded.
    """
    place, options = _parse(source)
    datasets = _library(source)
    split = options.get("split")
    try:
        if Path(place).is_dir():
            rows = datasets.load_from_disk(place)
        else:
            rows = datasets.load_dataset(place, options.get("name"), streaming=True)
    except Exception as error:  # the library raises a dozen kinds
        raise DataError(
            f"{source} cannot be opened: {error}",
            "Name a folder written by save_to_disk, or a data set of the hub; "
            "?name=… chooses its configuration.",
        ) from error
    if hasattr(rows, "keys"):  # several splits
        if split not in rows:
            raise ConfigError(
                f"{source} has the splits {listed(rows)}" + (f", not '{split}'." if split else "."),
                f"Choose one, with {_SCHEME}{place}?split={next(iter(rows))}.",
            )
        rows = rows[split]
    elif split:
        raise ConfigError(f"{source} has no splits.", "Leave ?split= out.")
    known = set(rows.column_names or ())  # of a stream they may be unknown
    columns = _columns(fields, known)
    if columns <= known:
        rows = rows.select_columns(sorted(columns))
    try:
        yield from rows
    except Exception as error:
        raise DataError(f"{source} cannot be read: {error}", "Try again, or copy it.") from error


def dataset_digest(source: str, fields: Sequence[str]) -> bytes:
    """Return the SHA-256 of the columns with these fields, whatever files hold the data set."""
    digest = hashlib.sha256()
    for row in rows_of(source, fields):
        text = sorted((name, row[name]) for name in _columns(fields, row) if name in row)
        digest.update(repr(text).encode("utf-8", "surrogatepass"))
    return digest.digest()


def _columns(fields: Sequence[str], known: Collection[str]) -> set[str]:
    """Return the columns with these fields; `translation.en` is a column, or a field of one."""
    return {name if name in known else name.partition(".")[0] for name in fields}


def _parse(source: str) -> tuple[str, dict[str, str]]:
    try:
        address = urlsplit(source)
    except ValueError as error:
        raise ConfigError(
            f"{source} is not an address of a data set ({error}).",
            "Write hf://FOLDER or hf://OWNER/NAME.",
        ) from None
    options = {key: values[-1] for key, values in parse_qs(address.query).items()}
    place = address.netloc + address.path
    if unknown := sorted(set(options) - _OPTIONS):
        raise ConfigError(
            f"{source} has the option '{unknown[0]}'.", "The options are name and split."
        )
    if not place:
        raise ConfigError(f"{source} names no data set.", "Write hf://FOLDER or hf://OWNER/NAME.")
    return place, options


def _library(source: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError.of(
            "datasets", f"Reading {source} needs the library datasets, which is not installed."
        ) from error
    return datasets
