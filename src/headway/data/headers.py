"""Recognize a first line that names the columns of a table instead of holding a pair."""

from collections.abc import Sequence

from headway.data.languages import (
    is_language,
    is_language_name,
    is_same_language,
    language_code,
)
from headway.errors import DataError, shown, suggest

_WORDS = (
    ("source", "src", "source text", "source_text"),
    ("target", "tgt", "trg", "target text", "target_text", "translation"),
)
_ANY_WORD = frozenset(word for words in _WORDS for word in words)
USUAL_FIELDS = ("source", "target")
"""Names of the two columns unless the configuration gives others."""


def names_columns(cells: tuple[str, str], languages: tuple[str, str] = USUAL_FIELDS) -> bool:
    """Return True if two cells name columns: `source` and `target`, or two languages.

    Codes of languages that are not configured may be words (`no`, `is`, `hi`), so they are a pair.

    languages: those of the configuration, which may be any names.
    """
    first, second = (cell.strip().casefold() for cell in cells)
    return language_code(first) != language_code(second) and all(
        word in _ANY_WORD
        or is_language_name(word)
        or any(is_same_language(word, language) for language in languages)
        for word in (first, second)
    )


def is_word_for_a_side(text: str) -> bool:
    """Return True for words such as `source` and `tgt`."""
    return text.strip().casefold() in _ANY_WORD


def are_two_sides(first: str, second: str) -> bool:
    """Return True if two words differ and are languages, or words such as `source`."""
    first, second = first.strip().casefold(), second.strip().casefold()
    return first != second and all(
        word in _ANY_WORD or is_language(word) for word in (first, second)
    )


def sides_of(
    header: Sequence[str], fields: tuple[str, str], languages: tuple[str, str]
) -> tuple[int, int] | None:
    """Return the columns of source and target; None if the header does not say.

    Fields count first, then the languages of the configuration, then words such as `source`. If the
    configuration names neither, two columns named after languages are source and target.
    """
    cells = [cell.strip().casefold() for cell in header]
    ways: list[tuple[list[int], list[int]]] = []  # for each side by its language, and by words
    for field, usual, language, words in zip(fields, USUAL_FIELDS, languages, _WORDS, strict=True):
        by_field = [n for n, cell in enumerate(cells) if cell == field.casefold()]
        if field != usual:
            ways.append((by_field, by_field))
            continue
        by_language = [n for n, cell in enumerate(cells) if is_same_language(cell, language)]
        by_word = by_field + [n for n, cell in enumerate(cells) if cell in words]
        ways.append((by_language if language != usual else [], by_word))
    (source, source_word), (target, target_word) = ways
    for places in (
        (source, target),
        (source_word, target_word),
        (source or source_word, target or target_word),
    ):
        if all(places) and places[0][0] != places[1][0]:
            return places[0][0], places[1][0]
    silent = fields == languages == USUAL_FIELDS
    if silent and len(cells) == 2 and are_two_sides(*cells):
        return 0, 1
    return None


def no_columns(path: object, header: Sequence[str], fields: tuple[str, str]) -> DataError:
    """Return the error for a table whose first line does not name the two columns."""
    cells = [cell.strip() for cell in header]
    missing = [field for field in fields if field not in cells]
    names = [cell for cell in cells if len(cell) < 40]  # others are text
    hint = suggest(missing[0], names) if missing else ""
    return DataError(
        f"The first line of {path} must name the columns, and {', '.join(map(shown, cells[:8]))} "
        "does not say which ones hold source and target.",
        f"{hint} If these are names, set data.source_field and data.target_field; if they are a "
        "pair already, put the line source,target above it.".strip(),
    )
