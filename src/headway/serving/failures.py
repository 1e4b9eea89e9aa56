"""Answers to failed requests: always JSON, with one sentence and a remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from headway.errors import HeadwayError, TraceError
from headway.json_text import to_json

Code = Literal[
    "blank",
    "too-long",
    "sentences",
    "trace-gone",
    "prefix",
    "gold",
    "edit",
    "tensor",
    "beam",
    "other",
]
"""The kind of failure, by which the page chooses its text in the reader's language."""

HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
"""Headers of every answer."""

_SHOWN = 60  # characters of a refused value
_NO_JSON = ("json_invalid", "model_attributes_type", "model_type")
# The allowed values, by pydantic's name of the failure.
_ALLOWED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "string_too_long": "at most {max_length} characters long",
    "string_too_short": "at least {min_length} characters long",
    "string_type": "text",
}
# The kind of failure of a wrong field, by the first part of its name.
_FIELDS: dict[str, Code] = {"beam": "beam", "edits": "edit", "gold": "gold", "prefix": "prefix"}
_FAULT = "Try again; if it stays, the terminal of `headway serve` says where it came from."


class RefusedError(HeadwayError):
    """A request that cannot be answered, with the status of its answer."""

    def __init__(self, status: int, message: str, remedy: str = "", code: Code = "other") -> None:
        """Keep the status and the code with the sentence."""
        super().__init__(message, remedy)
        self.status, self.code = status, code


@contextmanager
def reported_as(code: Code, kind: type[HeadwayError] = HeadwayError) -> Iterator[None]:
    """Give errors of this kind a code, unless they have one."""
    try:
        yield
    except RefusedError:
        raise
    except kind as error:
        raise RefusedError(400, error.message, error.remedy, code) from error


class Json(JSONResponse):
    """Standard JSON, with null for NaN and infinity."""

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        return json_bytes(content)


def json_bytes(content: Any) -> bytes:
    """Write JSON; null replaces a number that is not finite, `?` a lone surrogate."""
    return to_json(content, compact=True).encode(errors="replace")


def error_body(error: HeadwayError) -> dict[str, dict[str, str]]:
    """Return the body of an answer for an error."""
    if isinstance(error, RefusedError):
        code = error.code
    else:
        code = "tensor" if isinstance(error, TraceError) else "other"
    return {"error": {"message": _line(error.message), "remedy": _line(error.remedy), "code": code}}


def failure(status: int, message: str, remedy: str = "", code: Code = "other") -> Json:
    """Return the answer for a failure."""
    return answer_of(RefusedError(status, message, remedy, code))


def answer_of(error: RefusedError) -> Json:
    """Return the answer to a refused request."""
    return Json(error_body(error), error.status)


def answer_failures(
    app: FastAPI, fields: str = "docs/en/reference/serving.md lists all fields."
) -> None:
    """Let the application answer all errors in this form.

    fields: the remedy for a field that is missing or does not exist.
    """
    app.add_exception_handler(HeadwayError, _of_headway)
    app.add_exception_handler(RequestValidationError, partial(_of_validation, fields=fields))
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_anything)


# The handlers are coroutines. Plain functions would run in threads, for which a server that ends
# does not wait.


async def _of_headway(request: Request, error: Exception) -> Json:
    assert isinstance(error, HeadwayError)
    return Json(error_body(error), error.status if isinstance(error, RefusedError) else 400)


async def _of_validation(request: Request, error: Exception, *, fields: str) -> Json:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # The first part is the place of the value: body, query or path. If a value may have several
    # types, pydantic adds each type; the field is enough for a person.
    parts = [str(part) for part in first["loc"][1:]]
    field = ".".join(part for part in parts if part not in ("str", "int") and "[" not in part)
    code = _FIELDS.get(parts[0] if parts else "", "other")
    if first["type"] in _NO_JSON and (first["type"] == "json_invalid" or not field):
        return _no_json()
    if first["type"] == "missing":
        return failure(422, f"{_quoted(field)} is missing.", fields, code)
    if first["type"] == "extra_forbidden":
        return failure(422, f"There is no field '{field}'.", fields)
    allowed = _ALLOWED.get(first["type"])
    if allowed is None:
        problem = f": {first['msg'][:1].lower()}{first['msg'][1:].rstrip('.')}."
    else:
        problem = f", but must be {allowed.format(**first.get('ctx', {}))}."
    return failure(
        422, f"{_quoted(field)} is {_shown(first['input'])}{problem}", "Change it.", code
    )


def _no_json() -> Json:
    return failure(
        422,
        "The body is not a JSON object.",
        "Send one, in UTF-8, with the header Content-Type: application/json.",
    )


def _quoted(field: str) -> str:
    return f"'{field}'" if field else "The body"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


async def _of_http(request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    if error.status_code == 400:  # FastAPI could not read the body at all
        return _no_json()
    if error.status_code == 404:
        return failure(
            404, f"There is no {path}.", "docs/en/reference/serving.md lists the routes."
        )
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "GET, POST")
        answer = failure(405, f"{path} does not take {request.method}.", f"Use {allowed}.")
        answer.headers["Allow"] = allowed
        return answer
    return failure(error.status_code, f"{error.detail}.", "Send one JSON object, in UTF-8.")


async def _of_anything(request: Request, error: Exception) -> Json:
    answer = failure(500, f"{type(error).__name__}: {error}. This is a fault of Headway.", _FAULT)
    answer.headers.update(HEADERS)  # because it does not pass through the middleware
    return answer


def _line(text: str) -> str:
    return " ".join(text.split())
