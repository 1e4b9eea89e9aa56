"""The keyboard reaches everything: each screen, without the mouse."""

from typing import Any

import pytest

SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip
_REACHABLE = (
    "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, "
    '[tabindex="0"]\')].filter((own) => own.checkVisibility({visibilityProperty: true}) '
    "&& !own.disabled && own.tabIndex >= 0)"
)
_MOST = 400


@pytest.mark.parametrize("screen", SCREENS)
def test_tab_walks_through_all_controls(seen: Any, screen: str) -> None:
    page = seen.open(screen)
    page.evaluate(f"{_REACHABLE}.forEach((own, place) => own.dataset.place = place)")
    count = page.evaluate(f"{_REACHABLE}.length")
    reached: set[str] = set()
    for _ in range(min(count + 5, _MOST)):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place ?? 'body'"))
    missing = page.evaluate(
        f"""(reached) => {_REACHABLE}.filter((own) => !reached.includes(own.dataset.place)
          // Of a group of radio buttons the arrow keys reach the others.
          && own.type !== "radio").map((own) => own.outerHTML.slice(0, 120))""",
        list(reached),
    )
    assert missing == [] or count > _MOST


@pytest.mark.parametrize("screen", SCREENS)
def test_focus_shows(seen: Any, screen: str) -> None:
    page = seen.open(screen)
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            "(() => { const own = getComputedStyle(document.activeElement);"
            " return [own.outlineStyle, own.outlineWidth, own.boxShadow]; })()"
        )
        assert outline[0] != "none" or outline[2] != "none"


def test_the_first_stop_leads_past_the_frame(seen: Any) -> None:
    page = seen.open("attention")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "screen"


def test_a_sentence_is_asked_for_with_enter(seen: Any) -> None:
    page = seen.open("attention", src=None)
    field = page.get_by_label("Source sentence")
    field.focus()
    page.keyboard.type("저는 학생입니다.")
    page.keyboard.press("Enter")
    seen.until("document.querySelectorAll('.strips .piece').length > 0")
    assert seen.state()["src"] == "저는 학생입니다."


def test_the_focus_stays_where_it_was_when_the_page_is_drawn_anew(seen: Any) -> None:
    page = seen.open("attention")
    page.locator('[data-key="target-piece:0"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    seen.wait()
    assert page.evaluate("document.activeElement.dataset.key") == "target-piece:1"
    assert seen.state()["t"] == "1"
