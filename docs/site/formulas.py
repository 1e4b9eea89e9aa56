"""Mathematics as MathML, made when the site is built: no script and no font is loaded for it."""

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from headway.serving.mathml import mathml


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a sentence."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own; a wide one scrolls within its box."""
    formula = mathml(node.astext())
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    ids = f' id="{escape(node["ids"][0])}"' if node["ids"] else ""
    writer.body.append(f'<div class="formula"{ids}>{formula}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
