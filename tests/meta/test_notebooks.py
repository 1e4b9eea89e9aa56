"""The notebooks are those of the ten pages: their cells, run, under a size that can be sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.meta.pages import DOCS, LANGUAGES, cells, text_of

PAPER = DOCS / "en" / "paper"
NAMES = sorted(path.stem for path in PAPER.glob("[0-9][0-9]-*.md"))
MADE = "make it anew: `make notebooks`"
# A cell that installs, or that shows the explorer, is not run for the file.
_NOT_RUN = "no-run"


def _notebook(language: str, name: str) -> dict[str, Any]:
    path = DOCS / "notebooks" / language / f"{name[:2]}.ipynb"
    assert path.is_file(), MADE
    assert path.stat().st_size <= 300_000
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_cells_of_its_page(language: str, name: str) -> None:
    code = [cell for cell in _notebook(language, name)["cells"] if cell["cell_type"] == "code"]
    assert "%pip install" in "".join(code[0]["source"])
    run = [cell for cell in code if _NOT_RUN not in cell["metadata"].get("tags", [])]
    own = cells(text_of(language, f"paper/{name}"))
    assert ["".join(cell["source"]).strip() for cell in run] == [cell.strip() for cell in own], MADE
    outputs = [output for cell in run for output in cell["outputs"]]
    assert outputs
    assert [output for output in outputs if output["output_type"] == "error"] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_prose_of_a_notebook_has_no_directive(language: str, name: str) -> None:
    words = [
        "".join(cell["source"])
        for cell in _notebook(language, name)["cells"]
        if cell["cell_type"] == "markdown"
    ]
    prose = re.sub(r"^(`{3,}).*?^\1$", "", "\n".join(words), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"\{[\w:]+\}`|^:::.*|^\([\w-]+\)=$", prose, flags=re.MULTILINE) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_no_notebook_without_a_page(language: str) -> None:
    names = {path.stem for path in Path(DOCS / "notebooks" / language).glob("*")}
    assert names == {name[:2] for name in NAMES}
