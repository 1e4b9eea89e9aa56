"""Compare several translations of one text: is a difference more than chance (Koehn 2004)?

The sentences are drawn many times, with replacement. Each draw gives all systems a score of the
same sentences. The spread of the differences between these scores is that of chance.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from headway.data.texts import as_texts
from headway.errors import ConfigError, DataError, require_type
from headway.evaluation.metrics import Counts, Score, count_texts

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's
_FEWEST = 100  # resamples: fewer have no 2.5 % at either end
_AT_ONCE = 4_000_000  # sentences drawn


@dataclass(frozen=True, slots=True)
class Difference:
    """The distance of a system's score from that of the first system, in percentage points."""

    system: str
    metric: str
    value: float
    """Above 0, the score is higher than the first system's, which is worse in TER and WER."""
    low: float
    high: float
    """95 % of the resampled differences are from `low` to `high`."""
    p_value: float
    """The probability of a difference at least this large, in either direction, by chance."""


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Scores of several systems, and the significance of their differences."""

    scores: dict[str, list[Score]]
    """By system, a score for each metric."""
    differences: list[Difference]
    """For each metric, those of every other system from the first."""
    signature: str
    """Method, number of resamples and seed of the intervals and p-values."""
    sentence_chrf: dict[str, list[float]]
    """By system, the chrF of each sentence."""

    def furthest(self, count: int) -> list[int]:
        """Return the sentences, from 0, whose chrF is furthest from the first system's.

        Sentences without a difference are left out; the earlier sentence wins a tie.
        """
        first, *later = (np.array(chrf) for chrf in self.sentence_chrf.values())
        distances = np.max([abs(chrf - first) for chrf in later], axis=0)
        order = np.argsort(-distances, kind="stable")[:count]
        return [int(place) for place in order if distances[place] > 0]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "systems": [
                {"name": name, "scores": [score.as_dict() for score in scores]}
                for name, scores in self.scores.items()
            ],
            "differences": [asdict(difference) for difference in self.differences],
            "comparison": self.signature,
        }

    def lines(self) -> list[str]:
        """Return a table for each metric, for people."""
        width = max(len(name) for name in self.scores)
        first, *_ = self.scores
        by_system_and_metric = {(d.system, d.metric): d for d in self.differences}
        lines = []
        for number, metric in enumerate(self.scores[first]):
            lines.append(f"{metric.name}{metric.direction}  {metric.signature}")
            for system, scores in self.scores.items():
                cells = [f"  {system:<{width}}  {scores[number].value:7.2f}"]
                if (difference := by_system_and_metric.get((system, metric.name))) is not None:
                    cells.append(f"{difference.value:+7.2f}")
                    cells.append(f"95 %: {difference.low:+.2f} to {difference.high:+.2f}")
                    cells.append(f"p = {difference.p_value:.3f}")
                lines.append("  ".join(cells))
        return [*lines, f"Differences are to {first}: {self.signature}"]


def compare_texts(
    translations: Mapping[str, Iterable[str]],
    references: Iterable[str],
    metrics: Iterable[str] = ("bleu", "chrf"),
    tokenize: str = "13a",
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SystemComparison:
    """Compare the translations of several systems by paired bootstrap resampling.

    translations: by the name of each system, in the order of the references. All later systems are
    compared with the first. metrics, tokenize: as in `headway.score_texts`. resamples: draws, each
    with the number of sentences of the text. Raises DataError if the numbers of sentences of a
    system and of the references differ, or for fewer than two systems or sentences.
    """
    _check_request(translations, resamples, seed)
    correct = as_texts(references, "references")
    metrics = list(metrics) if not isinstance(metrics, str) else metrics
    counts: dict[str, list[Counts]] = {}
    chrf: dict[str, list[float]] = {}
    for system, texts in translations.items():
        translated = as_texts(texts, f"translations['{system}']")
        counts[system] = count_texts(translated, correct, metrics, tokenize)
        chrf[system] = sentence_chrf(translated, correct)
    if len(correct) < 2:
        raise DataError(
            "There is only one sentence to compare.", "Give at least two; hundreds are better."
        )
    return SystemComparison(
        {system: [metric.score() for metric in some] for system, some in counts.items()},
        _differences(counts, resamples, seed),
        f"paired bootstrap|resamples:{resamples}|seed:{seed}|p:two-sided|interval:95% percentile",
        chrf,
    )


def sentence_chrf(hypotheses: Iterable[str], references: Iterable[str]) -> list[float]:
    """Return the chrF of each sentence by itself."""
    (counts,) = count_texts(hypotheses, references, ["chrf"])
    return [counts.value(row) for row in counts.rows.tolist()]


def _check_request(translations: object, resamples: int, seed: int) -> None:
    remedy = "Give a dictionary: {'name of a system': its translations, …}."
    require_type("translations", translations, Mapping, remedy)
    assert isinstance(translations, Mapping)
    if len(translations) < 2:
        raise DataError(f"There are translations of {len(translations)} systems.", remedy)
    for name, number, smallest in (("resamples", resamples, _FEWEST), ("seed", seed, 0)):
        require_type(name, number, (int, np.integer), f"Give {name} as a whole number.")
        if number < smallest:
            raise ConfigError(f"{name} is {number}, but must be at least {smallest}.", "Raise it.")


def _differences(counts: dict[str, list[Counts]], resamples: int, seed: int) -> list[Difference]:
    resampled = _resampled(counts, resamples, seed)
    first, *later = counts
    differences = []
    for number, metric in enumerate(counts[first]):
        for system in later:
            value = counts[system][number].score().value - metric.score().value
            spread = resampled[system][number] - resampled[first][number]
            low, high = np.percentile(spread, [2.5, 97.5]).tolist()
            # With its mean shifted to 0, the spread is that of chance alone. The difference itself
            # adds 1 to both counts (Phipson and Smyth 2010), so that no p-value is 0.
            as_far = np.abs(spread - spread.mean()) >= abs(value) - 1e-9
            p_value = (int(as_far.sum()) + 1) / (resamples + 1)
            differences.append(Difference(system, metric.name, value, low, high, p_value))
    return differences


def _resampled(
    counts: dict[str, list[Counts]], resamples: int, seed: int
) -> dict[str, Float64[np.ndarray, "M B"]]:
    """Return for each system the scores of each metric in each draw of sentences."""
    metrics = [metric for some in counts.values() for metric in some]
    rows = np.concatenate([metric.rows for metric in metrics], axis=1)  # (N, all counts)
    sums = _sums_of_draws(rows, resamples, seed)
    ends = np.cumsum([metric.rows.shape[1] for metric in metrics])[:-1]
    scores = iter(
        [
            [metric.value(draw) for draw in draws.tolist()]
            for metric, draws in zip(metrics, np.split(sums, ends, axis=1), strict=True)
        ]
    )
    return {system: np.array([next(scores) for _ in some]) for system, some in counts.items()}


def _sums_of_draws(
    rows: Float64[np.ndarray, "N C"], resamples: int, seed: int
) -> Float64[np.ndarray, "B C"]:
    """Return the sum of the rows of each draw; a row counts as often as it was drawn."""
    generator = np.random.default_rng(seed)
    size = len(rows)
    sums = []
    while resamples > 0:
        some = min(resamples, max(_AT_ONCE // size, 1))
        draws = generator.choice(size, size=(some, size))
        times = np.stack([np.bincount(draw, minlength=size) for draw in draws])
        sums.append(times.astype(np.float64) @ rows)
        resamples -= some
    return np.concatenate(sums)
