"""The OpenAPI description of the bodies of requests and answers that FastAPI cannot derive.

Each constant is the `openapi_extra` of a route in FastAPI.
"""

from typing import Any

Described = dict[str, Any]

_TEXT: Described = {"type": "string"}
_TRUTH: Described = {"type": "boolean"}
_KEY = {"type": ["string", "null"], "description": "The key of the sender, if the server has keys."}

_STATUSES = {
    400: "A wrong field, an unknown language, a text over a limit, or a missing key.",
    403: "A wrong key, a foreign Origin, or something that is turned off.",
    408: "The body did not arrive in time.",
    413: "The body is over the limit.",
    421: "A foreign Host.",
    429: "Too many texts or requests. Retry-After tells how long to wait.",
    500: "A fault of Headway.",
    503: "A model is starting, or the server is ending. Retry-After tells how long to wait.",
    504: "The deadline has passed.",
}
_OWN_STATUSES = {
    401: "A missing key.",
    404: "An unknown model.",
    422: "A wrong field.",
}


def _list(item: Described) -> Described:
    return {"type": "array", "items": item}


def _object(**properties: Described) -> Described:
    """Describe an object that has these properties, and may have others."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _body(required: list[str], **properties: Described) -> Described:
    """Describe an object that comes as JSON, as a form, or in the query."""
    schema = {"type": "object", "required": required, "properties": properties}
    kinds = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
    content = {kind: {"schema": schema} for kind in kinds}
    return {"requestBody": {"content": content}}


def _answer(schema: Described, kind: str = "application/json", status: int = 200) -> Described:
    content = {"description": "The answer.", "content": {kind: {"schema": schema}}}
    return {"responses": {str(status): content}}


def _errors(statuses: dict[int, str], schema: Described) -> dict[int | str, Described]:
    content = {"application/json": {"schema": _object(error=schema)}}
    return {
        status: {"description": meaning, "content": content} for status, meaning in statuses.items()
    }


ERRORS = _errors(_STATUSES, _TEXT)
"""The answers to failed requests in LibreTranslate's form, by status."""
OWN_ERRORS = _errors(
    _STATUSES | _OWN_STATUSES, _object(message=_TEXT, remedy=_TEXT, code=_TEXT)
)  # fmt: skip
"""The answers to failed requests under /v1, by status."""

_DETECTION = _object(
    confidence={"type": "integer", "minimum": 0, "maximum": 100}, language=_TEXT
)  # fmt: skip
_TRANSLATED = _object(translatedText={"oneOf": [_TEXT, _list(_TEXT)]})
_TRANSLATED["properties"] |= {
    "detectedLanguage": {"oneOf": [_DETECTION, _list(_DETECTION)]},
    "alternatives": _list({"oneOf": [_TEXT, _list(_TEXT)]}),
}
TRANSLATE = _answer(_TRANSLATED) | _body(
    ["q", "source", "target"],
    q={
        "oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}],
        "description": "A text, or a list of texts.",
    },
    source={**_TEXT, "description": "The code of the language, or auto."},
    target={**_TEXT, "description": "The code of the language to translate to."},
    format={**_TEXT, "enum": ["text", "html"], "default": "text"},
    alternatives={
        "type": "integer",
        "default": 0,
        "description": "The number of other translations to return.",
    },
    api_key=_KEY,
)
DETECT = _answer(_list(_DETECTION)) | _body(
    ["q"], q={**_TEXT, "description": "The text."}, api_key=_KEY
)
LANGUAGES = _answer(_list(_object(code=_TEXT, name=_TEXT, targets=_list(_TEXT))))
_LANGUAGE = _object(code=_TEXT, name=_TEXT)
FRONTEND_SETTINGS = _answer(_object(
    apiKeys=_TRUTH,
    charLimit={"type": "integer"},
    filesTranslation=_TRUTH,
    frontendTimeout={"type": "integer"},
    keyRequired=_TRUTH,
    language=_object(source=_LANGUAGE, target=_LANGUAGE),
    suggestions=_TRUTH,
    supportedFilesFormat=_list(_TEXT),
))  # fmt: skip
TRANSLATE_FILE = _answer(_object(translatedFileUrl=_TEXT)) | {
    "requestBody": {"content": {"multipart/form-data": {"schema": {
        "type": "object",
        "required": ["file", "source", "target"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "source": _TEXT,
            "target": _TEXT,
            "api_key": _KEY,
        },
    }}}}
}  # fmt: skip
DOWNLOAD_FILE: Described = _answer(
    {"type": "string", "format": "binary"}, "application/octet-stream"
) | {"parameters": [{"name": "name", "in": "path", "required": True, "schema": _TEXT}]}
DOWNLOAD_FILE["responses"] |= _errors({404: "The file is not here any more."}, _TEXT)
SUGGEST = _body(["q", "s", "source", "target"], q=_TEXT, s=_TEXT, source=_TEXT, target=_TEXT)

_MAYBE_TEXT: Described = {"type": ["string", "null"]}
MODELS = _answer(_object(models=_list(_object(
    name=_TEXT, source=_MAYBE_TEXT, target=_MAYBE_TEXT, ready=_TRUTH, checksum=_MAYBE_TEXT,
    description=_MAYBE_TEXT,
))))  # fmt: skip
_ITEM = _object(text=_TEXT, flags=_list(_TEXT))
_REFUSED = _object(error=_object(message=_TEXT, remedy=_TEXT, code=_TEXT))
OWN_TRANSLATE = _answer(_object(
    model={"oneOf": [{"type": "null"}, _object(name=_TEXT, checksum=_TEXT)]},
    translations=_list({"oneOf": [_ITEM, _REFUSED]}),
))  # fmt: skip
OWN_TRANSLATE["responses"]["200"]["content"]["text/event-stream"] = {"schema": _TEXT}

HEALTH = _answer(_object(status=_TEXT))
HEALTH["responses"] |= _answer(_object(status=_TEXT), status=503)["responses"]
METRICS = _answer(_TEXT, "text/plain")
