"""Scores that earlier versions recorded as shares are read in percent."""

from typing import Any

from headway.evaluation.metrics import METRICS, score_texts
from headway.evaluation.units import in_percent, scores_in_percent, validation_in_percent


def earlier(score: dict[str, Any]) -> dict[str, Any]:
    """Return a score as versions without units wrote it."""
    old = {key: value for key, value in score.items() if key != "unit"}
    if old["name"] in ("exact", "wer"):
        old["value"] /= 100
        old["signature"] = old["signature"].removesuffix("|unit:percent")
    return old


def test_an_earlier_score_is_read_as_what_is_written_now() -> None:
    for score in score_texts(["a b", "c"], ["a b", "d e"], list(METRICS)):
        assert in_percent(earlier(score.as_dict())) == score.as_dict()
        assert in_percent(score.as_dict()) == score.as_dict()


def test_a_report_keeps_all_else() -> None:
    old = {"name": "exact", "value": 0.25, "signature": "s"}
    new = {"name": "exact", "value": 25.0, "signature": "s|unit:percent", "unit": "%"}

    assert scores_in_percent({"steps": 3, "test": [old]}) == {"steps": 3, "test": [new]}
    assert scores_in_percent({"exact_match_unseen": 0.25}) == {"exact_match_unseen": 0.25}
    assert old["value"] == 0.25


def test_an_earlier_validation_is_read_in_percent() -> None:
    scores = {"bleu": 12.5, "wer": 0.5, "ter": 70.0}

    expected = {"bleu": 12.5, "wer": 50.0, "ter": 70.0}
    assert validation_in_percent({"scores": scores}) == expected
    assert validation_in_percent({"scores": expected, "unit": "%"}) == expected
