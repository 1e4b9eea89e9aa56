"""Texts that a caller gives in Python: a list of them, or a refusal that says what was given."""

from collections.abc import Iterable, Mapping, Set

from headway.errors import DataError


def as_texts(given: object, name: str) -> list[str]:
    """Return the texts of a list, tuple, array, series or generator, in their order.

    name: that of the argument, for the message. Raises DataError for a single text, for what has
    no order, and for what holds anything but texts.
    """
    if isinstance(given, str):
        raise DataError(f"{name} is a single text.", "Give a list of texts, one for each sentence.")
    if (
        isinstance(given, (bytes, bytearray, Mapping, Set))
        or not isinstance(given, Iterable)
        or getattr(given, "ndim", 1) != 1
    ):
        raise DataError(
            f"{name} is {_kind(given)}, not a list of texts.",
            "Give a list of texts, one for each sentence.",
        )
    texts = list(given)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise DataError(
                f"Number {number} of {name} (counted from 1) is {_kind(text)}, not text.",
                "Give one text for each sentence, not a list of lists."
                if isinstance(text, (list, tuple))
                else "Give one text for each sentence; an empty one where there is none.",
            )
    return texts


def _kind(given: object) -> str:
    """Return what a value is, for a message, such as `of type ndarray with 2 axes`."""
    if given is None:
        return "None"
    axes = getattr(given, "ndim", 1)
    return f"of type {type(given).__name__}" + (f" with {axes} axes" if axes != 1 else "")
