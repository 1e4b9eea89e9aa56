"""The page as one file: all of it inside, and nothing that could end an element too early."""

import base64
import json
import re
from pathlib import Path

from headway.serving.page_file import page_html

STATIC = Path(__file__).parents[3] / "src" / "headway" / "serving" / "static"


def _scripts(html: str, kind: str) -> list[str]:
    return re.findall(rf'<script type="{kind}"[^>]*>(.*?)</script>', html, flags=re.DOTALL)


def test_every_module_and_every_style_is_inside() -> None:
    html = page_html({})
    (text,) = _scripts(html, "importmap")
    modules = json.loads(text)["imports"]
    files = {f"app/{path.relative_to(STATIC / 'app')}" for path in STATIC.rglob("*.js")}
    assert set(modules) == files
    head, code = modules["app/main.js"].split(",")
    assert head == "data:text/javascript;base64"
    assert base64.b64decode(code) == (STATIC / "app" / "main.js").read_bytes()
    for path in STATIC.rglob("*.css"):
        assert path.read_text("utf-8").strip() in html
    assert "/static/" not in html.replace(text, "")


def test_nothing_can_be_loaded_from_elsewhere() -> None:
    html = page_html({})
    assert "default-src 'none'" in html
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert "<link" not in html
    assert " src=" not in html


def test_answers_cannot_end_their_element() -> None:
    answers = {"text": "</script><script>alert(1)</script><!-- \ud800 &amp; 가"}
    (text,) = _scripts(page_html(answers), "application/json")
    assert json.loads(text)["text"] == "</script><script>alert(1)</script><!-- ? &amp; 가"


def test_in_a_frame_an_address_is_of_the_frame() -> None:
    assert '<base href="about:srcdoc">' in page_html({}, in_frame=True)
    assert "<base" not in page_html({})
