"""Requests that no client should send, by Hypothesis: broken bytes, odd values, all kinds of files.

About half of the requests with fields have what a right one needs, so that the odd values come past
the first checks.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_from_bytes

from hypothesis import strategies as st

Strategy = st.SearchStrategy


@dataclass(frozen=True)
class Strange:
    """A request, by its method, path with query, body and headers."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        kind = self.headers.get("Content-Type", "")
        return f"{self.method} {self.path[:120]} {kind[:60]} {self.body[:300]!r}".strip()


def _mostly(usual: str, others: Sequence[str]) -> Strategy[str]:
    return st.integers(0, 5).flatmap(
        lambda drawn: st.just(usual) if drawn else st.sampled_from(others)
    )


_POST = ["/translate", "/detect", "/suggest", "/translate_file", "/v1/translate"]
_GET = [
    "/languages", "/frontend/settings", "/v1/models", "/health", "/health/live", "/health/ready",
    "/metrics", "/spec", "/download_file/x.txt", "/download_file/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/download_file/", "/", "/nothing", "/%00", "/%ff", "/translate/", "//translate", "/v1/", "/v1",
]  # fmt: skip
_ODD_TEXTS = [
    "", " ", "\0", "a\0b", "\ud800", "\udfff가", "가\u2028나\u0085다", "\u202e뒤집기", "\ufeff가",
    "a" + "\u0301" * 200, "🙂" * 60, "👩‍👩‍👧‍👦", "가" * 500, "ha " * 200, "A" * 3000, "1" * 400,
    "저는 학생입니다. " * 40, "가\r\n\r\n나\n", "%s %(x)d {name} ${y} {{z}} {n, plural, other {#}}",
    "https://example.com/?a=1&b=2 " * 20, "<b>" * 60, "</p></b>", "<p>가<b>나</p>다</b>", "<!--가",
    "<p title='가' translate=no>나", "<script>가</script>", "&#xD800; &#0; &#99999999; &nbsp",
    "<![CDATA[가]]>", "<a href='x'>가</a>" * 30, "-->", "<", "<x id='1'/>가", "\x1b[31m가",
    "\U0010ffff",
]  # fmt: skip
TEXTS = (
    st.sampled_from(_ODD_TEXTS)
    | st.text(st.characters(), max_size=30)
    | st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), max_size=40)
    | st.text("<>&;/='\" \nab가{}%", max_size=60)
)
_NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([2**31, 2**63, 2**64, 10**400, -1, 0, 1e308, 3.0, True])
)
VALUES = st.recursive(
    st.none() | _NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
_LISTS = (
    st.lists(TEXTS, min_size=1, max_size=5)
    | st.lists(VALUES, max_size=3)
    | st.sampled_from([["가"] * 1001, [""] * 1000, ["."] * 5000, [["가"]]])
)
_CODES = st.sampled_from([
    "ko", "KO", "en", "auto", "Korean", "ko-KR", "zh-Hant", "", "zz", "k" * 300, "ko\0", "\ud800",
])  # fmt: skip
_NAMES = st.sampled_from(
    ["q", "source", "target", "format", "alternatives", "api_key", "s", "file", "__proto__", ""]
)
_OWN = {
    "texts": _LISTS, "source": _CODES, "target": _CODES, "model": _CODES, "format": TEXTS,
    "keep": _LISTS, "n_best": _NUMBERS, "beam": _NUMBERS, "prefix": TEXTS | _LISTS,
    "terms": _LISTS, "banned": _LISTS, "glossary": st.dictionaries(TEXTS, TEXTS, max_size=4),
    "alignments": st.booleans(), "split": st.sampled_from(["none", "sentences", "x"]),
    "timeout_s": _NUMBERS, "api_key": TEXTS, "unknown": VALUES,
}  # fmt: skip
_SMALL = {
    "n_best": st.integers(1, 4), "beam": st.integers(1, 6), "format": st.sampled_from(["html"]),
    "prefix": TEXTS, "terms": st.lists(TEXTS, max_size=2), "banned": st.lists(TEXTS, max_size=3),
    "keep": st.lists(TEXTS, max_size=2), "timeout_s": st.floats(0.001, 30),
    "alignments": st.booleans(), "glossary": st.dictionaries(TEXTS, TEXTS, max_size=4),
}  # fmt: skip


def _fields() -> Strategy[dict[str, Any]]:
    """Return fields of LibreTranslate's routes."""
    right = st.fixed_dictionaries({
        "q": TEXTS | st.lists(TEXTS, max_size=4), "source": st.sampled_from(["ko", "auto"]),
        "target": st.just("en"),
    })  # fmt: skip
    more = st.dictionaries(_NAMES, VALUES | TEXTS | _CODES | _LISTS, max_size=3)
    kept = st.fixed_dictionaries({}, optional={
        "format": st.sampled_from(["html", "text", ""]), "alternatives": st.integers(-1, 3),
    })  # fmt: skip
    return st.builds(lambda a, b: a | b, right, kept) | st.builds(lambda a, b: a | b, right, more)


def _own_fields() -> Strategy[dict[str, Any]]:
    """Return fields of /v1/translate."""
    right = st.fixed_dictionaries({
        "texts": st.lists(TEXTS, min_size=1, max_size=4), "source": st.sampled_from(["ko", "auto"]),
        "target": st.just("en"),
    })  # fmt: skip
    odd = st.fixed_dictionaries({}, optional=_OWN)
    small = st.fixed_dictionaries({}, optional=_SMALL)
    return st.builds(lambda a, b: a | b, right, small) | st.builds(lambda a, b: a | b, right, odd)


@st.composite
def mutated(draw: st.DrawFn, contents: Strategy[bytes]) -> bytes:
    """Return bytes; of one in four a stretch is left out, doubled or replaced."""
    content = draw(contents)
    if draw(st.integers(0, 3)):
        return content
    start = draw(st.integers(0, len(content)))
    end = draw(st.integers(start, min(len(content), start + 40)))
    between = draw(st.binary(max_size=6) | st.just(content[start:end] * 2))
    return content[:start] + between + content[end:]


_ENCODINGS = ["utf-8", "utf-16", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "euc-kr", "cp949"]


def _encoded(text: str, encoding: str) -> bytes:
    if encoding.startswith("utf"):
        return text.encode(encoding, "surrogatepass")
    return text.encode(encoding, "replace")


def _json_bodies(fields: Strategy[Any]) -> Strategy[bytes]:
    written = st.builds(
        lambda value, plain, encoding: _encoded(json.dumps(value, ensure_ascii=plain), encoding),
        fields, st.booleans(), _mostly("utf-8", _ENCODINGS),
    )  # fmt: skip
    deep = st.builds(
        lambda opening, count, end: opening * count + end,
        st.sampled_from([b"[", b'{"q":', b'{"texts":[', b'[{"a":']),
        st.sampled_from([10, 500, 5_000, 100_000]),
        st.sampled_from([b"", b"]", b"1"]),
    )
    odd = st.sampled_from([
        b"", b"null", b"[]", b"1", b'"', b"{}", b"{}{}", b"{'q': 1}", b'{"q": NaN}', b"\x00",
        b"\xff\xfe",
        b'{"q": "\xed\xa0\x80", "source": "ko", "target": "en"}',
        b'{"alternatives":' + b"9" * 5_000 + b"}",
        b'{"q": "a", "q": ["b"], "source": "ko", "target": "en"}', b'{"q": "\\ud83d"}',
        b"{" + b" " * 9_000,
        b'{"q": 1e999999, "source": "ko", "target": "en"}', b"-" * 1_000,
        b'{"texts": [' + b'"a",' * 3_000,
    ])  # fmt: skip
    broken = deep | odd | st.binary(max_size=100)
    return st.integers(0, 3).flatmap(lambda drawn: mutated(written) if drawn else broken)


_PLAIN = st.one_of(TEXTS, _CODES, _NUMBERS.map(str))


def _quoted(text: str) -> str:
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"))


def _pairs() -> Strategy[bytes]:
    """Return a form that is written like a query, right or broken."""
    right = st.builds(
        lambda text, more: "&".join(
            f"{name}={_quoted(value)}"
            for name, value in [("q", text), ("source", "ko"), ("target", "en"), *more]
        ).encode(),
        TEXTS, st.lists(st.tuples(_NAMES, _PLAIN), max_size=3),
    )  # fmt: skip
    odd = st.sampled_from([
        b"%", b"%zz=%", b"q=%ff%fe", b"q=%00&source=ko&target=en", b"&&&==;;", b"q" * 5_000,
        b"q=\xff",
        b"q=a&" * 12_000, b"=" * 3_000, b"q=\xea\xb0\x80&source=ko&target=en", b"q[]=a&q[0]=b",
    ])  # fmt: skip
    broken = odd | st.binary(max_size=60)
    return st.integers(0, 3).flatmap(lambda drawn: mutated(right) if drawn else broken)


def _word_file(paragraphs: list[str]) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    texts = [text.translate({n: None for n in range(32)}) for text in paragraphs]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    runs = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Override PartName="/word/document.xml" '
        f'ContentType="{main}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r" Type="{kind}" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{space}"><w:body>{runs}</w:body></w:document>',
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


def _bomb() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 3_000_000)
    return written.getvalue()


