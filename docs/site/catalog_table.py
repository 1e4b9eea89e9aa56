"""`{catalog}`: every intermediate of the model with its shape, its equation and one sentence."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_HEADS = {
    "en": ("name", "shape", "equation", "meaning"),
    "ko": ("이름", "모양", "수식", "뜻"),
}


class CatalogTable(SphinxDirective):
    """A section with a table for each part of the model, in the language of the page."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        from headway.inspection.catalog import catalog

        rows = [row for row in catalog().values() if not row.derived]
        sections = []
        for part, group in groupby(rows, key=lambda row: _part(row.pattern)):
            title = part or "transformer"
            section = nodes.section(ids=[f"catalog-{title.replace('.', '-').replace('*', 'n')}"])
            section += nodes.title("", "", nodes.literal("", title))
            section += _table(_HEADS[self.config.language], self._lines(list(group)))
            sections.append(section)
        return sections

    def _lines(self, rows: list[Any]) -> Iterator[tuple[nodes.Node, ...]]:
        for row in rows:
            name = row.pattern.rpartition(".")[2]
            words = row.korean if self.config.language == "ko" else row.english
            yield (
                nodes.literal("", name),
                nodes.literal("", row.shape),
                nodes.math("", row.latex),
                nodes.Text(words),
            )


def _part(pattern: str) -> str:
    return pattern.rpartition(".")[0]


def _table(head: tuple[str, ...], lines: Iterator[tuple[nodes.Node, ...]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(tuple(nodes.Text(word) for word in head)))
    group += nodes.tbody("", *(_row(line) for line in lines))
    return nodes.table("", group, classes=["catalog"])


def _row(cells: tuple[nodes.Node, ...]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("catalog", CatalogTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
