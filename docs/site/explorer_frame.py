"""`{explorer} ADDRESS`: the explorer of the demonstration's sentence, in the page, at that address.

One exported page beside both trees serves every frame. It asks nothing of any server.
"""

import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PAGE = "explorer.html"
SENTENCE = "저는 학생입니다."
_WORDS = {
    "en": ("The explorer: {}", "Open this view large"),
    "ko": ("탐색기: {}", "이 화면을 크게 열기"),
}


@cache
def screens() -> frozenset[str]:
    """Return the names of the explorer's screens."""
    return frozenset(re.findall(r'"app/screens/([a-z-]+)\.js"', _script("screens.js")))


@cache
def keys() -> frozenset[str]:
    """Return what an address can say."""
    (defaults,) = re.findall(r"const DEFAULTS = \{(.*?)\};", _script("address.js"), re.DOTALL)
    return frozenset(re.findall(r"(\w+):", defaults)) - {"screen"}


def address_of(argument: str, language: str) -> str:
    """Return the whole address: that of the argument, for the site's sentence and a language.

    Raises ValueError for a screen or a key that the explorer does not have.
    """
    path, _, query = argument.strip().partition("?")
    screen = path.removeprefix("#/")
    if not path.startswith("#/") or screen not in screens():
        raise ValueError(f"'{argument}' is not an address such as #/attention?l=1.")
    values = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(values.keys() - keys()):
        raise ValueError(f"An address has no '{unknown[0]}', but {', '.join(sorted(keys()))}.")
    values = {"src": SENTENCE, "lang": language, **values}
    return path + "?" + "&".join(f"{key}={quote(value)}" for key, value in values.items())


def _script(name: str) -> str:
    return (files("headway.serving") / "static" / "app" / name).read_text("utf-8")


class ExplorerFrame(SphinxDirective):
    """A frame with the explorer, and a link that opens it alone."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = False
    option_spec: ClassVar = {"height": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        """Return the frame as HTML."""
        language = self.config.language
        try:
            address = address_of(self.arguments[0], language)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        up = "../" * (self.env.docname.count("/") + 1)
        target = escape(f"{up}{PAGE}{address}")
        bare = escape(f"{up}{PAGE}{address}&bare=1")
        title, large = _WORDS[language]
        title = escape(title.format(address.removeprefix("#/").partition("?")[0]))
        height = self.options.get("height", 640)
        html = (
            f'<figure class="explorer"><iframe src="{bare}" title="{title}" loading="lazy" '
            f'height="{height}"></iframe><figcaption><a href="{target}" target="_blank" '
            f'rel="noopener">{large}</a></figcaption></figure>'
        )
        return [nodes.raw("", html, format="html")]


def export(model: str, path: str) -> None:
    """Write the one page, of the sentence that all pages of the site speak about."""
    import headway
    from headway.serving.export import write_page

    translator = headway.load(model)
    write_page(translator, translator.trace(SENTENCE), path, model="runs/demo")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("explorer", ExplorerFrame)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