_CONTENTS = (
    st.sampled_from([
        b"1\n00:00:01,000 --> 00:00:02,000\n\xea\xb0\x80\n\n2\n00:00:03,000 --> 99:99\n<i>x</i>\n",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
        + '\nmsgid "가 %s"\nmsgstr ""\n'.encode(),
        b'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n#~ msgid "c', b"\x00" * 100,
        "<!doctype html><meta charset=euc-kr><p>가<b>나</b></p>".encode("euc-kr"), _bomb(),
        "<meta charset=utf-7><p>가".encode(),
        "# 가\n\n- [나](x) `다`\n\n| a | 나 |\n|---|---|\n".encode(),
        "---\na: 가\n---\n\n> *나* **다**\n\n```\n라\n".encode(), "가나다\n".encode("utf-16"),
        _word_file(["저는 학생입니다.", "가"]), _word_file(["가"])[:-30], b"PK\x03\x04",
        b"PK\x05\x06" + b"\0" * 18,
    ])
    | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(TEXTS, max_size=3).map(_word_file)
    | st.binary(max_size=200)
)  # fmt: skip
_FILE_NAMES = st.sampled_from([
    "a.txt", "a.html", "a.htm", "a.srt", "a.po", "a.docx", "a.md", "A.TXT", "a.DOCX", "a.pdf", "a",
    "",
    ".txt", "..txt", "../../a.txt", "C:\\a\\b.srt", "a\0.txt", "가나.txt", 'a".txt', "a.txt.docx",
    "a;b=c.txt",
    "x" * 500 + ".html", "con.txt", "a.txt ", "%00.txt", "🙂.md", "a\u202e.txt",
])  # fmt: skip
_PART_HEADERS = [
    b"", b"Content-Type: text/plain; charset=utf-16\r\n", b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Type: application/json\r\n", b"X: " + b"y" * 9_000 + b"\r\n", b"nonsense\r\n",
]  # fmt: skip


