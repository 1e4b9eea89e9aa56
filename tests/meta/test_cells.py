"""The code cells of the site's pages run, in order, in one namespace a page.

Cells of pages with the trained demonstration run in `make docs`, which has it.
"""

import re
from pathlib import Path

import pytest
from tests.meta.pages import cells, pages, text_of

ALONE = [page for page in pages("en") if (all_cells := cells(text_of("en", page)))
         and "demonstration(" not in "".join(all_cells)]  # fmt: skip


@pytest.mark.parametrize("page", ALONE)
def test_the_cells_of_a_page_run(
    page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for number, code in enumerate(cells(text_of("en", page)), 1):
        exec(compile(code, f"{page}, cell {number}", "exec"), names)
    for name in re.findall(r"\{eval\}`(\w+)`", text_of("en", page)):
        assert name in names, name
