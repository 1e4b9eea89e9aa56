"""Length penalties (section 6.1, after Wu et al. 2016, equation 14)."""

from typing import Literal

LengthForm = Literal["gnmt", "plain"]


def length_penalty(length: int, alpha: float, form: LengthForm = "gnmt") -> float:
    """Compute ((5 + |Y|) / 6)^alpha, or plain |Y|^alpha; |Y| counts the end symbol.

    >>> length_penalty(1, 0.6), round(length_penalty(19, 0.5), 9)
    (1.0, 2.0)
    >>> length_penalty(9, 0.5, "plain")
    3.0
    """
    return (length if form == "plain" else (5 + length) / 6) ** alpha