@st.composite
def _parts(draw: st.DrawFn, boundary: str) -> bytes:
    """Return a form in parts, with a file more often than not."""
    parts: list[tuple[str, str | None, bytes]] = [
        (name, None, value)
        for name, value in (("source", b"ko"), ("target", b"en"))
        if draw(st.integers(0, 9)) > 0
    ]
    if draw(st.integers(0, 3)) > 0:
        parts.append(("file", draw(_FILE_NAMES), draw(mutated(_CONTENTS))))
    names = _NAMES | TEXTS
    for _ in range(draw(st.integers(0, 3))):
        content = draw(_PLAIN).encode("utf-8", "surrogatepass")
        parts.append((draw(names), draw(st.none() | _FILE_NAMES), content))
    body = b""
    for name, file, content in parts:
        shown = f'form-data; name="{name}"' + ("" if file is None else f'; filename="{file}"')
        more = draw(st.sampled_from(_PART_HEADERS)) if draw(st.integers(0, 5)) == 0 else b""
        head = b"Content-Disposition: " + shown.encode("utf-8", "surrogatepass") + b"\r\n" + more
        body += b"--" + boundary.encode() + b"\r\n" + head + b"\r\n" + content + b"\r\n"
    return body + (b"--" + boundary.encode() + b"--\r\n" if draw(st.integers(0, 9)) else b"")


