"""Scores of translations against references; each carries the signature of how it was computed."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from headway.errors import ConfigError, DataError, MissingExtraError, suggest
from headway.evaluation.units import PERCENT

_TOKENIZED_LINES = 100


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
        return f"{self.name} {self.value:.2f}  {self.signature}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


Metric = Callable[[Sequence[str], Sequence[str], str], Score]


def score_texts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    metrics: Sequence[str] = ("bleu", "chrf"),
    tokenize: str = "13a",
) -> list[Score]:
    """Compare translations with one reference each.

    metrics: bleu, chrf, ter, exact, wer. tokenize: sacreBLEU's tokenization for BLEU; `none` for
    text that is tokenized already. Raises DataError when the two differ in number.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            f"There are {len(hypotheses)} translations and {len(references)} references.",
            "Give one reference for each translation, in the same order.",
        )
    if not references:
        raise DataError("There is nothing to score.", "Give at least one sentence.")
    check_metrics(metrics, tokenize)
    return [METRICS[name](hypotheses, references, tokenize) for name in metrics]


def tokenized_remark(texts: Sequence[str], tokenize: str) -> str:
    """Say that text which BLEU is to tokenize seems to be tokenized, if a hundred lines show it.

    The sign is sacreBLEU's: a line that ends in a period by itself.
    """
    count = sum(text.endswith(" .") for text in texts)
    if tokenize == "none" or count < _TOKENIZED_LINES:
        return ""
    return (
        f"{count:,} of {len(texts):,} references end in a period by itself, as tokenized text "
        f"does, which BLEU's tokenization ({tokenize}) cuts once more. For tokenized text it is "
        "'none'; only scores of one tokenization can be compared."
    )


def check_metrics(metrics: Sequence[str], tokenize: str = "13a") -> None:
    """Raise ConfigError for an unknown metric or tokenization, so that no work is lost to it."""
    for name in metrics:
        if name not in METRICS:
            raise ConfigError(f"There is no metric '{name}'.", suggest(name, METRICS))
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(
            f"sacreBLEU has no tokenization '{tokenize}'.", suggest(tokenize, BLEU.TOKENIZERS)
        )
    if "bleu" in metrics:
        _check_tokenization(tokenize)


def _check_tokenization(tokenize: str) -> None:
    """Refuse a tokenization for which something is missing here."""
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
            "Use it once where there is a network, or choose another, such as 13a or char.",
        ) from error


def _bleu(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Score:
    # `force` only silences what `tokenized_remark` says.
    metric = BLEU(tokenize=tokenize, force=True)
    score = metric.corpus_score(hypotheses, [references])
    return Score("bleu", score.score, str(metric.get_signature()))


def _chrf(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Score:
    metric = CHRF()
    score = metric.corpus_score(hypotheses, [references])
    return Score("chrf", score.score, str(metric.get_signature()))


def _ter(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Score:
    metric = TER()
    score = metric.corpus_score(hypotheses, [references])
    return Score("ter", score.score, str(metric.get_signature()), higher_is_better=False)


def _exact(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Score:
    # White space at the ends, such as the \r of a file from Windows, is no difference to a reader.
    equal = sum(h.strip() == r.strip() for h, r in zip(hypotheses, references, strict=True))
    signature = f"share of equal lines|ends:stripped|{PERCENT}"
    return Score("exact", 100 * equal / len(references), signature)


def _word_error_rate(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> Score:
    errors = words = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        errors += edit_distance(hypothesis.split(), reference.split())
        words += len(reference.split())
    value = 100 * errors / words if words else 100.0 * (errors > 0)
    signature = f"word edits / reference words|split:space|{PERCENT}"
    return Score("wer", value, signature, higher_is_better=False)


def edit_distance(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Count the insertions, deletions and substitutions that turn one into the other.

    >>> edit_distance("a b c".split(), "a x c d".split())
    2
    """
    previous = list(range(len(reference) + 1))
    for row, word in enumerate(hypothesis, 1):
        current = [row]
        for column, other in enumerate(reference, 1):
            substitution = previous[column - 1] + (word != other)
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
