"""A run whose translations are empty, or all the same, ends with the cause."""

import pytest

from headway.training.unlearned import unlearned_remark

SOURCES = [f"sentence {number}" for number in range(6)]


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["", "", "", "", "a", "b"], "test: 4 of 6 translations are empty."),
        (["the", "the", "the", "the", "", "b"], "test: 4 of 6 translations are the same, 'the'."),
    ],
)
def test_the_cause_and_a_remedy_are_said(outputs: list[str], words: str) -> None:
    remark = unlearned_remark("test", SOURCES, outputs, 13)
    assert remark is not None
    assert remark.startswith(words)
    assert "too little in 13 steps: train for more steps" in remark


@pytest.mark.parametrize("outputs", [["", "", "", "a", "b", "c"], list("abcdef")])
def test_half_of_the_lines_are_no_reason(outputs: list[str]) -> None:
    assert unlearned_remark("test", SOURCES, outputs, 13) is None


def test_one_source_has_one_translation() -> None:
    assert unlearned_remark("test", ["a"] * 9, ["b"] * 9, 13) is None
