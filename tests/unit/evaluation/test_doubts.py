"""Scores of exchanged, misaligned and copied text are doubted, and others are not."""

from collections.abc import Collection

import pytest
from tests.unit.data.made_languages import translations

from headway.data.corpus import Pair
from headway.evaluation.doubts import doubts, doubts_of_files

PAIRS = translations(300)
OTHERS = translations(300, seed=5)
"""Sentences of the same two languages."""


def test_translations_in_the_language_of_the_references_are_not_doubted() -> None:
    right = [other.target for other in OTHERS]
    assert not list(doubts(PAIRS, {"A": right, "B": [""] * len(PAIRS)}))


def test_exchanged_files_show_by_the_language_of_the_translations() -> None:
    """A model that is given its target language writes that language, too."""
    exchanged = [Pair(pair.target, pair.source) for pair in PAIRS]
    (doubt,) = doubts(exchanged, {"A": [other.target for other in OTHERS]})
    assert doubt.startswith("The translations of A look like the language of the source")


def test_translations_that_are_the_references_are_named() -> None:
    references = [pair.target for pair in PAIRS]
    systems = {"A": references, "B": [other.target for other in OTHERS]}
    (doubt,) = doubts(PAIRS, systems, files=["A"])
    assert doubt == "The translations of A are the references, line by line."
    assert not list(doubts(PAIRS, systems))  # a model may well be right in all


@pytest.mark.parametrize("files", [[], ["A"]])
def test_translations_that_are_all_the_same_are_named(files: Collection[str]) -> None:
    references = [pair.target for pair in PAIRS[:5]]
    (doubt,) = doubts(PAIRS[:5], {"A": ["I am."] * 5}, files)
    assert doubt == (
        "All translations of A are the same, 'I am.': they do not depend on the source."
    )
    # Four sentences may have one translation, and equal references should have.
    assert not list(doubts(PAIRS[:4], {"A": ["I am."] * 4}, files))
    assert not list(doubts_of_files(references[:1] * 9, {"A": ["I am."] * 9}, files))
    assert not list(doubts_of_files(references, {"A": ["I am."] * 4 + ["You."]}, files))


@pytest.mark.parametrize("shift", [1, 3])
def test_references_that_have_moved_are_named(shift: int) -> None:
    targets = [f"{pair.target} {number}" for number, pair in enumerate(PAIRS, 1000)]
    moved = targets[-shift:] + targets[:-shift]
    sources = [f"{pair.source} {number}" for number, pair in enumerate(PAIRS, 1000)]
    pairs = list(map(Pair, sources, moved))
    found = list(doubts(pairs, {"A": [other.target for other in OTHERS]}))
    assert found
    assert all(doubt.startswith("Source and reference do not seem to belong") for doubt in found)


@pytest.mark.parametrize("shift", [1, 3])
def test_files_of_translations_that_have_moved_are_named(shift: int) -> None:
    references = [f"{pair.target} {number}" for number, pair in enumerate(PAIRS, 1000)]
    translations = [f"a {text}" for text in references]
    moved = translations[:100] + translations[100 - shift : -shift]
    systems = {"A": translations, "B": moved}

    doubted = list(doubts_of_files(references, systems, files=["A", "B"]))

    start = "The translations of B and the references do not seem to belong together in lines "
    assert doubted
    assert all(doubt.startswith(start) for doubt in doubted)
    assert abs(int(doubted[0].removeprefix(start).split()[0]) - 101) <= 5
    assert not list(doubts_of_files(references, systems, files=["A"]))


def test_of_little_or_no_text_nothing_is_doubted() -> None:
    assert not list(doubts([], {"A": []}))
    assert not list(doubts([Pair("a", "b")], {"A": ["b"]}))


@pytest.mark.parametrize("files", [(), ("A",)])
def test_another_unicode_form_than_that_of_the_references_is_named(files: Collection[str]) -> None:
    references = ["\u1112\u1161\u11ab", "one", "u\u0308"]
    (doubt,) = doubts_of_files(references, {"A": ["한", "two", "x"], "B": references}, files)
    assert doubt.startswith(
        "A: Unicode's composed form (NFC) would change 2 of 3 references and 0 of the translations."
    )
    (doubt,) = doubts([Pair("a", "ü")], {"A": ["u\u0308"]}, files)
    assert "would change 0 of 1 reference and 1 of the translations" in doubt
    assert not list(doubts_of_files(references, {"A": ["u\u0308", "x", "y"]}, files))


def mixed(number: int, text: str) -> str:
    """Return a translation as of a model that is right in most words."""
    words = text.split()
    return " ".join(words[:1] + words[2:] if number % 3 else words)


@pytest.mark.parametrize("lines", [30, 40, 49])
def test_short_references_of_other_sources_show_by_translations(lines: int) -> None:
    pairs = PAIRS[:lines]
    translated = [mixed(number, pair.target) for number, pair in enumerate(pairs)]
    others = [pair.target for pair in OTHERS[-lines:]]
    wrong = [Pair(pair.source, other) for pair, other in zip(pairs, others, strict=True)]

    assert not list(doubts(pairs, {"A": translated}))
    (doubt,) = doubts(wrong, {"A": translated})
    assert doubt.startswith("The translations of A have as much in common with the references of")


def test_bad_translations_show_nothing_about_references() -> None:
    pairs = PAIRS[:60]
    wrong = [Pair(p.source, o.target) for p, o in zip(pairs, OTHERS, strict=False)]
    systems = {
        "untrained": [f"ww{'x ' * (len(pair.source) % 7 + 1)}{pair.source[:2]}" for pair in pairs],
        "copies": [pair.source for pair in pairs],
        "unrelated": [pair.target for pair in OTHERS[100:160]],
    }
    for references in (pairs, wrong):
        told = list(doubts(references, systems))
        assert not [doubt for doubt in told if "other lines" in doubt]


def test_a_source_that_is_given_as_its_reference_is_named() -> None:
    sentences = [f"the {word} is here" for word in ("cat", "dog", "cow", "hen", "pig", "fox")]
    systems = {"model": [sentence.upper() for sentence in sentences]}
    same, other = ([Pair(s, end(s)) for s in sentences] for end in (str, str.title))

    named = [
        any("same text" in doubt for doubt in doubts(pairs, systems)) for pairs in (same, other)
    ]

    assert named == [True, False]
