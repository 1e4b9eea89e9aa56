"""Requests in the shapes that clients of LibreTranslate send, right ones and wrong ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlencode


@dataclass(frozen=True)
class Recorded:
    """A request, by its method, path with query, type of content and body."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = ""

    def __str__(self) -> str:
        shown = self.body.decode("utf-8", "backslashreplace").replace("\r\n", "|")[:160]
        return f"{self.method} {self.path} {self.content_type.partition(';')[0]} {shown}".strip()


def as_json(path: str, value: Any, method: str = "POST") -> Recorded:
    return Recorded(method, path, json.dumps(value).encode(), "application/json")


def as_form(path: str, value: dict[str, Any]) -> Recorded:
    body = urlencode(value, doseq=True).encode()
    return Recorded("POST", path, body, "application/x-www-form-urlencoded")


def as_query(path: str, value: dict[str, Any], method: str = "POST") -> Recorded:
    return Recorded(method, f"{path}?{urlencode(value, doseq=True)}")


def as_multipart(
    path: str, fields: dict[str, str], file: tuple[str, bytes] | None = None
) -> Recorded:
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if file is not None:
        name, content = file
        head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'
        parts.append(f"--x\r\n{head}Content-Type: text/plain\r\n\r\n".encode() + content + b"\r\n")
    body = b"".join(parts) + b"--x--\r\n"
    return Recorded("POST", path, body, "multipart/form-data; boundary=x")


def requests(text: str, source: str, target: str) -> Iterator[Recorded]:
    """Yield the requests; text: in the source language."""
    good = {"q": text, "source": source, "target": target}
    for send in (as_json, as_form, as_query, as_multipart):
        yield send("/translate", good)
        yield send("/translate", good | {"format": "html", "q": f"<p>{text}</p>"})
        yield send("/translate", good | {"source": "auto"})
        yield send("/translate", good | {"api_key": ""})
        yield send("/translate", good | {"alternatives": "3"})
        for missing in good:
            yield send("/translate", {name: good[name] for name in good if name != missing})
        for field, value in product(good, ("zz", "")):
            if field != "q" or not value:
                yield send("/translate", good | {field: value})
        for wrong in ({"format": "xml"}, {"format": ""}, {"alternatives": "x"}):
            yield send("/translate", good | wrong)
        yield send("/detect", {"q": text})
        yield send("/detect", {"q": ""})
        yield send("/detect", {"text": text})
        yield send("/suggest", good | {"s": "word"})
    several = [text, text + " " + text, "", "123"]
    lines = f"{text}\n\n{text}\n"
    for q in (several, [text], [], [""], ["."], "   ", "...", "42", text * 3, lines):
        yield as_json("/translate", good | {"q": q})
        yield as_json("/translate", good | {"q": q, "source": "auto"})
        yield as_json("/detect", {"q": q})
    yield as_form("/translate", good | {"q": [text, text]})
    yield as_query("/translate", good | {"q": [text, text]})
    for alternatives in (0, 1, 2, -1, None, 2.5, "", True):
        yield as_json("/translate", good | {"alternatives": alternatives})
        yield as_json("/translate", good | {"alternatives": alternatives, "q": [text, text]})
    for form in ("html", "text", None, "HTML", 5):
        yield as_json("/translate", good | {"format": form})
    yield as_json("/translate", good | {"format": "html", "alternatives": 2})
    for key in (None, "wrong", 5):
        yield as_json("/translate", good | {"api_key": key})
    for q in (None, 5, {"a": 1}, [1], [None], [[text]], True):
        yield as_json("/translate", good | {"q": q})
    for code in (source.upper(), None, 5, ["en"]):
        yield as_json("/translate", good | {"source": code})
        yield as_json("/translate", good | {"target": code})
    yield as_json("/translate", good | {"target": "auto"})
    yield as_json("/translate", good | {"source": source, "target": source})
    yield as_json("/translate", good | {"source": target, "target": target})
    yield as_json("/translate", good | {"source": target, "target": source})
    yield as_json("/translate", good | {"unknown": "field"})
    for body in (b"", b"{", b"[]", b"null", b'"text"', b"{}", b"\xff"):
        yield Recorded("POST", "/translate", body, "application/json")
        yield Recorded("POST", "/detect", body, "application/json")
    yield Recorded("POST", "/translate", json.dumps(good).encode(), "text/plain")
    yield Recorded("POST", "/translate", json.dumps(good).encode())
    for method, path in product(
        ("GET", "PUT", "DELETE"), ("/translate", "/detect", "/suggest", "/translate_file")
    ):
        yield Recorded(method, path)
    for path in ("/languages", "/frontend/settings", "/spec", "/nothing", "/languages/", "/health"):
        yield Recorded("GET", path)
    yield Recorded("POST", "/languages")
    two = {"source": source, "target": target}
    yield as_multipart("/translate_file", two, ("a.txt", text.encode()))
    yield as_multipart("/translate_file", two, ("a.html", f"<p>{text}</p>".encode()))
    yield as_multipart("/translate_file", two, ("a.xyz", text.encode()))
    yield as_multipart("/translate_file", two, ("", text.encode()))
    yield as_multipart("/translate_file", two)
    yield as_multipart("/translate_file", {"source": source}, ("a.txt", text.encode()))
    yield as_multipart("/translate_file", two | {"target": "zz"}, ("a.txt", text.encode()))
    for name in ("none.txt", "..%2f..%2fetc%2fpasswd", "%00", "a" * 300):
        yield Recorded("GET", f"/download_file/{name}")
