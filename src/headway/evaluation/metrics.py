"""Scores of translations against references, each with the signature of its computation."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Float64
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from headway.data.texts import as_texts
from headway.errors import ConfigError, DataError, MissingExtraError, require_type, suggest
from headway.evaluation.units import PERCENT

_TOKENIZED_LINES = 100
_METRICS_REMEDY = "Give a list of names, such as ['bleu', 'chrf']."
_COMET_REMEDY = (
    "Write the translations with `headway evaluate --out hyp.txt`, and in an environment with "
    "unbabel-comet run `comet-score -s SOURCE -t hyp.txt -r REFERENCE`."
)


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a whole corpus."""

    name: str
    value: float
    """In percent, whatever the metric; TER and WER can exceed 100."""
    signature: str
    higher_is_better: bool = True
    unit: str = "%"

    def __str__(self) -> str:
        """Return the score as one line: name, value with two decimals, signature."""
        return f"{self.name} {self.value:.2f}{self.direction}  {self.signature}"

    @property
    def direction(self) -> str:
        """A remark behind the name or value of a score that is better if lower; else empty."""
        return "" if self.higher_is_better else " (lower is better)"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Counts:
    """A metric's counts for each sentence, and the function from sums of counts to a score."""

    name: str
    rows: Float64[np.ndarray, "N K"]
    value: Callable[[list[float]], float]
    """Takes the sum of some rows and returns their score in percent."""
    signature: str
    higher_is_better: bool = True

    def score(self) -> Score:
        """Return the score of all sentences together."""
        value = self.value(self.rows.sum(axis=0).tolist())
        return Score(self.name, value, self.signature, self.higher_is_better)


Metric = Callable[[Sequence[str], Sequence[str], str], Counts]


def score_texts(
    hypotheses: Iterable[str],
    references: Iterable[str],
    metrics: Iterable[str] = ("bleu", "chrf"),
    tokenize: str = "13a",
) -> list[Score]:
    """Compare translations with one reference each.

    metrics: bleu, chrf, ter, exact, wer. tokenize: sacreBLEU's tokenization for BLEU; `none` for
    text that is tokenized already. Raises DataError if the two differ in number or are not texts,
    ConfigError for an unknown metric or tokenization.

    Elsewhere: bleu, bleu_score, compute_bleu, get_bleu.
    """
    return [counts.score() for counts in count_texts(hypotheses, references, metrics, tokenize)]


def count_texts(
    hypotheses: Iterable[str],
    references: Iterable[str],
    metrics: Iterable[str],
    tokenize: str = "13a",
) -> list[Counts]:
    """Return for each metric its counts of each sentence; arguments as in `score_texts`."""
    translated = as_texts(hypotheses, "hypotheses")
    correct = as_texts(references, "references")
    if len(translated) != len(correct):
        raise DataError(
            f"There are {len(translated):,} translations and {len(correct):,} references.",
            "Give one reference for each translation, in the same order.",
        )
    if not correct:
        raise DataError("There is nothing to score.", "Give at least one sentence.")
    metrics = check_metrics(metrics, tokenize)
    return [METRICS[name](translated, correct, tokenize) for name in metrics]


def tokenized_remark(texts: Sequence[str], tokenize: str) -> str:
    """Return a remark if text seems tokenized already, but BLEU would tokenize it again.

    The sign is sacreBLEU's: a hundred lines that end in a period by itself.
    """
    count = sum(text.endswith(" .") for text in texts)
    if tokenize == "none" or count < _TOKENIZED_LINES:
        return ""
    return (
        f"{count:,} of {len(texts):,} references end in a period by itself, as in tokenized text, "
        f"but BLEU's tokenization ({tokenize}) cuts it once more. For tokenized text choose "
        "'none'; only scores of one tokenization can be compared."
    )


