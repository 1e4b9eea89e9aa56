"""Both trees of the site have the same pages, with the same code, headings and figures."""

import re
from itertools import pairwise

import pytest
from tests.meta.not_yet import REMEDY, listed
from tests.meta.pages import (
    DOCS,
    LANGUAGES,
    cells,
    directives,
    front_matter,
    headings,
    pages,
    prose,
    text_of,
)

BOTH = sorted({*pages("en")} & {*pages("ko")})
of_both = pytest.mark.parametrize("page", BOTH)
_SPEAK = re.compile(r'\bspeak\("(en|ko)"\)')
# Blocks that both languages show alike; prose within others is translated.
_SAME = re.compile(r"\{(explorer|literalinclude|public-names|catalog|contents|eval)\b")


def _is_draft(language: str, page: str) -> bool:
    return "status: draft" in front_matter(text_of(language, page)).splitlines()


def missing() -> dict[str, list[str]]:
    """Return the pages that one language alone has, unless they are drafts there."""
    trees = {language: {*pages(language)} for language in ("en", "ko")}
    return {
        page: [f"not in {other}"]
        for language, other in (("en", "ko"), ("ko", "en"))
        for page in trees[language] - trees[other]
        if not _is_draft(language, page)
    }


def test_each_page_is_in_both_languages() -> None:
    assert BOTH
    now, then = missing(), listed("korean")
    assert {page: words for page, words in now.items() if page not in then} == {}
    assert {*then} - {*now} == set(), REMEDY


@of_both
def test_code_cells_are_the_same_but_for_the_language_they_set(page: str) -> None:
    english, korean = (cells(text_of(language, page)) for language in ("en", "ko"))
    assert [_SPEAK.sub('speak("")', cell) for cell in korean] == [
        _SPEAK.sub('speak("")', cell) for cell in english
    ]
    for language, both in (("en", english), ("ko", korean)):
        assert {*_SPEAK.findall("".join(both))} <= {language}


@of_both
def test_code_that_does_not_run_is_the_same_too(page: str) -> None:
    english, korean = (_plain_blocks(text_of(language, page)) for language in ("en", "ko"))
    assert korean == english


def _plain_blocks(text: str) -> list[tuple[str, str]]:
    return [(head, body) for head, body in directives(text) if not head.startswith("{")]


@of_both
def test_headings_have_the_same_levels(page: str) -> None:
    english, korean = (headings(text_of(language, page)) for language in ("en", "ko"))
    assert korean == english
    assert english[0] == 1
    assert english.count(1) == 1
    # Sphinx refuses a skipped level.
    assert all(level <= above + 1 for above, level in pairwise(english))


@of_both
def test_frames_listings_and_pictures_are_the_same(page: str) -> None:
    assert _figures("ko", page) == _figures("en", page)


def _figures(language: str, page: str) -> list[str]:
    text = text_of(language, page)
    blocks = [head for head, _ in directives(text) if _SAME.match(head)]
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", prose(text))
    values = re.findall(r"\{eval\}`[^`]*`", prose(text))
    return blocks + [path.replace(f"/{language}/", "/*/") for path in pictures] + sorted(values)


@pytest.mark.parametrize("page", [page for page in BOTH if page.startswith("reference/")])
def test_tables_of_the_reference_name_the_same_code(page: str) -> None:
    assert _code_of_rows("ko", page) == _code_of_rows("en", page)


def _code_of_rows(language: str, page: str) -> list[list[str]]:
    rows = re.findall(r"^\|.*", prose(text_of(language, page)), flags=re.MULTILINE)
    return [sorted(re.findall(r"`[^`]+`", row)) for row in rows]


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_stay_in_the_language(language: str) -> None:
    (other,) = {*LANGUAGES} - {language}
    across = re.compile(rf"\]\(((?:\.\./)+{other}/[^)#]*)")
    found = {page: across.findall(prose(text_of(language, page))) for page in pages(language)}
    assert {page: links for page, links in found.items() if links} == {}


def test_the_navigation_has_every_page() -> None:
    listed = _contents()
    assert len(listed) == len({*listed})
    assert {"index", *pages("en")} <= {"index", *listed}
    assert {"index", *pages("ko")} <= {"index", *listed}


def _contents() -> list[str]:
    """Return the pages in the order of the navigation, without importing Sphinx."""
    source = (DOCS / "site" / "contents.py").read_text(encoding="utf-8")
    paper = re.findall(r'"(\d\d-[\w-]+)"', source)
    rooms = re.findall(r'"((?:start|paper|keras|howto|explain|reference)/[\w-]+)"', source)
    return [*rooms, *(f"paper/{page}" for page in paper), "questions", "mistakes", "names"]
