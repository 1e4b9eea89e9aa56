"""Makes the notebooks of the ten pages: `make notebooks` writes docs/notebooks/<language>/NN.ipynb.

A notebook has the cells of its page with their outputs, after a first cell that installs Headway.
What only the site can show is replaced: a frame of the explorer by a cell that shows it, a listing
by its code, a value in prose by the value.
"""

import argparse
import ast
import os
import posixpath
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from code_state import ROOT
from contents import PAPER
from evaluated import with_recorded_values
from explorer_frame import SENTENCE
from kernels import use_local_kernels
from languages import NAMES
from nbclient import NotebookClient

DOCS = ROOT / "docs"
MAX_BYTES = 300_000
INSTALL = """\
# The path leads to the folder of Headway's source: from docs/notebooks/en/, three levels up.
%pip install --quiet "../../..[plot,serve]"
"""
_EXPLORER = """\
from headway import learn
from headway.serving.export import show

translator = learn.demonstration()
show(translator, translator.trace("{sentence}"), state="{address}")
"""
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", flags=re.DOTALL)
_FENCE = re.compile(
    r"^(?P<mark>`{3,}|:{3,})(?P<head>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ ]*$\n?",
    flags=re.DOTALL | re.MULTILINE,
)
_OPTION = re.compile(r"\A(?::(?P<name>[\w-]+):[ ]*(?P<value>[^\n]*)\n)")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_ANCHOR = re.compile(r"^\(([\w-]+)\)=$", flags=re.MULTILINE)
_VALUE = re.compile(r"\{glue:text\}`([^`]+)`")


def main() -> int:
    """Write the notebooks of all pages that exist."""
    use_local_kernels()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "runs" / "demo")
    parser.add_argument("--only", help="one page, such as 04")
    parser.add_argument("--language", choices=NAMES, help="one language alone")
    arguments = parser.parse_args()
    os.environ["HEADWAY_DEMONSTRATION"] = str(arguments.model.resolve())
    for language in [arguments.language] if arguments.language else NAMES:
        for name in PAPER:
            page = DOCS / language / "paper" / f"{name}.md"
            if page.is_file() and arguments.only in (None, name[:2]):
                target = DOCS / "notebooks" / language / f"{name[:2]}.ipynb"
                write(page, target)
                print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")
    return 0


