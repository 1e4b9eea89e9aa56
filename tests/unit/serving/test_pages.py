"""The page comes from the package, with a policy that fits it."""

import base64
import hashlib

import pytest
from fastapi.testclient import TestClient

from headway.serving.pages import security_policy, static_file


def test_the_page_may_run_its_own_scripts_alone(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.content == static_file("index.html")
    assert answer.headers["content-security-policy"] == security_policy(answer.content)


def test_inline_scripts_are_allowed_by_hash() -> None:
    inline = b'{"imports": {}}'
    html = b'<script type="importmap">%s</script><script src="/static/a.js"></script>' % inline
    policy = security_policy(html)
    digest = base64.b64encode(hashlib.sha256(inline).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert policy.count("sha256-") == 1
    assert policy.startswith("default-src 'self'; img-src 'self' data: blob:; ")


@pytest.mark.parametrize(
    "rule", ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]
)
def test_what_the_default_leaves_open_is_closed(rule: str) -> None:
    assert rule in security_policy(b"").split("; ")


def test_files_are_served(client: TestClient) -> None:
    answer = client.get("/static/index.html")
    assert answer.content == static_file("index.html")


@pytest.mark.parametrize(
    "path", ["nothing.js", "../app.py", "..%2fapp.py", "%2e%2e/app.py", "app", "", ".hidden",
             "/etc/passwd", "a\\..\\b", "%00"]
)  # fmt: skip
def test_nothing_else_is(client: TestClient, path: str) -> None:
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"]


def test_head_says_what_get_would_without_its_body(client: TestClient) -> None:
    for path in ("/", "/static/app/main.js"):
        head, get = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == get.headers["content-type"]
        assert head.headers["content-length"] == str(len(get.content))
