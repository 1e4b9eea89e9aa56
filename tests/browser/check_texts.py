"""Texts of several sentences: translated as a whole, and looked at sentence by sentence."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route

from headway.inspection.translator import Translator

SENTENCES = [
    "제 형은 어제 사과 세 개를 먹었습니다.",
    "저는 학생입니다.",
    "수지는 매주 탁구를 칩니다.",
]
TEXT = " ".join(SENTENCES)
CHOSEN = "document.querySelector('.text-sentences [aria-pressed=true] .text-source').textContent"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_text_is_translated_as_in_python_and_its_first_sentence_is_looked_at(
    seen: Any, translator: Translator, language: str
) -> None:
    page = seen.open(src=TEXT, lang=language)
    assert page.inner_text(".text-whole") == translator.translate(TEXT, mend_runaways=False).text
    rows = page.locator(".text-sentences button").all()
    assert [row.locator(".text-source").inner_text() for row in rows] == SENTENCES
    for row, sentence in zip(rows, SENTENCES, strict=True):
        alone = translator.translate(sentence, mend_runaways=False).text
        assert row.locator(".text-translation").inner_text() == alone
    assert page.evaluate(CHOSEN) == SENTENCES[0]
    assert (
        page.inner_text(".live-text")
        == translator.translate(SENTENCES[0], mend_runaways=False).text
    )


@pytest.mark.parametrize("screen", ["translate", "attention"])
def test_a_sentence_is_chosen_by_keyboard_and_is_in_the_address(
    seen: Any, translator: Translator, screen: str
) -> None:
    page = seen.open(screen, src=TEXT, t=2)
    page.focus('[data-key="sentence:0"]')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    seen.wait()
    assert (seen.state()["sent"], seen.state()["src"]) == ("1", TEXT)
    assert "t" not in seen.state()  # a row of the sentence before
    assert page.evaluate(CHOSEN) == SENTENCES[1]
    assert page.evaluate("document.activeElement.dataset.key") == "sentence:1"
    pieces = page.locator(".strips .pieces").nth(1).locator(".piece").all_inner_texts()
    assert pieces[:-1] == list(translator.translate(SENTENCES[1], mend_runaways=False).pieces)
    page.reload()
    seen.wait()
    assert page.evaluate(CHOSEN) == SENTENCES[1]
    page.go_back()
    seen.wait()
    assert page.evaluate(CHOSEN) == SENTENCES[0]


def test_another_text_begins_with_its_first_sentence(seen: Any) -> None:
    page = seen.open(src=TEXT, sent=2)
    page.fill("input.source", " ".join(reversed(SENTENCES)))
    page.press("input.source", "Enter")
    seen.wait()
    assert "sent" not in seen.state()
    assert page.evaluate(CHOSEN) == SENTENCES[2]
    page.fill("input.source", SENTENCES[1])
    page.press("input.source", "Enter")
    seen.wait()
    assert page.locator(".text-whole").count() == 0


def test_a_place_beyond_the_text_is_its_last_sentence(seen: Any) -> None:
    page = seen.open("tree", src=TEXT, sent=9)
    assert page.evaluate(CHOSEN) == SENTENCES[-1]


def test_the_chosen_one_of_many_sentences_is_in_view(seen: Any) -> None:
    page = seen.open("tree", src=" ".join(SENTENCES * 6), sent=13)
    inside = """(() => {
      const list = document.querySelector(".text-sentences").getBoundingClientRect();
      const row = document.querySelector("button.is-chosen").getBoundingClientRect();
      return list.top <= row.top && row.bottom <= list.bottom;
    })()"""
    assert page.evaluate(inside)
    page.focus('[data-key="sentence:13"]')
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    seen.wait()
    assert seen.state()["sent"] == "12"
    assert page.evaluate(inside)


def test_one_sentence_is_searched_for_once_and_its_text_is_not_translated_again(seen: Any) -> None:
    seen.open(src=SENTENCES[1])
    assert len(seen.paths("/api/translate")) == 1
    assert seen.paths("/api/paragraph") == seen.paths("/api/search") == []
    assert "split_sentences" not in seen.paths("/api/translate")[0]


def test_each_sentence_is_searched_for_once_and_is_not_split_again(seen: Any) -> None:
    page = seen.open(src=TEXT)
    for place in (1, 2, 0):
        page.click(f'[data-key="sentence:{place}"]')
        seen.wait()
    asked = [json.loads(body) for body in seen.paths("/api/translate")]
    assert [body["source"] for body in asked] == SENTENCES
    assert [body["split_sentences"] for body in asked] == [False] * len(SENTENCES)
    assert len(seen.paths("/api/paragraph")) == 1


def test_a_sentence_that_is_refused_leaves_the_others_to_choose(
    seen: Any, translator: Translator
) -> None:
    def refuse(route: Route) -> None:
        error = {"message": "It is refused.", "remedy": "Do something.", "code": "too-long"}
        if SENTENCES[0] in (route.request.post_data or ""):
            route.fulfill(status=400, json={"error": error})
        else:
            route.fallback()

    seen.page.route("**/api/search", refuse)
    page = seen.open("attention", src=TEXT)
    assert page.locator(".refusal").count() == 1
    assert page.inner_text(".text-whole") == translator.translate(TEXT, mend_runaways=False).text
    page.click('[data-key="sentence:1"]')
    seen.wait()
    assert page.locator(".refusal").count() == 0
    seen.errors[:] = [line for line in seen.errors if not line.startswith("Failed to load")]


def test_another_source_of_several_sentences_is_refused_in_words(seen: Any) -> None:
    page = seen.open("what-if", src=TEXT, src2=TEXT)
    assert "Enter one sentence." in page.inner_text("main")
    seen.errors[:] = [line for line in seen.errors if not line.startswith("Failed to load")]


def test_a_forced_beginning_is_that_of_the_chosen_sentence(
    seen: Any, translator: Translator
) -> None:
    page = seen.open(src=TEXT, sent=1, prefix="You")
    alone = translator.translate(SENTENCES[1], mend_runaways=False, prefix="You").text
    assert alone.startswith("You")
    translations = page.locator(".text-translation").all_inner_texts()
    assert translations[1] == alone
    assert translations[2] == translator.translate(SENTENCES[2], mend_runaways=False).text
    page.click('[data-key="sentence:2"]')
    seen.wait()
    assert "prefix" not in seen.state()
    assert page.inner_text(".text-whole") == translator.translate(TEXT, mend_runaways=False).text


@pytest.mark.parametrize("width", [360, 1440])
def test_a_text_does_not_make_the_page_scroll_sideways(see: Callable[..., Any], width: int) -> None:
    seen = see(width=width, is_mobile=width < 700)
    for language in ("en", "ko"):
        page = seen.open(src=TEXT, sent=1, lang=language)
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_sentence_beyond_the_grammar_is_shown_as_a_guess(
    seen: Any, translator: Translator, language: str
) -> None:
    beyond = "인공지능이 세상을 바꾸고 있습니다."
    assert translator.translate(beyond).unfamiliar_parts == 1
    guess = {"en": "The translation is a guess.", "ko": "번역은 추측일 뿐입니다."}[language]
    page = seen.open(src=beyond, lang=language)
    assert guess in page.inner_text(".strips")
    page = seen.open(src=f"{SENTENCES[1]} {beyond}", lang=language)
    assert guess not in page.inner_text(".strips")
    assert page.locator(".text-unfamiliar").count() == 1
