"""Both languages: every text is there, the page says which it is, and Hangul is drawn."""

import re
from collections.abc import Callable
from typing import Any

import pytest

SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip
SETTLED = {
    "학생을(를)": "학생을", "사과을(를)": "사과를", "나이(가)": "나가", "밥이(가)": "밥이",
    "책은(는)": "책은", "너은(는)": "너는", "집(으)로": "집으로", "서울(으)로": "서울로",
    "학교(으)로": "학교로", "0.61이(가)": "0.61이", "2은(는)": "2는", "10(으)로": "10으로",
    "7(으)로": "7로", "8을(를)": "8을", "50%(으)로": "50%로", "“토큰”을(를)": "“토큰”을",
    "«나»이(가)": "«나»가", "student을(를)": "student을(를)",
    "a을(를) 쓰고 힘이(가)": "a을(를) 쓰고 힘이",
}  # fmt: skip
_EVERYTHING = """[document.title, ...document.body.innerText.split("\\n"),
  ...[...document.querySelectorAll("*")].flatMap((own) =>
    ["aria-label", "title", "placeholder"].map((name) => own.getAttribute(name) ?? ""))]"""
# How many pixels two syllables differ in, and each of them from the box of a missing one.
_DRAWN = """() => {
  const ink = (text) => {
    const canvas = new OffscreenCanvas(60, 60);
    const context = canvas.getContext("2d");
    context.font = `40px ${getComputedStyle(document.documentElement).fontFamily}`;
    context.fillText(text, 5, 45);
    return context.getImageData(0, 0, 60, 60).data;
  };
  const apart = (a, b) => ink(a).filter((value, place) => value !== ink(b)[place]).length;
  return [apart("가", "힣"), apart("가", "\\u{10FFFD}"), apart("힣", "\\u{10FFFD}")];
}"""


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_text_is_there(seen: Any, language: str) -> None:
    found = []
    for screen in SCREENS:
        page = seen.open(screen, lang=language)
        assert page.evaluate("document.documentElement.lang") == language
        found += [
            f"{screen}: {line}"
            for line in page.evaluate(_EVERYTHING)
            if any(wrong in line for wrong in ("⟦", "undefined", "[object", "NaN", "`", "\ue000"))
        ]
    assert found == []


def test_korean_is_all_korean(seen: Any) -> None:
    """A sentence in the other language would be a text that went around the catalog."""
    found = []
    for screen in SCREENS:
        page = seen.open(screen, lang="ko")
        lines = page.evaluate("document.querySelector('#app').innerText").split("\n")
        found += [
            f"{screen}: {line}"
            for line in lines
            if len(re.findall(r"\b(?:the|is|of|and|with|this|to)\b", line)) > 2
        ]
    assert found == []


def test_particles_agree_with_the_sound_before_them(seen: Any) -> None:
    page = seen.open("translate", lang="ko")
    program = """async (texts) => {
      const { withParticles } = await import("app/particles.js");
      return texts.map(withParticles);
    }"""
    assert page.evaluate(program, list(SETTLED)) == list(SETTLED.values())
    shown = """async () => {
      const { text } = await import("app/i18n.js");
      const { plainText } = await import("app/mathematics.js");
      return [128, 16].map((width) => plainText(text("ko", "lessons.4.hint", { width })));
    }"""
    assert [line[: line.index(" 나누")] for line in page.evaluate(shown)] == [
        "먼저 q·k를 √128로",
        "먼저 q·k를 √16으로",
    ]


def test_choosing_a_language_keeps_the_place(seen: Any) -> None:
    page = seen.open("attention", view="decoder", l=0, h=2, t=3)
    page.get_by_label("Language").select_option("ko")
    seen.until("document.documentElement.lang === 'ko'")
    seen.wait()
    kept = {key: seen.state()[key] for key in ("view", "l", "h", "t", "lang")}
    assert kept == {"view": "decoder", "l": "0", "h": "2", "t": "3", "lang": "ko"}
    page.get_by_label("언어").select_option("en")
    seen.until("document.documentElement.lang === 'en'")


def test_a_browser_of_korean_begins_in_korean(see: Callable[..., Any], browser: Any) -> None:
    seen = see(extra_http_headers={"Accept-Language": "ko-KR"})
    seen.page.add_init_script("Object.defineProperty(navigator, 'language', {get: () => 'ko-KR'})")
    seen.page.goto(f"{seen.address}#/attention")
    seen.wait()
    assert seen.page.locator("html").get_attribute("lang") == "ko"


def test_hangul_is_drawn_and_no_boxes(seen: Any) -> None:
    page = seen.open("translate", lang="ko")
    assert min(page.evaluate(_DRAWN)) > 100
