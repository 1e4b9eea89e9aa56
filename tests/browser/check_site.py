"""The built site in Chromium, from the disk: two languages, two widths, light and dark."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("HEADWAY_SITE", ROOT / "build" / "docs"))
LANGUAGES = ("en", "ko")
_PAGES = sorted(
    str(path.relative_to(ROOT / "docs").with_suffix(""))
    for language in LANGUAGES
    for path in (ROOT / "docs" / language).rglob("*.md")
)
# Boxes that scroll by themselves may hold what is wider than the window.
_WIDE = """() => {
  const edge = document.documentElement.clientWidth + 1;
  const scrolls = (node) => /auto|scroll|hidden|clip/.test(getComputedStyle(node).overflowX);
  const isHeld = (node) => node !== document.body && (scrolls(node) || isHeld(node.parentElement));
  return [...document.querySelectorAll(".content *")]
    .filter((node) => node.getBoundingClientRect().right > edge && node.checkVisibility())
    .filter((node) => !isHeld(node))
    .map((node) => node.outerHTML.slice(0, 160));
}"""
_CLIPPED = """() => {
  const hides = (node) => /hidden|clip/.test(getComputedStyle(node).overflow);
  const isCut = (node) => node.tagName !== "ARTICLE"
    && ((hides(node) && node.scrollWidth > node.clientWidth + 1) || isCut(node.parentElement));
  return [...document.querySelectorAll("article math")]
    .filter((node) => isCut(node.parentElement)).map((node) => node.outerHTML.slice(0, 160));
}"""


@pytest.fixture(scope="module")
def offline(browser: Browser) -> Iterator[tuple[Page, list[str], list[str]]]:
    """Return a window without a network, with what it asked for and the errors it told."""
    assert (SITE / "index.html").is_file(), "There is no site. Run `make docs`."
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    page, asked, errors = context.new_page(), [], []

    def check(route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    context.route("**/*", check)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    yield page, asked, errors
    context.close()


@pytest.mark.parametrize("name", _PAGES)
def test_a_page_is_whole(name: str, offline: tuple[Page, list[str], list[str]]) -> None:
    page, asked, errors = offline
    asked.clear()
    errors.clear()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto((SITE / f"{name}.html").as_uri())
    assert _grave(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert _grave(page, "color-contrast") == []
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(_WIDE) == [], width
        assert page.evaluate(_CLIPPED) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.lang") == name[:2]
    assert asked == []
    assert errors == []


@pytest.mark.parametrize(
    ("language", "query", "title"),
    [
        ("ko", "마스크", "마스크"),
        ("ko", "잔차 연결을", "서브층"),
        ("ko", "키", "어텐션"),
        ("ko", "MultiHeadAttention", "API"),
        ("en", "masks", "Masks"),
        ("en", "nopeak_mask", "From your code"),
    ],
)
def test_a_search_finds(
    language: str, query: str, title: str, offline: tuple[Page, list[str], list[str]]
) -> None:
    page, asked, _ = offline
    asked.clear()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((SITE / language / "search.html").as_uri() + f"?q={query}")
    page.locator("#search-results li").first.wait_for(timeout=20_000)
    page.wait_for_timeout(500)
    found = page.locator("#search-results li > a").all_inner_texts()
    assert [text for text in found if title in text], found
    assert asked == []


def _grave(page: Page, *rules: str) -> list[str]:
    """Return the serious findings outside of frames, which have tests of their own.

    Of the many entries of the page about the API, the outer ones are enough.
    """
    inner = [["iframe"], ["dl.py dl.py"]]
    # Axe would ask for style sheets, which a page from a disk may not.
    options = {"preload": False, **({"runOnly": list(rules)} if rules else {})}
    found = Axe().run(page, {"exclude": inner}, options).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
