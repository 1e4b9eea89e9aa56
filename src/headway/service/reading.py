"""Reads requests as LibreTranslate's clients send them: JSON, forms, and fields in the query."""

import json
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import UploadFile

from headway.serving.failures import RefusedError

_JSON = re.compile(r"application/(?:[\w.+-]*\+)?json", re.ASCII)
_MOST_FIELDS = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Upload(NamedTuple):
    """A file in a form."""

    name: str
    content: bytes


class Fields:
    """The fields of a request. A value is missing if it is empty, as for LibreTranslate."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Use these values, by name of the field."""
        self._values = values

    def text(self, name: str) -> str:
        """Return a text; RefusedError if it is missing or of another type."""
        value = self._values.get(name)
        if not value:
            raise missing(name)
        return _text(name, value)

    def optional(self, name: str) -> str:
        """Return a text; "" if it is missing or null."""
        value = self._values.get(name)
        return _text(name, value) if value else ""

    def texts(self, name: str) -> str | list[str]:
        """Return a text, or a list of them; RefusedError if it is missing or of another type."""
        value = self._values.get(name)
        if not isinstance(value, list):
            return self.text(name)
        if not value:
            raise missing(name)
        return [_text(name, item) for item in value]

    def upload(self, name: str) -> Upload:
        """Return a file; RefusedError if it is missing, or the field is not a file."""
        value = self._values.get(name)
        if not isinstance(value, Upload):
            raise missing(name)
        return value

    def number(self, name: str, default: int) -> int:
        """Return a whole number, which may be written as text; the default if it is missing."""
        value = self._values.get(name)
        value = default if value in (None, "") else value
        try:
            whole = int(value) if isinstance(value, str | int | float) else None
        except (ValueError, OverflowError):
            whole = None
        if whole is None or isinstance(value, bool) or (isinstance(value, float) and value % 1):
            raise RefusedError(400, f"Invalid request: {name} parameter is not a number")
        return whole


def missing(name: str) -> RefusedError:
    """Return LibreTranslate's error for a missing field."""
    return RefusedError(400, f"Invalid request: missing {name} parameter")


async def read_fields(request: Request, body_limit: int) -> Fields:
    """Read the fields of a JSON object, or else of the query and the form.

    A repeated `q` becomes a list. body_limit: the most bytes of a field, which is that of a body.
    """
    if _JSON.match(request.headers.get("content-type", "").strip().lower()):
        return Fields(_json_object(await request.body()))
    pairs: list[tuple[str, Any]] = [*_pairs(request.scope["query_string"])]
    if request.method == "POST":
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_plain = kind == "application/x-www-form-urlencoded"
        form = _pairs(await request.body()) if is_plain else await _form(request, body_limit)
        pairs += [(name, _without_returns(value)) for name, value in form]
    return Fields(_by_name(pairs))


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    """Return the fields of a query, or of a form that is encoded like a query.

    Letters beyond ASCII may be plain UTF-8, as `curl -d` sends them. Starlette would read their
    bytes as Latin-1.
    """
    try:
        return parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:
        raise RefusedError(400, "Invalid request: the form cannot be read") from error


async def _form(request: Request, body_limit: int) -> list[tuple[str, Any]]:
    """Return names with texts or uploads."""
    try:
        form = await request.form(
            max_fields=_MOST_FIELDS, max_files=_MOST_FIELDS, max_part_size=body_limit
        )
    except Exception as error:  # any error of the parser, for bytes that are not a form
        raise RefusedError(400, "Invalid request: the form cannot be read") from error
    try:
        return [
            (name, value if isinstance(value, str) else await _upload(value))
            for name, value in form.multi_items()
        ]
    finally:
        await form.close()


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "Invalid JSON format") from error
    if not isinstance(values, dict):
        raise RefusedError(400, "Invalid JSON format")
    return values


async def _upload(value: UploadFile) -> Upload:
    return Upload(value.filename or "", await value.read())


def _without_returns(value: Any) -> Any:
    """Return a text of a form without the carriage returns that a browser adds at line ends."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def _by_name(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the first value of each name; for `q`, all values."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        values.setdefault(name, value)
    texts = [value for name, value in pairs if name == "q"]
    if len(texts) > 1:
        values["q"] = texts
    return values


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise RefusedError(400, f"Invalid request: {name} parameter is not a string")
    if surrogate := _SURROGATE.search(value):
        code = f"U+{ord(surrogate[0]):04X}"
        raise RefusedError(
            400, f"Invalid request: {name} parameter has the surrogate {code}, which is no text"
        )
    return value