_KINDS = [
    "application/json", "application/json; charset=utf-16", "APPLICATION/JSON",
    "application/x+json",
    "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=euc-kr",
    "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=x",
    "multipart/form-data; boundary=x; charset=nonsense", "multipart/mixed; boundary=x",
    "text/plain",
    "text/html", "", ";", "application/octet-stream", "x/" * 40, 'multipart/form-data; boundary="',
]  # fmt: skip
_MORE_HEADERS = st.fixed_dictionaries({}, optional={
    "Accept": st.sampled_from(["text/event-stream", "*/*", "", "text/html;q=nan"]),
    "Authorization": st.sampled_from(["Bearer", "Bearer x", "Basic eDp4", "bearer \x7f", ""]),
    "Origin": st.sampled_from(["null", "https://example.com", ""]),
    "X-Forwarded-For": st.sampled_from(["1.2.3.4", "::1, x", "'"]),
    "Content-Encoding": st.sampled_from(["gzip", "br"]),
    "Range": st.just("bytes=0-0,5-"),
})  # fmt: skip
_JSON = _mostly("application/json", _KINDS)
_FORM = _mostly("application/x-www-form-urlencoded", _KINDS)


@st.composite
def strange_requests(draw: st.DrawFn) -> Strange:
    """Return a request to any route, or to none."""
    way = draw(st.sampled_from(["json", "json", "own", "form", "query", "parts", "parts", "other"]))
    headers = draw(_MORE_HEADERS) if draw(st.integers(0, 7)) == 0 else {}
    method = "POST" if draw(st.integers(0, 11)) else draw(st.sampled_from(["GET", "PUT", "HEAD"]))
    route = draw(st.sampled_from(["/translate", *_POST]))
    if way == "json":
        body = draw(_json_bodies(_fields() | VALUES))
        return Strange(method, route, body, headers | {"Content-Type": draw(_JSON)})
    if way == "own":
        body = draw(_json_bodies(_own_fields()))
        return Strange(method, "/v1/translate", body, headers | {"Content-Type": draw(_JSON)})
    if way == "form":
        return Strange(method, route, draw(_pairs()), headers | {"Content-Type": draw(_FORM)})
    if way == "query":
        path = draw(st.sampled_from([*_POST, *_GET]))
        return Strange(method, f"{path}?{quote_from_bytes(draw(_pairs()), safe='%&=;/?')}")
    if way == "parts":
        boundary = draw(st.sampled_from(["x", "----x", "x" * 70, "a'b", "x"]))
        kind = f"multipart/form-data; boundary={boundary}"
        route = draw(st.sampled_from(["/translate_file", "/translate_file", "/translate"]))
        body = draw(_parts(boundary) | mutated(_parts(boundary)))
        return Strange("POST", route, body, headers | {"Content-Type": kind})
    methods = ["GET", "GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]
    path = draw(st.sampled_from([*_GET, *_POST]))
    return Strange(draw(st.sampled_from(methods)), path, draw(st.binary(max_size=20)), headers)
