"""The table of problems, the code that finds them and the page that explains them agree."""

import re
import tomllib
from pathlib import Path

import pytest

from headway.config.data import DataConfig
from headway.data.finding import Finding, by_harm
from headway.data.problems import Problem, problem_of, problems

ROOT = Path(__file__).parents[3]
SIDES = ("source", "target")


def ids_of_code() -> set[str]:
    """Return the ids in the calls that make findings, and those in tables."""
    ids: set[str] = set()
    for path in (ROOT / "src" / "headway" / "data").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        ids |= set(re.findall(r'(?:Finding|on_lines|_seen_earlier)\(\s*f?"([a-z{}-]+)"', text))
    named = ids - {"{id}-{side}", "length-{word}"}
    assert len(named) == len(ids) - 2
    named |= {"length-short", "length-long", "in-corpus", "in-corpus-of-other-tag"}
    of_a_side = (
        "broken-mojibake",
        "control-characters",
        "broken-codes",
        "html-codes",
        "lost-characters",
        "mojibake",
        "spaces",
        "tokenized",
        "end-marks",
    )
    named |= {f"{id}-{{side}}" for id in of_a_side}
    return {id.replace("{side}", side) for id in named for side in SIDES}


def test_table_and_code_have_the_same_ids() -> None:
    assert ids_of_code() == {problem.id for problem in problems()}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_has_every_id_in_the_order_of_harm(language: str) -> None:
    page = (ROOT / "docs" / language / "reference" / "findings.md").read_text(encoding="utf-8")
    table = page.partition(" | id | ")[2].partition("\n\n")[0]
    cells = [row.split(" | ")[1] for row in table.splitlines()[2:]]
    ids = [id for cell in cells for id in re.findall("`([a-z-]+)`", cell)]
    assert list(dict.fromkeys(ids)) == [problem.id for problem in problems()]


def test_the_most_harmful_come_first_and_those_without_lines_not_at_all() -> None:
    findings = [
        Finding("empty-source", "empty source", 1, (3,)),
        Finding("misaligned", "moved on", 5, (9,), through=14),
        Finding("misaligned", "moved", 5, (1,), through=6),
        Finding("copies", "copies", 0, ()),
        Finding("mojibake-target", "target broken", 2, (3, 4)),
    ]
    assert [finding.problem for finding in by_harm(findings)] == [
        "moved on",  # in their own order where they are of one kind
        "moved",
        "target broken",
        "empty source",
    ]


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.id)
def test_a_remedy_is_a_setting_that_exists_or_words(problem: Problem) -> None:
    for remedy in filter(None, (problem.remedy, problem.held_out)):
        assert remedy[0] == "-" or remedy[0].islower()
        for name, value in re.findall(r"--set data\.(\w+)=(\w+)", remedy):
            assert DataConfig(**tomllib.loads(f"{name} = {value}"))
    assert "--set" not in problem.held_out
    assert problem_of(problem.id) is problem
