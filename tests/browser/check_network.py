"""Nothing leaves the machine: the page asks its own server only, the file asks nobody."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.inspection.translator import Translator
from headway.serving.export import show, write_page

SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip
SENTENCE = "저는 학생입니다."


@pytest.fixture(scope="module")
def file(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(translator, translator.trace(SENTENCE), path)
    return path


def test_the_served_page_asks_its_own_server_only(seen: Any) -> None:
    for screen in SCREENS:
        page = seen.open(screen)
        assert page.locator("main h1").count() == 1, screen
        assert page.locator(".refusal").all_inner_texts() == [], screen
        page.wait_for_timeout(200)  # what comes late comes, too
    assert seen.asked
    assert seen.outside == []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_all_screens_open_from_a_file_without_any_request(
    see: Callable[..., Any], file: Path, language: str
) -> None:
    seen = see(file.as_uri())
    requests: list[str] = []
    seen.page.on("request", lambda request: requests.append(request.url[:80]))
    for screen in SCREENS:
        page = seen.open(screen, lang=language)
        assert page.locator("main h1").count() == 1, screen
        assert page.locator(".refusal").all_inner_texts() == [], screen
        assert "⟦" not in page.inner_text("body"), screen
    own = [url for url in requests if not url.startswith(("data:", "blob:"))]
    assert own == [page.url.partition("#")[0]]


def test_a_file_opens_at_its_own_state(see: Callable[..., Any], file: Path) -> None:
    seen = see(file.as_uri())
    seen.page.goto(file.as_uri())
    seen.wait()
    assert seen.state()["screen"] == "attention"
    assert seen.state()["src"] == SENTENCE


def test_a_file_refuses_a_new_question_with_one_sentence(
    see: Callable[..., Any], file: Path
) -> None:
    seen = see(file.as_uri())
    page = seen.open("attention", src="다른 문장입니다.")
    assert "headway serve" in page.inner_text(".refusal")


def test_a_notebook_shows_the_page_in_a_frame(
    see: Callable[..., Any], translator: Translator, tmp_path: Path
) -> None:
    shown = show(translator, translator.trace(SENTENCE))
    bundle = shown._repr_mimebundle_()
    assert bundle["image/svg+xml"].lstrip().startswith("<?xml")
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{bundle['text/html']}", "utf-8")
    seen = see(path.as_uri())
    seen.page.goto(path.as_uri())
    frame = seen.page.frame_locator("iframe")
    frame.locator("main h1").wait_for()
    frame.locator("nav.tabs a").nth(3).click()
    frame.locator("main.screen-tree h1").wait_for()
    assert html.escape(SENTENCE) in bundle["text/html"]
    assert len(bundle["text/html"]) < 8_000_000
