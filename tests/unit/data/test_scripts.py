"""Scripts are called as they are written."""

import pytest

from headway.data.corpus import Pair
from headway.data.scripts import main_script, script_name
from headway.data.survey import survey


@pytest.mark.parametrize(
    ("text", "name"), [("日本語", "CJK"), ("ひらがな", "CJK"), ("abc", "Latin"), ("한글", "Hangul")]
)
def test_names_of_scripts(text: str, name: str) -> None:
    assert script_name(main_script(text)) == name


def test_a_finding_names_it_so() -> None:
    pairs = [Pair(f"source {number}", f"한국어 {number}") for number in range(30)]
    found = survey([*pairs, Pair("source", "日本語")])
    assert "target in CJK letters" in [finding.problem for finding in found]
