"""Length penalty and output limit (section 6.1, after Wu et al. 2016, equation 14)."""


def length_penalty(length: int, alpha: float) -> float:
    """Compute ((5 + |Y|) / 6)^alpha; |Y| counts the end symbol.

    >>> length_penalty(1, 0.6), round(length_penalty(19, 0.5), 9)
    (1.0, 2.0)
    """
    return ((5 + length) / 6) ** alpha
