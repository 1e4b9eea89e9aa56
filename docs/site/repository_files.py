"""Files of the repository that pages link to, such as the log of benchmarks, beside both trees.

Markdown becomes a plain page of HTML, with the files that it links to in turn.
"""

import os
import posixpath
import shutil
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

FOLDER = "files"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
  body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5;
         font-family: system-ui, sans-serif; overflow-wrap: anywhere; }}
  table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
  td, th {{ border: 1px solid #8888; padding: .25rem .5rem; text-align: left; }}
  pre {{ overflow-x: auto; }}
</style>
<main>
{body}</main>
</html>
"""


def publish(path: Path, root: Path, out: Path) -> str:
    """Put a file of the repository at `root` below `out`, and return its address there.

    path, root: without `..`. Raises ValueError for a file outside of the repository.
    """
    name = path.relative_to(root).as_posix()
    address = f"{FOLDER}/{name.removesuffix('.md') + '.html' if path.suffix == '.md' else name}"
    target = out / address
    if target.is_file() and target.stat().st_mtime >= path.stat().st_mtime:
        return address
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")  # the other language's build runs, too
    if path.suffix == ".md":
        part.write_text(_html(path, root, out), encoding="utf-8")
    else:
        shutil.copyfile(path, part)
    part.replace(target)
    return address


def _html(path: Path, root: Path, out: Path) -> str:
    markdown = MarkdownIt("commonmark").enable("table")
    text = path.read_text(encoding="utf-8")
    tokens = markdown.parse(text)
    # A file that links back must find this one there.
    (out / FOLDER / path.relative_to(root)).with_suffix(".html").touch()
    for token in _all(tokens):
        href = str(token.attrs.get("href", ""))
        name, _, anchor = href.partition("#")
        if token.type != "link_open" or not name or ":" in name:
            continue
        linked = Path(posixpath.normpath((path.parent / name).as_posix()))
        if linked.is_file() and linked.is_relative_to(root):
            here = posixpath.dirname(f"{FOLDER}/{path.relative_to(root).as_posix()}")
            there = posixpath.relpath(_address(linked, root, out), here)
            token.attrs["href"] = f"{there}#{anchor}" if anchor else there
        else:
            token.attrs.pop("href")
    body = markdown.renderer.render(tokens, markdown.options, {})
    title = text.lstrip("# ").partition("\n")[0]
    return _PAGE.format(title=escape(title), body=body)


def _address(path: Path, root: Path, out: Path) -> str:
    """Return where the site has a file: as a page, or among the files."""
    inside = path.relative_to(root)
    if path.suffix == ".md" and inside.parts[0] == "docs":
        return Path(*inside.parts[1:]).with_suffix(".html").as_posix()
    return publish(path, root, out)


def _all(tokens: list[Token]) -> list[Token]:
    return [part for token in tokens for part in (token, *_all(token.children or []))]
