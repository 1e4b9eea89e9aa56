"""The pages of the site as the tests read them: prose, cells, headings, directives."""

import re
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LANGUAGES = ("en", "ko")

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", flags=re.DOTALL)
_FENCE = re.compile(
    r"^(?P<mark>`{3,}|:{3,})(?P<head>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ ]*$",
    flags=re.DOTALL | re.MULTILINE,
)
_OPTION = re.compile(r"^:[\w-]+:.*\n", flags=re.MULTILINE)


def pages(language: str) -> list[str]:
    """Return the names of all pages of a language, without the ending."""
    tree = DOCS / language
    return sorted(str(path.relative_to(tree).with_suffix("")) for path in tree.rglob("*.md"))


@cache
def text_of(language: str, page: str) -> str:
    """Return a page as it is written."""
    return (DOCS / language / f"{page}.md").read_text(encoding="utf-8")


def front_matter(text: str) -> str:
    """Return what stands between the lines of dashes at the beginning of a page."""
    found = _FRONT_MATTER.match(text)
    return found[1] if found else ""


def directives(text: str) -> list[tuple[str, str]]:
    """Return each fenced block: the words after its marks, and its body."""
    return [(found["head"].strip(), found["body"]) for found in _FENCE.finditer(text)]


def cells(text: str) -> list[str]:
    """Return the code of all code cells, without options."""
    return [
        _OPTION.sub("", body).strip() + "\n"
        for head, body in directives(text)
        if head.startswith("{code-cell}")
    ]


def prose(text: str) -> str:
    """Return a page without front matter, fenced blocks and comments."""
    text = _FENCE.sub("", _FRONT_MATTER.sub("", text))
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def headings(text: str) -> list[int]:
    """Return the level of each heading in order."""
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(text), flags=re.MULTILINE)]
