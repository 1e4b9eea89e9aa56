"""Differences of systems: their spread is sacreBLEU's, and their law that of the bootstrap."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from headway.errors import ConfigError, DataError
from headway.evaluation import comparing
from headway.evaluation.comparing import SystemComparison, compare_texts, sentence_chrf
from headway.evaluation.metrics import METRICS, count_texts, score_texts

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "big", "red"]
EVERY = list(METRICS)


def text(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(count)]


def spoiled(lines: Sequence[str], share: float, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split())
        for line in lines
    ]


REFERENCES = text(40, 1)
WORSE = spoiled(REFERENCES, 0.5, 2)
BETTER = spoiled(REFERENCES, 0.2, 3)


def differences(found: SystemComparison) -> dict[str, Any]:
    return {each.metric: each for each in found.differences}


def test_resampled_scores_are_those_of_sacrebleu() -> None:
    """The same seed draws the same sentences, so mean and spread are the same."""
    _, theirs = PairedTest(
        [("worse", WORSE), ("better", BETTER)],
        {"bleu": BLEU(), "chrf": CHRF()},
        [REFERENCES],
        test_type="bs",
        n_samples=200,
    )()
    counts = {"better": count_texts(BETTER, REFERENCES, ["bleu", "chrf"])}

    (bleu, chrf) = comparing._resampled(counts, 200, comparing.SEED)["better"]

    for ours, name in ((bleu, "BLEU"), (chrf, "chrF2")):
        result: Any = theirs[name][1]
        assert ours.mean() == pytest.approx(result.mean, abs=1e-3)
        ordered = np.sort(ours)
        assert (ordered[194] - ordered[5]) / 2 == pytest.approx(result.ci, abs=1e-3)


def test_scores_are_those_of_each_system_alone() -> None:
    found = compare_texts({"worse": WORSE, "better": BETTER}, REFERENCES, EVERY, resamples=100)

    assert found.scores["worse"] == score_texts(WORSE, REFERENCES, EVERY)
    assert found.scores["better"] == score_texts(BETTER, REFERENCES, EVERY)
    for metric, difference in differences(found).items():
        first, second = (
            {score.name: score.value for score in scores}[metric]
            for scores in found.scores.values()
        )
        assert difference.value == pytest.approx(second - first)
        assert difference.low < difference.value < difference.high


def test_a_clear_difference_is_significant_and_equal_systems_are_not() -> None:
    systems = {"worse": WORSE, "better": BETTER, "same": WORSE}
    found = compare_texts(systems, REFERENCES, EVERY, resamples=100)

    for each in found.differences:
        if each.system == "better":
            assert each.p_value == pytest.approx(1 / 101)
            assert each.low > 0 or each.high < 0
        else:
            assert (each.value, each.low, each.high, each.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_p_values_of_systems_that_do_not_differ_are_spread_evenly() -> None:
    """Under the null hypothesis a share of about 20 % of them is below 0.2."""
    found = []
    for seed in range(60):
        lines = text(30, seed)
        pair = {"a": spoiled(lines, 0.4, 100 + seed), "b": spoiled(lines, 0.4, 900 + seed)}
        (chrf,) = compare_texts(pair, lines, ["chrf"], resamples=100).differences
        found.append(chrf.p_value)

    assert 3 <= sum(value < 0.2 for value in found) <= 21  # binomial(60, 0.2): beyond 3 sigma
    assert sum(found) / 60 == pytest.approx(0.5, abs=0.12)


def test_the_seed_decides_the_draws_and_is_named() -> None:
    systems = {"worse": WORSE, "better": BETTER}
    one, again, other = (
        compare_texts(systems, REFERENCES, ["chrf"], resamples=100, seed=seed) for seed in (7, 7, 8)
    )

    assert one.as_dict() == again.as_dict()
    assert one.differences[0].low != other.differences[0].low
    assert "resamples:100|seed:7|" in one.signature


def test_draws_in_parts_are_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"better": count_texts(BETTER, REFERENCES, EVERY)}
    whole = comparing._resampled(counts, 30, 5)["better"]
    monkeypatch.setattr(comparing, "_AT_ONCE", 7 * len(REFERENCES))

    parts = comparing._resampled(counts, 30, 5)["better"]

    np.testing.assert_array_equal(parts, whole)


def test_the_sentences_furthest_apart_come_first() -> None:
    right = ["the cat sat", "a dog ran", "the mat", "a red dog"]
    first = ["the cat sat", "zzz", "the mat", "a red cat"]
    second = ["the cat sat", "a dog ran", "the mats", "a red dog"]

    found = compare_texts({"one": first, "two": second}, right, resamples=100)

    assert found.furthest(10) == [1, 3, 2]  # the first sentence is the same in both
    assert found.furthest(1) == [1]
    assert found.sentence_chrf["one"] == sentence_chrf(first, right)
    assert found.sentence_chrf["one"][0] == pytest.approx(100.0)


def test_the_table_names_metric_system_and_method() -> None:
    lines = compare_texts({"one": WORSE, "two": BETTER}, REFERENCES, resamples=100).lines()

    assert [line.split()[0] for line in lines] == [
        "bleu", "one", "two", "chrf", "one", "two", "Differences"
    ]  # fmt: skip
    assert "tok:13a" in lines[0]
    assert "p = 0.010" in lines[2]
    assert lines[-1].startswith("Differences are to one: paired bootstrap|resamples:100|seed:12345")


@pytest.mark.parametrize(
    ("systems", "error", "message"),
    [
        ({"a": ["x", "y"]}, DataError, "translations of 1 systems"),
        ([["x", "y"], ["x", "y"]], ConfigError, "translations is of type list"),
        ({"a": ["x", "y"], "b": ["x"]}, DataError, "1 translations and 2 references"),
        ({"a": ["x", "y"], "b": "xy"}, DataError, r"translations\['b'\] is a single text"),
        ({"a": ["x", "y"], "b": [["x", "y"]]}, DataError, "is of type list, not text"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    systems: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compare_texts(systems, ["x", "y"])


def test_one_sentence_and_few_draws_are_refused() -> None:
    with pytest.raises(DataError, match="one sentence to compare"):
        compare_texts({"a": ["x"], "b": ["y"]}, ["x"])
    with pytest.raises(ConfigError, match="resamples is 99, but must be at least 100"):
        compare_texts({"a": WORSE, "b": BETTER}, REFERENCES, resamples=99)
    with pytest.raises(ConfigError, match="seed is of type str"):
        compare_texts({"a": WORSE, "b": BETTER}, REFERENCES, seed="1")  # type: ignore[arg-type]
