"""Numbers of things in messages: `1 step` and `1,200 steps`."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless the number is 1.

    >>> counted(1, "step"), counted(1200, "step")
    ('1 step', '1,200 steps')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
