"""A first line that names columns is told from a pair."""

import pytest

from headway.data.headers import are_two_sides, names_columns, sides_of

USUAL = ("source", "target")


@pytest.mark.parametrize(
    "cells",
    [("source", "target"), ("SRC", "Tgt"), ("English", "Afrikaans"), (" source ", "Korean")],
)  # fmt: skip
def test_names_of_columns(cells: tuple[str, str]) -> None:
    assert names_columns(cells)


@pytest.mark.parametrize(
    "cells",
    [("Hello", "Hallo"), ("English", "Engels"), ("source", "bron"), ("no", "nee"), ("", ""),
     ("en", "en"), ("no", "it"), ("German", "Deutsch"), ("so-so", "no-go"), ("source", "is"),
     ("The source", "target"), ("source", "")],
)  # fmt: skip
def test_pairs(cells: tuple[str, str]) -> None:
    assert not names_columns(cells)


def test_a_language_of_the_configuration_is_a_name() -> None:
    assert not names_columns(("tlh", "en"))
    assert names_columns(("tlh", "en"), ("tlh", "en"))
    assert names_columns(("EN-us", "tlh"), ("tlh", "English"))
    assert not names_columns(("hi", "so"), ("en", "so"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("en", "ko", True),
        ("src", " Korean", True),
        ("source", "target", True),
        ("en", "en", False),
        ("en", "clean", False),
    ],
)
def test_two_words_that_name_sides(one: str, other: str, expected: bool) -> None:
    assert are_two_sides(one, other) is expected


@pytest.mark.parametrize(
    ("header", "fields", "languages", "expected"),
    [
        (["id", "target", "source"], USUAL, USUAL, (2, 1)),
        (["ID", "Source", "Target"], USUAL, USUAL, (1, 2)),
        (["af", "en"], USUAL, ("en", "af"), (1, 0)),
        (["Afrikaans", "English (US)", "en-GB"], USUAL, ("en", "af"), (2, 0)),
        (["af", "en"], USUAL, USUAL, (0, 1)),
        (["af", "en", "note"], USUAL, USUAL, None),
        (["a", "b"], ("b", "a"), ("en", "af"), (1, 0)),
        (["en", "b"], ("b", "c"), ("en", "af"), None),
        (["tgt", "src"], USUAL, ("en", "af"), (1, 0)),
        (["en", "x"], USUAL, ("en", "af"), None),
        (["source"], USUAL, USUAL, None),
        (["id", "german", "english", "source"], USUAL, USUAL, None),
        (["id", "german", "english", "source"], USUAL, ("German", "en"), (1, 2)),
        (["target", "english", "german", "source"], USUAL, ("de", "en"), (2, 1)),
        (["german", "target", "source"], USUAL, ("de", "en"), (2, 1)),
        (["german", "target"], USUAL, ("de", "en"), (0, 1)),
        (["id", "german", "english", "source"], USUAL, ("de", "target"), None),
        (["german", "english", "source"], ("source", "english"), ("de", "en"), (0, 1)),
    ],
)
def test_the_columns_of_a_header(header, fields, languages, expected) -> None:
    assert sides_of(header, fields, languages) == expected
