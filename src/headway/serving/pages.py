"""The page: `index.html` and its other files, from the package."""

import base64
import hashlib
import re
from importlib.resources import files

from fastapi import APIRouter, Response

from headway.serving.failures import RefusedError

router = APIRouter()

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")  # no parent folder, no hidden file
_SCRIPT = re.compile(rb"<script\b([^>]*)>(.*?)</script>", re.DOTALL | re.IGNORECASE)


@router.api_route("/", methods=["GET", "HEAD"])
def page() -> Response:
    """Return the page, with a policy for its scripts."""
    html = static_file("index.html")
    headers = {"Content-Security-Policy": security_policy(html)}
    return Response(html, media_type=_TYPES["html"], headers=headers)


@router.api_route("/static/{path:path}", methods=["GET", "HEAD"])
def static(path: str) -> Response:
    """Return one of the page's files."""
    data = static_file(path)
    return Response(data, media_type=_TYPES.get(path.rpartition(".")[2], "text/plain"))


def static_file(path: str) -> bytes:
    """Return the bytes of a file below `static`; RefusedError for an unknown file."""
    place = files("headway.serving") / "static"
    parts = path.split("/")
    if all(_PART.fullmatch(part) for part in parts):
        place = place.joinpath(*parts)
        if place.is_file():
            return place.read_bytes()
    raise RefusedError(404, f"There is no file '{path[:200]}'.", "Open the page again.")


def security_policy(html: bytes) -> str:
    """Return the Content-Security-Policy of a page: its own files, and its inline scripts by hash.

    >>> security_policy(b"<script>1</script>").count("sha256-")
    1
    """
    inline = [script for attributes, script in _SCRIPT.findall(html) if b"src=" not in attributes]
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in inline)
    hashes = "".join(f" 'sha256-{digest}'" for digest in digests)
    return (
        "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
        f"script-src 'self'{hashes}; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    )
