"""The unit of recorded scores: percent, also for what earlier versions recorded as shares."""

from typing import Any

PERCENT = "unit:percent"
"""Part of the signature of a score that was once a share."""

_ONCE_SHARES = ("exact", "wer")


def in_percent(score: dict[str, Any]) -> dict[str, Any]:
    """Return a score of a report in percent.

    score: as `Score.as_dict` returns it. Reports of earlier versions name no unit and have `exact`
    and `wer` as shares.
    """
    if "unit" in score or score["name"] not in _ONCE_SHARES:
        return {"unit": "%"} | score
    value, signature = 100 * score["value"], f"{score['signature']}|{PERCENT}"
    return score | {"value": value, "signature": signature, "unit": "%"}


def scores_in_percent(record: dict[str, Any]) -> dict[str, Any]:
    """Return a report, or the record of a bundle, with all its scores in percent."""
    texts = [text for text in ("valid", "test") if text in record]
    return record | {text: [in_percent(score) for score in record[text]] for text in texts}


def validation_in_percent(record: dict[str, Any]) -> dict[str, float]:
    """Return the scores of a validation in metrics.jsonl by name, in percent."""
    scores = record["scores"]
    if "unit" in record:
        return scores
    return {n: 100 * value if n in _ONCE_SHARES else value for n, value in scores.items()}
