"""Arithmetic in words: a step is a line that a reader can check with a pencil."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.inspection.phrases import Language, say


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """One line: words, the arithmetic with its numbers, and the result."""

    words: str
    expression: str
    """Such as `(0.5 × 2 + 1 × -3) / √2`; empty if nothing is computed."""
    value: float
    size: float
    """Sum of the added magnitudes, which bounds the rounding error."""

    def __str__(self) -> str:
        """Return the line."""
        if not self.expression:
            return f"{self.words}: {number(self.value)}"
        return f"{self.words}: {self.expression} = {number(self.value)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The computation of one number of a trace."""

    name: str
    place: str
    """Such as `head=1, query=0 («<s>» → «▁I»)`."""
    value: float
    """The number in the trace; the value of the last step is the same but for rounding."""
    equation: str
    sentence: str
    steps: tuple[ExplanationStep, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a number that is not finite is None."""
        steps = [
            {"words": step.words, "expression": step.expression, "value": _finite(step.value)}
            for step in self.steps
        ]
        return {
            "name": self.name,
            "place": self.place,
            "value": _finite(self.value),
            "equation": self.equation,
            "sentence": self.sentence,
            "steps": steps,
        }

    def __str__(self) -> str:
        """Return all lines: the number, its equation, its meaning, and the steps."""
        head = f"{self.name}[{self.place}] = {number(self.value)}"
        about = [f"  {self.equation}", f"  {self.sentence}"] if self.equation else []
        return "\n".join([head, *about, *(f"  {step}" for step in self.steps)])

    __repr__ = __str__


def number(value: float) -> str:
    """Return a number with six digits."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.6g}"


def weighted_sum(
    left: Sequence[float], right: Sequence[float], language: Language, terms: int
) -> tuple[str, str, float, float]:
    """Return the sum of products as text, a note on hidden terms, its value and its size."""
    products = [a * b for a, b in zip(left, right, strict=True)]
    texts = [f"{number(a)} × {number(b)}" for a, b in zip(left, right, strict=True)]
    text, note = written_sum(texts, products, language, terms)
    return text, note, total(products), total(map(abs, products))


def total(values: Iterable[float]) -> float:
    """Return the sum, as exact as possible; NaN for infinities of both signs."""
    values = list(values)
    return math.fsum(values) if all(map(math.isfinite, values)) else sum(values)


def written_sum(
    texts: Sequence[str], values: Sequence[float], language: Language, terms: int
) -> tuple[str, str]:
    """Return a sum as text and a note; of many terms, the largest and the sum of the others."""
    if len(texts) <= terms + 1:
        return join(texts), ""
    by_size = sorted(range(len(values)), key=lambda place: -abs(values[place]))
    remainder = total(values[place] for place in by_size[terms:])
    text = join([*(texts[place] for place in sorted(by_size[:terms])), number(remainder)])
    return text, say("rest", language, shown=terms, count=len(texts))


def join(texts: Sequence[str]) -> str:
    """Join terms with plus, or with the minus that a term begins with."""
    first, *later = texts
    signed = (f" - {text[1:]}" if text.startswith("-") else f" + {text}" for text in later)
    return first + "".join(signed)


def softmax_steps(
    row: Sequence[float], chosen: int, language: Language, terms: int, *, log: bool = False
) -> list[ExplanationStep]:
    """Return the steps from a row of scores, which may be minus infinity, to one share of it."""
    largest = max(row)
    powers = [math.exp(score - largest) for score in row]
    seen = [place for place, score in enumerate(row) if score > -math.inf]
    texts = [f"exp({_less(row[place], largest)})" for place in seen]
    text, note = written_sum(texts, [powers[place] for place in seen], language, terms)
    whole = math.fsum(powers)
    steps = [
        ExplanationStep(say("largest", language), "", largest, abs(largest)),
        ExplanationStep(
            say("denominator", language) + note, text, whole, whole * (1 + abs(largest))
        ),
    ]
    if log:
        value = row[chosen] - largest - math.log(whole)
        expression = f"{_less(row[chosen], largest)} - log({number(whole)})"
        size = abs(row[chosen]) + abs(largest)
        return [*steps, ExplanationStep(say("log_probability", language), expression, value, size)]
    expression = f"exp({_less(row[chosen], largest)}) / {number(whole)}"
    share = powers[chosen] / whole
    # The absolute error of a score is the relative error of its exponential.
    size = share * (1 + abs(row[chosen]) + abs(largest))
    return [*steps, ExplanationStep(say("share", language), expression, share, size)]


def mean_step(row: Sequence[float], language: Language, terms: int) -> ExplanationStep:
    """Return the step to the mean of a row."""
    text, note = written_sum([number(z) for z in row], row, language, terms)
    size = total(map(abs, row)) / len(row)
    words = say("mean", language, count=len(row)) + note
    return ExplanationStep(words, f"({text}) / {len(row)}", total(row) / len(row), size)


def variance_step(
    row: Sequence[float], mean: float, language: Language, terms: int
) -> ExplanationStep:
    """Return the step to the variance of a row, divided by its length."""
    squares = [(z - mean) ** 2 for z in row]
    texts = [f"({_less(z, mean)})^2" for z in row]
    text, note = written_sum(texts, squares, language, terms)
    value = total(squares) / len(row)
    return ExplanationStep(say("variance", language) + note, f"({text}) / {len(row)}", value, value)


def layer_norm_steps(
    row: Sequence[float],
    chosen: int,
    scale: tuple[float, float, float],
    language: Language,
    terms: int,
) -> list[ExplanationStep]:
    """Return the steps of LayerNorm for one number of a row; scale is gamma, beta, epsilon."""
    gamma, beta, epsilon = scale
    mean = mean_step(row, language, terms)
    variance = variance_step(row, mean.value, language, terms)
    root = math.sqrt(variance.value + epsilon)
    value = (row[chosen] - mean.value) / root * gamma + beta
    fraction = f"({_less(row[chosen], mean.value)}) / √({number(variance.value)} + {epsilon:g})"
    expression = join([f"{fraction} × {number(gamma)}", number(beta)])
    size = (abs(row[chosen]) + mean.size) / root * abs(gamma) + abs(beta)
    return [mean, variance, ExplanationStep(say("normalized", language), expression, value, size)]


def _less(a: float, b: float) -> str:
    return f"{number(a)} - {number(b)}" if b >= 0 else f"{number(a)} + {number(-b)}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
