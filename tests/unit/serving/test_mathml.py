"""Formulas are well-formed, and keep nothing of LaTeX that a reader would see."""

import xml.etree.ElementTree as ET

import pytest

from headway.inspection.catalog import catalog
from headway.inspection.model_kind import Variant
from headway.serving.mathml import mathml

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("positions", ["interleaved", "halved", "split", "learned"])
def test_every_formula_of_the_catalog_is_mathml(positions: str, first: int) -> None:
    for row in catalog(Variant(positions=positions, first_position=first)).values():
        root = ET.fromstring(mathml(row.latex))
        shown = "".join(root.itertext())
        assert not {*shown} & {*"\\&_"} - ({"_"} if r"\_" in row.latex else set()), row.pattern
        assert "begin" not in shown


def test_lines_of_a_formula_are_rows_of_a_table() -> None:
    root = ET.fromstring(mathml(r"\begin{aligned}a&=b\\c&=d\end{aligned}", "inline"))
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter(f"{NAMESPACE}mtr")]
    assert rows == [["a", "=b"], ["c", "=d"]]
    assert root.get("display") == "inline"
