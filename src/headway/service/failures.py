"""Answers to failed requests: LibreTranslate's `{"error": "text"}`, or an object (/v1, /api)."""

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from headway.errors import HeadwayError
from headway.serving.failures import HEADERS, Json, RefusedError, answer_failures, error_body

_FIELDS = "/spec lists all routes and their fields."
_WITH_REMEDY = ("/v1/", "/api/")  # Headway's own routes, and the explorer's


class UnavailableError(RefusedError):
    """A request that is refused for now, and may be repeated after some seconds."""

    def __init__(self, status: int, message: str, remedy: str, seconds: float) -> None:
        """Keep the seconds, rounded up, for the header Retry-After."""
        super().__init__(status, message, remedy)
        self.retry_after = max(1, int(-(-seconds // 1)))


def answer_service_failures(app: FastAPI) -> None:
    """Let the application answer every error in the form of its route."""
    answer_failures(app, _FIELDS)  # for the fields of /v1, which FastAPI checks
    app.add_exception_handler(HeadwayError, _of_headway)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_anything)


def answer_for(path: str, error: RefusedError) -> Json:
    """Return the answer to a refused request, in the form of its path."""
    body = error_body(error) if path.startswith(_WITH_REMEDY) else {"error": error.message}
    answer = Json(body, error.status)
    if isinstance(error, UnavailableError):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


async def _of_headway(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadwayError)
    if not isinstance(error, RefusedError):
        error = RefusedError(400, error.message, error.remedy)
    return answer_for(request.url.path, error)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    sentences = {
        404: f"There is no {path}.",
        405: f"{path} does not take {request.method}.",
        400: "The body is no JSON object.",
    }
    refused = RefusedError(
        error.status_code,
        sentences.get(error.status_code, f"{error.detail}."),
        _FIELDS,
    )
    answer = answer_for(path, refused)
    answer.headers.update(error.headers or {})
    return answer


async def _of_anything(request: Request, error: Exception) -> Response:
    sentence = f"{type(error).__name__}: {error}. This is a fault of Headway."
    answer = answer_for(request.url.path, RefusedError(500, sentence, "Report it."))
    answer.headers.update(HEADERS)  # because it does not pass through the middleware
    return answer
