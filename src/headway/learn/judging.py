"""Compare an answer with the right one: numbers, sequences and texts."""

import math
import unicodedata
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import ConfigError

_ENOUGH_DIGITS = 2

Readable = NDArray[Any]
"""Numbers or texts; without axes if it is a single one."""


class Fit(IntEnum):
    """How an answer fits the right one, from worst to best."""

    WRONG = 0
    COARSE = 1
    """The right number, rounded so far that another number could be meant."""
    ROUNDED = 2
    """The right number, rounded to the digits that were given."""
    EXACT = 3
    """The right text, or a number within the tolerance."""


def readable(value: object) -> Readable | None:
    """Return a value as an array of float64 or text; None if it is neither numbers nor text."""
    try:
        array = np.asarray(without_device(value))
    except (TypeError, ValueError):  # rows of different lengths
        return None
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    return array if array.dtype.kind == "U" else None


def without_device(value: Any) -> Any:
    """Return a tensor as an array; anything else as it is."""
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()  # NumPy: no bfloat16


def right_value(value: object) -> Readable:
    """Return a computed answer as an array; ConfigError if it is neither numbers nor text."""
    array = readable(value)
    if array is None:
        raise ConfigError(
            f"The answer of an exercise is of type {type(value).__name__}.",
            "Return a number, a list of numbers, an array, a text or a list of texts.",
        )
    return array


def same_form(right: Readable, given: Readable) -> bool:
    """Return True if both are numbers or both texts, with as many of them on each axis."""
    single = right.size == given.size == 1  # a tensor of one number is that number
    same_kind = (right.dtype.kind == "U") == (given.dtype.kind == "U")
    return same_kind and (single or right.shape == given.shape)


def fits(right: Readable, given: Readable, tolerance: float) -> list[Fit]:
    """Return the fit of each number or text; both have the same form."""
    if right.dtype.kind == "U":
        return [_fit_of_texts(str(a), str(b)) for a, b in zip(right.flat, given.flat, strict=True)]
    return [
        _fit_of_numbers(float(a), float(b), tolerance)
        for a, b in zip(right.flat, given.flat, strict=True)
    ]


def _fit_of_texts(right: str, given: str) -> Fit:
    return Fit.EXACT if _normal(right) == _normal(given) else Fit.WRONG


def _normal(text: str) -> str:
    """Return a text without differences of case, spaces, a final stop and the sign ▁ of a token."""
    plain = unicodedata.normalize("NFKC", text).replace("▁", " ").casefold()
    return " ".join(plain.split()).rstrip(".")


def _fit_of_numbers(right: float, given: float, tolerance: float) -> Fit:
    if not math.isfinite(given) or not math.isfinite(right):
        return Fit.EXACT if right == given else Fit.WRONG
    if abs(right - given) <= tolerance * (1 + 1e-9):
        return Fit.EXACT
    _, digits, exponent = Decimal(repr(given)).normalize().as_tuple()
    if right.is_integer() or not isinstance(exponent, int) or given == 0:
        return Fit.WRONG  # a count is not rounded, and a zero has no digits
    if abs(right - given) > 0.5 * 10.0**exponent * (1 + 1e-9) + 4 * math.ulp(right):
        return Fit.WRONG
    return Fit.ROUNDED if exponent < 0 and len(digits) >= _ENOUGH_DIGITS else Fit.COARSE
