"""Wide and narrow, light and dark, without motion: nothing sticks out."""

from collections.abc import Callable
from typing import Any

import pytest

SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip
LONG = "지수는 어제 도서관에서 친구와 함께 재미있는 책을 읽었습니다."
# What is wider than the window, and does not scroll within something of its own. A telephone shows
# a page that is too wide in a wider window: `innerWidth` is no measure there.
_WIDE = """(width) => [...document.querySelectorAll("body *")].filter((own) => {
  const box = own.getBoundingClientRect();
  if (box.width === 0 || box.right <= width + 1) return false;
  for (let up = own; up; up = up.parentElement) {
    if (/auto|scroll|hidden/.test(getComputedStyle(up).overflowX)) return false;
  }
  return true;
}).map((own) => `${own.tagName}.${own.className?.baseVal ?? own.className}`).slice(0, 5)"""


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_does_not_scroll_sideways(
    see: Callable[..., Any], language: str, width: int
) -> None:
    seen = see(width=width, is_mobile=width < 700)
    found = {}
    for screen in SCREENS:
        page = seen.open(screen, src=LONG, lang=language)
        wide = page.evaluate(_WIDE, width)
        if wide or page.evaluate("document.documentElement.scrollWidth") > width + 1:
            found[screen] = wide
    assert found == {}


def test_who_wants_no_motion_sees_none(see: Callable[..., Any]) -> None:
    seen = see(reduced_motion="reduce")
    moving = "document.getAnimations().filter((own) => own.playState === 'running').length"
    found = {screen: seen.open(screen).evaluate(moving) for screen in SCREENS}
    assert found == dict.fromkeys(SCREENS, 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chosen_theme_is_stronger_than_that_of_the_system(
    see: Callable[..., Any], theme: str
) -> None:
    seen = see(color_scheme="dark" if theme == "light" else "light")
    page = seen.open("attention", theme=theme)
    color = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    red = int(color.removeprefix("rgb(").split(",")[0])
    assert (red > 128) == (theme == "light")
