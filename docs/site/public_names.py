"""`{public-names} MODULE`: the public names of a module, from their docstrings.

Our docstrings are plain text with `code` in single backticks. They are made reStructuredText here,
so that Python's `help` shows them without its markup.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

_CODE = re.compile(r"`+[^`]+`+")
_SECTION = re.compile("(Args|Returns|Raises|Yields):")
_MARKUP = re.compile(r"([*|\\]|\w_(?!\w)|(?<!\w)_(?=\w))")


class PublicNames(SphinxDirective):
    """All names of `__all__`, in its order; those of the modules in `but` are named with a link."""

    required_arguments = 1
    has_content = False
    option_spec: ClassVar = {"but": str.split}

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of each name."""
        module = importlib.import_module(self.arguments[0])
        others = {
            name: f"{other}.{name}"
            for other in self.options.get("but", [])
            for name in importlib.import_module(other).__all__
        }
        others |= {other.rpartition(".")[2]: other for other in self.options.get("but", [])}
        names = [name for name in module.__all__ if name not in others]
        lines = [line for name in names for line in _directive(module, name)]
        for name in module.__all__:
            if name in others:
                role = "py:mod" if inspect.ismodule(getattr(module, name)) else "py:obj"
                lines += [f"* ``{module.__name__}.{name}``: :{role}:`{others[name]}`"]
        text = "\n".join(["````{eval-rst}", *lines, "````"])
        return self.parse_text_to_nodes(text)


def _directive(module: Any, name: str) -> Iterator[str]:
    value = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if inspect.ismodule(value):
        yield f".. automodule:: {value.__name__}"
        yield "   :members:"
    elif inspect.isclass(value):
        yield f".. autoclass:: {full}"
        yield "   :members:"
    elif callable(value):
        yield f".. autofunction:: {full}"
    else:
        yield f".. autodata:: {full}"
    yield ""


def as_restructured(lines: list[str]) -> list[str]:
    r"""Return a docstring's lines with the marks of reStructuredText.

    >>> as_restructured(["Return `x` * 2:", "", "    y = x", "end"])
    ['Return ``x`` \\* 2:', '', '::', '', '    y = x', '', 'end']
    """
    written: list[str] = []
    in_block = False
    for line in lines:
        indented = line.startswith("    ") and not line.lstrip().startswith(">>>")
        if indented and not in_block and (not written or not written[-1].strip()):
            written += ["::", ""]
            in_block = True
        elif in_block and line.strip() and not indented:
            written += [""] if written[-1].strip() else []
            in_block = False
        is_code = in_block or line.lstrip().startswith((">>>", "..."))
        written.append(line if is_code else _plain(line))
    return written


def _plain(line: str) -> str:
    parts, end = [], 0
    for code in _CODE.finditer(line):
        parts += [_escaped(line[end : code.start()]), f"``{code[0].strip('`')}``"]
        end = code.end()
    return "".join([*parts, _escaped(line[end:])])


def _escaped(words: str) -> str:
    return _MARKUP.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], words)


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if any(_SECTION.fullmatch(line) for line in lines):
        marked = [_plain(line) for line in lines]
        lines[:] = GoogleDocstring(marked, Config(), app, what, name, obj, options).lines()
    else:
        lines[:] = as_restructured(lines)


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, contnode: nodes.Element
) -> nodes.Node | None:
    """Link a class by its public name; leave a type of a signature without a page as text."""
    if node.get("refdomain") != "py" or not node.get("refdoc", "").endswith("reference/api"):
        return None
    domain = env.domains.python_domain
    last = node["reftarget"].rpartition(".")[2]
    known = [full for full in domain.objects if full.rpartition(".")[2] == last]
    if not node["reftarget"].startswith("headway") or len(known) != 1:
        return contnode
    entry = domain.objects[known[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, and what it needs of autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("missing-reference", _resolve)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
