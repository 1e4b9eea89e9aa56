"""`{eval}` with cached execution: the values of names in prose, as the cell before them left them.

MyST-NB evaluates such names only where it runs a notebook each time. Here each page is rewritten
before it is read: a hidden cell after the last visible one records the values, so they are kept
with the other outputs. A page is so executed once, until its cells or the package change.
"""

import re
from typing import Any

from sphinx.application import Sphinx

ROLE = re.compile(r"\{eval\}`([^`]+)`")
_CELL = re.compile(r"^(`{3,})\{code-cell\}.*?^\1[ ]*$\n?", flags=re.DOTALL | re.MULTILINE)


def with_recorded_values(text: str) -> str:
    """Return a page in which each `{eval}` is the value that a hidden cell has recorded.

    Raises ValueError for a value before the first cell.
    """
    cells = list(_CELL.finditer(text))
    if not cells or not ROLE.search(text):
        if ROLE.search(text):
            raise ValueError("{eval} has no code cell before it.")
        return text
    starts = [0, *(cell.end() for cell in cells)]
    ends = [*(cell.start() for cell in cells), len(text)]
    written = ""
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        prose = text[start:end]
        names = list(dict.fromkeys(ROLE.findall(prose)))
        if names and number == 0:
            raise ValueError(f"{{eval}}`{names[0]}` has no code cell before it.")
        keys = {name: f"eval-{number}-{place}" for place, name in enumerate(names)}
        prose = ROLE.sub(lambda role, keys=keys: f"{{glue:text}}`{keys[role[1]]}`", prose)
        written += _recorder(keys) + prose
        if number < len(cells):
            written += cells[number][0]
    return written


def _recorder(keys: dict[str, str]) -> str:
    """Return the hidden cell that records values under keys, as the text that `str` makes."""
    if not keys:
        return ""
    lines = [
        "from myst_nb import glue as _glue",
        # In quotes, because MyST-NB would read the text 62.60 as a number, and show 62.6.
        *(f"_glue({key!r}, str({name}), display=False)" for name, key in keys.items()),
    ]
    return "\n```{code-cell} python\n:tags: [remove-cell]\n" + "\n".join(lines) + "\n```\n\n"


def _rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = with_recorded_values(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite pages when they are read."""
    app.connect("source-read", _rewrite)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
