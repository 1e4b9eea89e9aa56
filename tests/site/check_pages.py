"""The built pages: complete, in both languages, and without a request to another host."""

import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from korean_search import pairs
from languages import NAMES

ROOT = Path(__file__).parents[2]
_LOADS = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}


class Seen(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.alternates: dict[str, str] = {}
        self.lacks_alt = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.places.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") == "alternate" and "hreflang" in values:
            self.alternates[values["hreflang"]] = values["href"]
        elif tag in _LOADS and _LOADS[tag] in values:
            self.loads.append(values[_LOADS[tag]])
        self.lacks_alt += tag == "img" and not values.get("alt")


def _pages(built: Path, language: str) -> Iterator[Path]:
    for path in sorted((built / language).rglob("*.html")):
        if "_static" not in path.parts:
            yield path


@cache
def _seen(path: Path) -> Seen:
    return Seen(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", NAMES)
def test_every_page_was_built_and_nothing_is_loaded_from_elsewhere(
    built: Path, language: str
) -> None:
    sources = {path.with_suffix("").name for path in (ROOT / "docs" / language).rglob("*.md")}
    names = {path.with_suffix("").name for path in _pages(built, language)}
    assert sources <= names
    for path in _pages(built, language):
        outside = [address for address in _seen(path).loads if urlsplit(address).scheme]
        assert [address for address in outside if not address.startswith("data:")] == [], path


@pytest.mark.parametrize("language", NAMES)
def test_every_link_leads_to_a_file_and_a_place(built: Path, language: str) -> None:
    for path in _pages(built, language):
        for address in [*_seen(path).links, *_seen(path).loads]:
            parts = urlsplit(address)
            if parts.scheme or address.startswith(("javascript:", "data:")):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), (path, address)
            if parts.fragment and not parts.fragment.startswith("/") and target.suffix == ".html":
                assert unquote(parts.fragment) in _seen(target).places, (path, address)


@pytest.mark.parametrize("language", NAMES)
def test_each_page_names_its_translations(built: Path, language: str) -> None:
    for path in _pages(built, language):
        name = path.relative_to(built / language)
        there = {other for other in NAMES if (built / other / name).is_file()}
        assert {*_seen(path).alternates} == there, path
        for other, address in _seen(path).alternates.items():
            assert (path.parent / address).resolve() == built / other / name


def test_pictures_have_words(built: Path) -> None:
    for language in NAMES:
        lacking = [path for path in _pages(built, language) if _seen(path).lacks_alt]
        assert lacking == []


@pytest.mark.parametrize(
    ("language", "query"),
    [("ko", "마스크"), ("ko", "어텐션"), ("ko", "키"), ("ko", "체험"), ("en", "trace")],
)
def test_the_index_finds(built: Path, language: str, query: str) -> None:
    script = (built / language / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    terms = pairs(query) if re.match("[가-힣]", query) else [query]
    pages = [index["terms"].get(term, []) for term in terms]
    assert all(page != [] for page in pages), terms
    together = set.intersection(*({*page} if isinstance(page, list) else {page} for page in pages))
    assert together, terms


@pytest.mark.parametrize("language", NAMES)
def test_a_search_has_the_stemmer_that_it_names(built: Path, language: str) -> None:
    script = (built / language / "_static" / "language_data.js").read_text(encoding="utf-8")
    (stemmer,) = re.findall(r"window\.Stemmer = (\w+);", script)
    assert f"var {stemmer}=" in script
