"""What the program refuses: said in the page's language, and mended where asking again mends it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route

OTHER = "우리는 학생입니다."  # as many pieces as the sentence of the page
REPLACED = json.dumps([{"name": "encoder.output", "kind": "replace", "src": OTHER}])
SAID = {
    "blank": "문장이 비어 있습니다",
    "too-long": "더 짧은 문장",
    "trace-gone": "다시 시도하면",
    "prefix": "강제한 시작",
    "edit": "다른 변경",
    "beam": "1에서 8 사이",
}


def refuse(route: Route, code: str, status: int = 400) -> None:
    error = {"message": "It is refused.", "remedy": "Do something.", "code": code}
    route.fulfill(status=status, json={"error": error})


def forgive(seen: Any) -> None:
    """Forget that the browser lists refusals as errors; a fault of the page is none of these."""
    seen.errors[:] = [line for line in seen.errors if not line.startswith("Failed to load")]


def test_usual_refusals_are_korean_on_the_korean_page(seen: Any) -> None:
    given = [""]
    seen.page.route("**/api/trace", lambda route: refuse(route, given[0]))
    for code, words in SAID.items():
        given[0] = code
        page = seen.open("attention", lang="ko")
        assert words in page.inner_text(".refusal"), code
        own = page.locator(".refusal p:not([lang])").all_inner_texts()
        assert not any("refused" in line for line in own), code
    forgive(seen)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_another_refusal_says_in_which_language_it_is(seen: Any, language: str) -> None:
    seen.page.route("**/api/trace", lambda route: refuse(route, "other"))
    page = seen.open("attention", lang=language)
    said = page.locator('.refusal p[lang="en"]').all_inner_texts()
    assert said == ["It is refused.", "Do something."]
    forgive(seen)


def test_a_sentence_that_is_too_long_is_refused_and_not_cut(seen: Any) -> None:
    page = seen.open("attention", lang="ko")
    text = "저는 학생입니다. " * 250
    field = page.locator("input.source")
    field.fill("")
    field.focus()
    page.keyboard.insert_text(text)  # as pasting does, which would heed a limit of the field
    field.press("Enter")
    page.locator(".refusal").wait_for()
    assert "더 짧은 문장" in page.inner_text(".refusal")
    assert field.input_value().strip() == text.strip()
    forgive(seen)


def test_a_program_that_has_ended_is_told(seen: Any) -> None:
    seen.open("attention", lang="ko")
    seen.page.route("**/api/trace", lambda route: route.abort())
    page = seen.open("tree", src="저는 의사입니다.", lang="ko")
    assert "headway serve" in page.inner_text(".refusal")
    forgive(seen)


def test_without_javascript_both_languages_say_so(see: Callable[..., Any]) -> None:
    seen = see(java_script_enabled=False)
    seen.page.goto(seen.address)
    text = seen.page.locator("noscript").inner_text()
    assert "needs JavaScript" in text
    assert "필요" in text


def test_a_tensor_of_a_run_that_is_gone_is_made_again(seen: Any) -> None:
    gone: list[str] = []

    def drop(route: Route) -> None:
        body = route.request.post_data or ""
        if '"edits"' in body and route.request.url not in gone:
            gone.append(route.request.url)
            refuse(route, "trace-gone", 404)
        else:
            route.fallback()

    seen.page.route("**/api/trace", drop)
    seen.page.route("**/api/search", drop)
    page = seen.open("what-if", edits=REPLACED)
    assert page.locator(".what-if-refusal").all_inner_texts() == []
    assert len(gone) == 2
    assert len([body for body in seen.paths("/api/trace") if OTHER in body]) >= 2
    forgive(seen)


@pytest.mark.parametrize(
    ("state", "key", "ending"),
    [
        ({"screen": "attention"}, "export:svg", ".svg"),
        ({"screen": "tensors", "name": "encoder.output"}, "download:npy", ".npy"),
    ],
)
def test_a_file_of_a_trace_that_is_gone_comes(
    seen: Any, state: dict[str, str], key: str, ending: str
) -> None:
    page = seen.open(**state)
    asked = len(seen.paths("/api/trace"))
    gone: list[str] = []

    def drop(route: Route) -> None:
        if gone:
            route.fallback()
        else:
            gone.append(route.request.url)
            refuse(route, "trace-gone", 404)

    page.route("**/api/traces/*/*port*", drop)
    page.route("**/api/traces/*/download/*", drop)
    page.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    with page.expect_download() as download:
        page.locator(f'[data-key="{key}"]').click()
    assert download.value.suggested_filename.endswith(ending)
    assert gone
    assert len(seen.paths("/api/trace")) == asked + 1
    forgive(seen)


def test_a_file_that_cannot_be_made_is_told(seen: Any) -> None:
    page = seen.open("attention")
    page.route("**/api/traces/*/export.json", lambda route: refuse(route, "other", 413))
    page.locator("details.export > summary").click()
    page.locator('[data-key="export:json"]').click()
    page.locator(".download-said p").first.wait_for()
    assert "It is refused." in page.inner_text(".download-said:not(:empty)")
    forgive(seen)
