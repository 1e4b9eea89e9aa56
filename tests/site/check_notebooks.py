"""The prose of the notebooks is that of the pages, with values in place of their names."""

import json
import re
from pathlib import Path

import pytest
from languages import NAMES
from notebooks import notebook_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for language in NAMES for page in sorted((DOCS / language / "paper").glob("[0-9]*"))]
_VALUE = re.compile(r"\\\{glue:text\\\}`[^`]+`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parts[-3]}-{page.stem}")
def test_a_notebook_is_that_of_its_page(page: Path) -> None:
    target = DOCS / "notebooks" / page.parts[-3] / f"{page.name[:2]}.ipynb"
    written = json.loads(target.read_text(encoding="utf-8"))["cells"]
    own = [cell for cell in notebook_of(page, target).cells if "myst_nb" not in cell.source]
    assert [cell["cell_type"] for cell in written] == [cell.cell_type for cell in own]
    for cell, expected in zip(written, own, strict=True):
        pattern = _VALUE.sub(lambda _: ".+?", re.escape(expected.source))
        assert re.fullmatch(pattern, "".join(cell["source"]), re.DOTALL), "make notebooks"
