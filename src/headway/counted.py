"""Numbers and lists of things in messages: `1 step`, `1,200 steps`, `a, b and 7 more`."""

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless the number is 1.

    >>> counted(1, "step"), counted(1200, "step")
    ('1 step', '1,200 steps')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Iterable[object], most: int = 24) -> str:
    """Return names with commas between, only the first of them if there are many.

    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    texts = [str(name) for name in names]
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