def check_metrics(metrics: Iterable[str], tokenize: str = "13a") -> list[str]:
    """Return the names of metrics; ConfigError for an unknown metric or tokenization."""
    require_type("metrics", metrics, Iterable, _METRICS_REMEDY)
    if isinstance(metrics, str):
        raise ConfigError(f"metrics is the single text '{metrics}'.", _METRICS_REMEDY)
    metrics = list(metrics)
    for name in metrics:
        require_type("A metric", name, str, _METRICS_REMEDY)
        if name.lower() == "comet":
            raise ConfigError(
                "COMET is not computed here, because its package needs older "
                "versions of NumPy and Transformers than Headway.",
                _COMET_REMEDY,
            )
        if name not in METRICS:
            raise ConfigError(f"There is no metric '{name}'.", suggest(name, METRICS))
    require_type("tokenize", tokenize, str, "Give a name, such as '13a' or 'none'.")
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(
            f"sacreBLEU has no tokenization '{tokenize}'.", suggest(tokenize, BLEU.TOKENIZERS)
        )
    if "bleu" in metrics:
        _check_tokenization(tokenize)
    return metrics


def _check_tokenization(tokenize: str) -> None:
    """Raise an error for a tokenization that needs a missing package or file."""
    try:
        BLEU(tokenize=tokenize, force=True)
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError(
            f"sacreBLEU's tokenization '{tokenize}' needs a package that is not installed.",
            f"pip install 'sacrebleu[{tokenize[:2]}]', or choose another tokenization.",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"sacreBLEU's tokenization '{tokenize}' needs a file that it cannot fetch ({error}).",
            "Use it once with a network, or choose another, such as 13a or char.",
        ) from error


def _bleu(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Counts:
    # `force` only silences sacreBLEU's warning; `tokenized_remark` says the same.
    return _sacrebleu("bleu", BLEU(tokenize=tokenize, force=True), hypotheses, references)


def _chrf(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Counts:
    return _sacrebleu("chrf", CHRF(), hypotheses, references)


def _ter(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Counts:
    return _sacrebleu("ter", TER(), hypotheses, references)


def _sacrebleu(
    name: str,
    metric: BLEU | CHRF | TER,
    hypotheses: Sequence[str],
    references: Sequence[str],
) -> Counts:
    """Return the counts that sacreBLEU's own significance tests use."""
    rows = metric._extract_corpus_statistics(hypotheses, [references])
    return Counts(
        name,
        np.array(rows, dtype=np.float64),
        lambda sums: float(metric._compute_score_from_stats(cast("Any", sums)).score),
        str(metric.get_signature()),
        higher_is_better=name != "ter",
    )


def _exact(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Counts:
    # A reader sees no difference in white space at the ends, such as the \r of Windows files.
    equal = [h.strip() == r.strip() for h, r in zip(hypotheses, references, strict=True)]
    rows = np.array([(same, 1.0) for same in equal])
    signature = f"share of equal lines|ends:stripped|{PERCENT}"
    return Counts("exact", rows, lambda sums: 100 * sums[0] / sums[1], signature)


def _word_error_rate(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Counts:
    words = [(h.split(), r.split()) for h, r in zip(hypotheses, references, strict=True)]
    rows = np.array([(edit_distance(h, r), len(r)) for h, r in words], dtype=np.float64)
    signature = f"word edits / reference words|split:space|{PERCENT}"
    return Counts("wer", rows, _error_rate, signature, higher_is_better=False)


def _error_rate(sums: list[float]) -> float:
    errors, words = sums
    return 100 * errors / words if words else 100.0 * (errors > 0)


def edit_distance(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Count the insertions, deletions and substitutions that turn one into the other.

    >>> edit_distance("a b c".split(), "a x c d".split())
    2
    """
    previous = list(range(len(reference) + 1))
    for row, word in enumerate(hypothesis, 1):
        current = [row]
        for column, correct in enumerate(reference, 1):
            substitution = previous[column - 1] + (word != correct)
            current.append(min(previous[column] + 1, current[-1] + 1, substitution))
        previous = current
    return previous[-1]


METRICS: dict[str, Metric] = {
    "bleu": _bleu,
    "chrf": _chrf,
    "exact": _exact,
    "ter": _ter,
    "wer": _word_error_rate,
}
