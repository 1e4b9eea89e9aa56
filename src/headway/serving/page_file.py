"""The page as one file: it opens from a disk, in a notebook, anywhere; no network, no program.

Modules of a page from a disk cannot be files beside it: browsers refuse these. So each module is a
`data:` address in the page's import map, which is why all of them import each other by bare names.
"""

import base64
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

MAX_BYTES = 20_000_000
"""The most bytes that the tensors of one file may take; in base64 they take a third more."""

_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">')
_SCRIPTS = re.compile(r"<script\b.*?</script>\s*", re.DOTALL)
_ICON = re.compile(r'<link rel="icon"[^>]*>\s*')

# Whatever the page may try, it can reach nothing: no address but what is in the file.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
_START = """
import { Embedded } from "app/embedded.js";
import { start } from "app/main.js";
const answers = JSON.parse(document.getElementById("answers").textContent);
if (location.hash.length < 2) history.replaceState(null, "", answers.address);
start(new Embedded(answers));
"""
_IN_FRAME = '<base href="about:srcdoc">'  # else an address like #/tree is one of the page around it


def page_html(answers: Mapping[str, Any], *, in_frame: bool = False) -> str:
    """Return the page with these answers in it, as `app/embedded.js` has them.

    in_frame: for the `srcdoc` of an <iframe>, as in a notebook.
    """
    static = files("headway.serving") / "static"
    html = (static / "index.html").read_text("utf-8")
    html = _ICON.sub("", _SCRIPTS.sub("", html))
    html = _STYLE.sub(lambda found: f"<style>\n{_text(static, found[1])}</style>", html)
    modules = {
        f"app/{name}": f"data:text/javascript;base64,{base64.b64encode(code).decode()}"
        for name, code in sorted(_modules(static / "app"))
    }
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        _IN_FRAME if in_frame else "",
        f'<script type="importmap">{json.dumps({"imports": modules})}</script>',
        f'<script type="application/json" id="answers">{_inline(answers)}</script>',
        f'<script type="module">{_START}</script>',
    ]
    before, _, after = html.partition("</head>")
    charset = '<meta charset="utf-8">'
    policy, *rest = (part for part in head if part)
    before = before.replace(charset, f"{charset}\n{policy}")  # it holds for what stands behind it
    scripts = "\n".join(rest)
    return f"{before}{scripts}\n</head>{after}"


def _modules(folder: Traversable, lead: str = "") -> list[tuple[str, bytes]]:
    """Return the names and the code of all modules below a folder."""
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _modules(entry, f"{lead}{entry.name}/")
        elif entry.name.endswith(".js"):
            found.append((f"{lead}{entry.name}", entry.read_bytes()))
    return found


def _text(static: Traversable, path: str) -> str:
    return static.joinpath(*path.split("/")).read_text("utf-8")


def _inline(answers: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the element that it stands in."""
    text = json.dumps(answers, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode(errors="replace").decode()
