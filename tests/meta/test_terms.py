"""The words of `docs/terms.toml`: what it does not allow is on no page, and in no text we show."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.meta.not_yet import REMEDY, listed
from tests.meta.pages import DOCS, pages, prose, text_of

from headway.inspection.catalog import catalog

ROOT = DOCS.parent
TERMS = tomllib.loads((DOCS / "terms.toml").read_text(encoding="utf-8"))["term"]
TEXTS = ROOT / "src" / "headway" / "serving" / "static" / "app" / "texts"


def _places() -> Iterator[tuple[str, str, str, str]]:
    """Return each text with its place, its language, and whether it is of docs or explorer."""
    for language in ("en", "ko"):
        for page in pages(language):
            yield f"{language}/{page}", language, "docs", prose(text_of(language, page))
    for path in sorted(TEXTS.glob("*.js")):
        english, korean = _languages_of(path)
        yield f"{path.name} en", "en", "explorer", english
        yield f"{path.name} ko", "ko", "explorer", korean
    rows = catalog().values()
    yield "catalog en", "en", "explorer", "\n".join(row.english for row in rows)
    yield "catalog ko", "ko", "explorer", "\n".join(row.korean for row in rows)


def _languages_of(path: Path) -> tuple[str, str]:
    """Return the English and the Korean texts of a file of the explorer, without keys, fields."""
    source = path.read_text(encoding="utf-8")
    english, _, korean = source.partition('\n  "ko": {')
    assert korean, path
    return _values(english), _values(korean)


def _values(source: str) -> str:
    texts = re.findall(r'^\s+"[\w.-]+": "(.*)",?$', source, flags=re.MULTILINE)
    return re.sub(r"\{\w+\}", "", "\n".join(texts))


def _unwanted(language: str, kind: str, text: str) -> set[str]:
    """Return the words of a text that the glossary replaces."""
    text = re.sub(r"`[^`]*`", "`", text) if language == "en" else text
    words = set()
    for term in TERMS:
        if term.get("only", kind) != kind:
            continue
        shown = text
        for phrase in term.get(f"except_{language}", []):
            shown = shown.replace(phrase, "")
        words |= {word for word in term.get(f"not_{language}", []) if word in shown}
    return words


def unwanted_words() -> dict[str, list[str]]:
    """Return the unwanted words of every place that has some."""
    words = {place: _unwanted(language, kind, text) for place, language, kind, text in _places()}
    return {place: sorted(found) for place, found in words.items() if found}


PLACES = list(_places())


@pytest.mark.parametrize(("place", "language", "kind", "text"), PLACES, ids=[p[0] for p in PLACES])
def test_words_are_those_of_the_glossary(place: str, language: str, kind: str, text: str) -> None:
    now, then = _unwanted(language, kind, text), {*listed("terms").get(place, [])}
    assert now - then == set(), "docs/terms.toml says what to write"
    assert then - now == set(), REMEDY


def test_every_place_of_the_list_exists() -> None:
    assert {*listed("terms")} <= {place for place, *_ in PLACES}, REMEDY
