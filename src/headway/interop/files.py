"""Read small files of a model, whose size and form are not trusted."""

import json
from pathlib import Path
from typing import Any

from headway.data.tokenizer import kind_of_model
from headway.errors import BundleError, TokenizerError

_LARGEST = 2**25  # bytes; vocabularies of 250,000 pieces have a fifth of it

COPY_AGAIN = "Copy the folder again."


def read_bytes(path: Path, largest: int = _LARGEST) -> bytes:
    """Return the content of a file; BundleError if it is missing or too large."""
    if not path.is_file():
        problem = "is not a file" if path.exists() else "is missing"
        raise BundleError(f"{path} {problem}.", COPY_AGAIN)
    try:
        if (size := path.stat().st_size) > largest:
            raise BundleError(
                f"{path} has {size:,} bytes; at most {largest:,} are read.", "Check the file."
            )
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror})."
        raise BundleError(message, "Check its permissions.") from None


def read_sentencepiece(path: Path) -> bytes:
    """Return the content of a SentencePiece model; BundleError for any other file."""
    data = read_bytes(path)
    try:
        kind_of_model(data)
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None
    return data


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; BundleError for any other content."""
    try:
        values = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise BundleError(f"{path} is not a JSON object.", COPY_AGAIN)
    return values


def read_json_if_there(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, empty if there is no file."""
    return read_json(path) if path.exists() else {}


def read_card(folder: Path, kind: str) -> str:
    """Return the README of a folder, which names its licence, below a line on its origin."""
    path = folder / "README.md"
    text = read_bytes(path).decode("utf-8", "replace") if path.is_file() else ""
    return "\n\n".join([f"Imported by Headway from {kind}.", *([text] if text else [])])