def write(page: Path, target: Path) -> None:
    """Make, run and write the notebook of one page."""
    notebook = notebook_of(page, target)
    with TemporaryDirectory() as folder:
        run = nbformat.v4.new_notebook(metadata=notebook.metadata)
        run.cells = [cell for cell in notebook.cells if "no-run" not in _tags(cell)]
        NotebookClient(
            run, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    _fill(notebook)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > MAX_BYTES:
        raise ValueError(
            f"{target} would have {len(text.encode()):,} bytes; at most {MAX_BYTES:,}."
        )
    target.write_text(text, encoding="utf-8")


def notebook_of(page: Path, target: Path) -> Any:
    """Return the notebook of a page, without outputs."""
    text = _FRONT_MATTER.sub("", with_recorded_values(page.read_text(encoding="utf-8")))
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {
        "name": "python3", "display_name": "Python 3", "language": "python",
    }  # fmt: skip
    cells = [_code(INSTALL, ["no-run"])]
    end = 0
    words = ""
    for fence in _FENCE.finditer(text):
        words += text[end : fence.start()]
        end = fence.end()
        head, options, body = _read(fence)
        if head.startswith("{code-cell}"):
            cells += _markdown(words, page, target)
            words = ""
            cells.append(_code(body, ast.literal_eval(_list(options.get("tags", "")))))
        elif head.startswith("{explorer}"):
            cells += _markdown(words, page, target)
            words = ""
            address = head.removeprefix("{explorer}").strip()
            code = _EXPLORER.format(sentence=SENTENCE, address=address)
            cells.append(_code(code, ["no-run", "explorer"]))
        else:
            words += _shown(head, options, body, page)
    cells += _markdown(words + text[end:], page, target)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook.cells = cells
    return notebook


def _read(fence: re.Match[str]) -> tuple[str, dict[str, str], str]:
    """Return the head of a block, its options, and the rest of it."""
    options, body = {}, fence["body"]
    if fence["head"].strip().startswith("{"):
        while option := _OPTION.match(body):
            options[option["name"]] = option["value"].strip().strip("\"'")
            body = body[option.end() :]
    return fence["head"].strip(), options, body


def _list(tags: str) -> str:
    """Return the tags of a cell, `[remove-input]`, as a list of Python."""
    names = re.findall(r"[\w-]+", tags)
    return repr(names)


def _code(body: str, tags: list[str]) -> Any:
    cell = nbformat.v4.new_code_cell(body.strip("\n"))
    if tags:
        cell.metadata["tags"] = tags
    if {"remove-input", "hide-input"} & {*tags}:
        cell.metadata["jupyter"] = {"source_hidden": True}
    return cell


def _markdown(words: str, page: Path, target: Path) -> list[Any]:
    if not words.strip():
        return []
    base = posixpath.relpath(page.parent, target.parent)

    def link(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(base, found[1]))
        return f"]({path}{found[2] or ''})"

    words = _ANCHOR.sub(r'<a id="\1"></a>', _LINK.sub(link, words))
    return [nbformat.v4.new_markdown_cell(words.strip("\n"))]


def _shown(head: str, options: dict[str, str], body: str, page: Path) -> str:
    """Return a block of the site as a notebook can show it."""
    kind = re.match(r"\{([\w-]+)\}\s*(.*)", head)
    if kind is None:  # a plain block of code
        return f"```{head}\n{body}```\n"
    if kind[1] == "literalinclude":
        language = options.get("language", "python")
        return f"```{language}\n{_listing(page.parent / kind[2], options)}\n```\n"
    if kind[1] == "math":
        return f"$$\n{body}$$\n"
    if kind[1] in ("note", "tip", "warning", "important", "admonition", "seealso"):
        lines = [f"**{kind[2]}**", ""] if kind[2] else []
        return "".join(f"> {line}\n" for line in [*lines, *body.strip().splitlines()]) + "\n"
    raise ValueError(f"{page}: a notebook cannot show {{{kind[1]}}}.")


def _listing(path: Path, options: dict[str, str]) -> str:
    """Return the lines of a file, of one object of it, or those of `:lines:`."""
    text = path.read_text(encoding="utf-8")
    if "pyobject" in options:
        node: Any = ast.parse(text)
        for name in options["pyobject"].split("."):
            node = next(part for part in node.body if getattr(part, "name", None) == name)
        return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
    known = {"language", "lines", "caption", "class", "name", "start-at", "end-before"}
    if unknown := options.keys() - known:
        raise ValueError(f"{path}: a notebook cannot show {sorted(unknown)[0]}.")
    if "lines" in options:
        first, _, last = options["lines"].partition("-")
        return "\n".join(text.splitlines()[int(first) - 1 : int(last or first)])
    if start := options.get("start-at"):
        text = text[text.index(start) :]
    return text.partition(options.get("end-before") or "\0")[0].rstrip("\n")


def _tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def _fill(notebook: Any) -> None:
    """Put recorded values into the prose, and take away the cells that recorded them."""
    values = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            record = output.get("metadata", {}).get("scrapbook")
            if record is not None:
                (quoted,) = output["data"].values()
                values[record["name"]] = ast.literal_eval(quoted)
    recorders = [cell for cell in notebook.cells if "myst_nb" in cell.source]
    notebook.cells = [cell for cell in notebook.cells if cell not in recorders]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.source = _VALUE.sub(lambda found: values[found[1]], cell.source)
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output["execution_count"] = None
                if "<svg" in output.get("data", {}).get("text/html", ""):
                    output["data"]["text/html"] = _small(output["data"]["text/html"])


def _small(picture: str) -> str:
    """Return an SVG in fewer bytes: in lines as long as they are, with two decimals."""
    picture = re.sub(r"(\d\.\d\d)\d+", r"\1", picture)
    return re.sub(r"\s*\n\s*", " ", picture)


if __name__ == "__main__":
    sys.exit(main())
