"""Bodies of requests for the OpenAPI description, of routes that read them in several forms."""

from typing import Any

_TEXT = {"type": "string"}
_KEY = {"type": ["string", "null"], "description": "The key of the sender, if the server has keys."}


def _body(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """Describe an object that comes as JSON, as a form, or in the query."""
    schema = {"type": "object", "required": required, "properties": properties}
    kinds = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
    content = {kind: {"schema": schema} for kind in kinds}
    return {"requestBody": {"content": content}}


TRANSLATE = _body(
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
DETECT = _body(["q"], q={**_TEXT, "description": "The text."}, api_key=_KEY)
TRANSLATE_FILE = {"requestBody": {"content": {"multipart/form-data": {"schema": {
    "type": "object",
    "required": ["file", "source", "target"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "source": _TEXT,
        "target": _TEXT,
        "api_key": _KEY,
    },
}}}}}  # fmt: skip
SUGGEST = _body(["q", "s", "source", "target"], q=_TEXT, s=_TEXT, source=_TEXT, target=_TEXT)
