"""The keyboard reaches everything: each screen, without the mouse."""

from collections.abc import Callable
from typing import Any

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
# What looks the same with the focus and without: itself, and what is drawn inside.
_UNSEEN = """[...document.querySelectorAll("[data-key]")].slice(0, 80).filter((own) => {
  const look = () => [own, ...own.children].map((part) => {
    const own = getComputedStyle(part);
    return [own.outlineStyle, own.boxShadow, own.stroke, own.strokeWidth, own.filter,
      own.backgroundColor];
  }).join();
  document.activeElement.blur();
  const before = look();
  own.focus({focusVisible: true});
  return document.activeElement === own && own.tabIndex >= 0 && look() === before;
}).map((own) => own.dataset.key)"""


def test_tab_walks_through_all_controls(seen: Any) -> None:
    found = {screen: _unreached(seen.open(screen)) for screen in SCREENS}
    assert {screen: missing for screen, missing in found.items() if missing} == {}


def _unreached(page: Any) -> list[str]:
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.evaluate(f"{_REACHABLE}.forEach((own, place) => own.dataset.place = place)")
    count = page.evaluate(f"{_REACHABLE}.length")
    reached: set[str] = set()
    for _ in range(min(count + 5, _MOST)):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place ?? 'body'"))
    missing: list[str] = page.evaluate(
        f"""(reached) => {_REACHABLE}.filter((own) => !reached.includes(own.dataset.place)
          // Of a group of radio buttons the arrow keys reach the others.
          && own.type !== "radio").map((own) => own.outerHTML.slice(0, 120))""",
        list(reached),
    )
    return missing if count <= _MOST else []


def test_the_focus_can_be_seen(see: Callable[..., Any]) -> None:
    seen = see(reduced_motion="reduce")
    for screen in SCREENS:
        page = seen.open(screen)
        page.keyboard.press("Tab")  # the keyboard is in use
        assert page.evaluate(_UNSEEN) == [], screen


def test_the_first_stop_leads_past_the_frame(seen: Any) -> None:
    page = seen.open("attention")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "screen"


def test_a_sentence_is_asked_for_with_enter(seen: Any) -> None:
    page = seen.open("attention", src=None)
    field = page.get_by_role("textbox", name="Source text")
    field.select_text()
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
