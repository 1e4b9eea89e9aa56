"""Check that an argument is a list of texts."""

from collections.abc import Iterable, Mapping, Set

from headway.errors import DataError


def as_texts(value: object, name: str) -> list[str]:
    """Return the texts of a list, tuple, array, series or generator, in their order.

    name: the argument's name, used in messages. Raises DataError for a single text, an unordered
    collection, or an item that is not a text.
    """
    if isinstance(value, str):
        raise DataError(f"{name} is a single text.", "Give a list of texts, one for each sentence.")
    if (
        isinstance(value, (bytes, bytearray, Mapping, Set))
        or not isinstance(value, Iterable)
        or getattr(value, "ndim", 1) != 1
    ):
        raise DataError(
            f"{name} is {_kind(value)}, not a list of texts.",
            "Give a list of texts, one for each sentence.",
        )
    texts = list(value)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise DataError(
                f"Number {number} of {name} (counted from 1) is {_kind(text)}, not text.",
                "Give one text for each sentence, not a list of lists."
                if isinstance(text, (list, tuple))
                else "Give one text for each sentence, and an empty text for a missing one.",
            )
    return texts


def _kind(value: object) -> str:
    """Describe a value in words, such as `of type ndarray with 2 axes`."""
    if value is None:
        return "None"
    axes = getattr(value, "ndim", 1)
    return f"of type {type(value).__name__}" + (f" with {axes} axes" if axes != 1 else "")
