"""The page as one file that opens from a disk or in a notebook, without network and server.

Browsers refuse to load modules from other files on a disk. So each module is a `data:` address in
the page's import map, and modules import each other by bare names.
"""

import base64
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

MAX_BYTES = 20_000_000
"""Most bytes of the tensors of one file; in base64 they take a third more."""

_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">')
_SCRIPTS = re.compile(r"<script\b.*?</script>\s*", re.DOTALL)
_ICON = re.compile(r'<link rel="icon"[^>]*>\s*')

# The page can load nothing but the content of its file.
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
_IN_FRAME = '<base href="about:srcdoc">'  # or #/tree would be an address of the outer page


def page_html(answers: Mapping[str, Any], *, in_frame: bool = False) -> str:
    """Return the page with these answers, for `app/embedded.js`.

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
    policy, *elements = (part for part in head if part)
    before = before.replace(charset, f"{charset}\n{policy}")  # it applies to the elements after it
    scripts = "\n".join(elements)
    return f"{before}{scripts}\n</head>{after}"


def _modules(folder: Traversable, lead: str = "") -> list[tuple[str, bytes]]:
    """Return the names and the code of all modules below a folder."""
    modules: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            modules += _modules(entry, f"{lead}{entry.name}/")
        elif entry.name.endswith(".js"):
            modules.append((f"{lead}{entry.name}", entry.read_bytes()))
    return modules


def _text(static: Traversable, path: str) -> str:
    return static.joinpath(*path.split("/")).read_text("utf-8")


def _inline(answers: Mapping[str, Any]) -> str:
    """Return JSON that cannot close the element around it."""
    text = json.dumps(answers, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode(errors="replace").decode()
