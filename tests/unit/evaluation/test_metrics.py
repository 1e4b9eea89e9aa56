"""Scores are sacreBLEU's own, or can be worked by hand."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from headway.errors import ConfigError, DataError, HeadwayError, MissingExtraError
from headway.evaluation import metrics
from headway.evaluation.metrics import (
    METRICS,
    check_metrics,
    edit_distance,
    score_texts,
    tokenized_remark,
)

HYPOTHESES = [
    "The cat sat on the mat, and looked at me.",
    "There is 1 dog in the garden.",
    "",
    "나는 학생이다 .",
    "It costs $1,000.50 (today).",
]
REFERENCES = [
    "The cat was sitting on the mat and looked at me.",
    "There are two dogs in the garden.",
    "Nothing here.",
    "나는 학생입니다.",
    "It costs $1,000.50 today.",
]
WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.fixture(scope="module")
def by_command(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Return what the sacrebleu command says of the same text."""
    folder = tmp_path_factory.mktemp("text")
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        text = "".join(line + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    command = [
        *(sys.executable, "-m", "sacrebleu", str(folder / "references")),
        *("-i", str(folder / "hypotheses"), "-m", "bleu", "chrf", "ter", "-w", "10"),
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {score["name"].lower().removesuffix("2"): score for score in json.loads(output)}


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_scores_and_signatures_are_those_of_the_sacrebleu_command(
    by_command: dict[str, dict], name: str
) -> None:
    (score,) = score_texts(HYPOTHESES, REFERENCES, [name])

    assert score.value == pytest.approx(by_command[name]["score"], abs=1e-9)
    assert score.signature == by_command[name]["signature"]
    assert score.higher_is_better == (name != "ter")
    assert 0 < score.value < 100


def test_the_tokenization_of_bleu_is_in_its_signature() -> None:
    (default,) = score_texts(HYPOTHESES, REFERENCES, ["bleu"])
    (char,) = score_texts(HYPOTHESES, REFERENCES, ["bleu"], tokenize="char")

    assert "|tok:13a|" in default.signature
    assert "|tok:char|" in char.signature
    assert default.value != char.value


@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_text_that_is_tokenized_already_brings_no_warning_of_sacrebleu(
    tokenize: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["a b ."] * 120

    (score,) = score_texts(lines, lines, ["bleu"], tokenize=tokenize)

    assert f"|tok:{tokenize}|" in score.signature
    assert not caplog.records


def test_a_remark_says_that_text_is_tokenized_already() -> None:
    lines = ["a b ."] * 100 + ["a b."] * 20
    assert "100 of 120 references end in a period by itself" in tokenized_remark(lines, "13a")
    assert not tokenized_remark(lines, "none")
    assert not tokenized_remark(lines[1:], "13a")


def test_exact_is_the_share_of_equal_lines() -> None:
    (score,) = score_texts(["a b", "a  b", "c", ""], ["a b", "a b", "C", ""], ["exact"])

    assert (score.value, score.unit) == (50.0, "%")
    assert str(score) == "exact 50.00  share of equal lines|ends:stripped|unit:percent"


def test_word_error_rate_by_hand() -> None:
    # One substitution and one insertion against 3 words, two deletions against 2: 4 / 5.
    (score,) = score_texts(["a x c d", ""], ["a b c", "e f"], ["wer"])

    assert score.value == pytest.approx(80.0)
    assert not score.higher_is_better


def test_word_error_rate_of_empty_references() -> None:
    assert score_texts([""], [""], ["wer"])[0].value == 0.0
    assert score_texts(["a"], [""], ["wer"])[0].value == 100.0


def test_every_metric_has_one_unit_and_two_decimals() -> None:
    """Where every word is wrong, as where no line is right, it shows which unit is meant."""
    right = {score.name: score for score in score_texts(["a b c d"], ["a b c d"], list(METRICS))}
    wrong = {score.name: score for score in score_texts(["e f g h"], ["a b c d"], list(METRICS))}

    for name, score in right.items():
        best, worst = (100.0, 0.0) if score.higher_is_better else (0.0, 100.0)
        assert (score.value, wrong[name].value) == (
            pytest.approx(best),
            pytest.approx(worst, abs=25),
        )
        assert score.as_dict()["unit"] == "%"
        direction = " (lower is better)" if name in ("ter", "wer") else ""
        assert str(score).startswith(f"{name} {best:.2f}{direction}  ")


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("flaw", "lawn", 2), ("", "", 0)],
)
def test_known_edit_distances(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == distance


@given(one=WORDS, other=WORDS, third=WORDS)
def test_edit_distance_is_a_distance(one: list[str], other: list[str], third: list[str]) -> None:
    between = edit_distance(one, other)

    assert (between == 0) == (one == other)
    assert between == edit_distance(other, one)
    assert abs(len(one) - len(other)) <= between <= max(len(one), len(other))
    assert between <= edit_distance(one, third) + edit_distance(third, other)


@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=5))
def test_a_perfect_translation_has_no_errors(lines: list[str]) -> None:
    exact, wer = score_texts(lines, lines, ["exact", "wer"])

    assert (exact.value, wer.value) == (100.0, 0.0)


def test_scores_come_in_the_order_asked_for() -> None:
    names = ["wer", "bleu", "exact"]

    assert [score.name for score in score_texts(HYPOTHESES, REFERENCES, names)] == names


def test_a_score_is_plain_json() -> None:
    for score in score_texts(HYPOTHESES, REFERENCES, list(METRICS)):
        assert json.loads(json.dumps(score.as_dict())) == score.as_dict()


def test_different_numbers_of_lines_are_refused() -> None:
    with pytest.raises(DataError, match="There are 2 translations and 1 references"):
        score_texts(["a", "b"], ["a"])


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to score"):
        score_texts([], [])


def test_an_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no metric 'chr'.*Did you mean 'chrf'"):
        score_texts(["a"], ["a"], ["bleu", "chr"])


def test_an_unknown_tokenization_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no tokenization '13b'.*Did you mean '13a'"):
        score_texts(["a"], ["a"], ["bleu"], tokenize="13b")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RuntimeError("extra dependencies"), MissingExtraError, r"pip install 'sacrebleu\[ko\]'"),
        (OSError("no network"), ConfigError, r"cannot fetch \(no network\)"),
    ],
)
def test_a_tokenization_for_which_something_is_missing_is_refused_beforehand(
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    kind: type[HeadwayError],
    message: str,
) -> None:
    class Lacking(BLEU):
        def __init__(self, **_: object) -> None:
            raise error

    monkeypatch.setattr(metrics, "BLEU", Lacking)
    with pytest.raises(kind, match=message):
        check_metrics(["bleu"], "ko-mecab")
    check_metrics(["chrf"], "ko-mecab")
