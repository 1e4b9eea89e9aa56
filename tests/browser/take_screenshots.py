"""The pictures of the documents: `make screenshots` writes docs/screens."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
HIGHEST = 2200  # pixels of a page that a document shows
SENTENCE = "저는 프랑스어로 그 책을 읽었습니다."
HEAD_OFF = '[{"name":"decoder.layers.1.cross_attention.heads","kind":"zero","where":{"head":1}}]'
SCREENS: dict[str, dict[str, Any]] = {
    "translate": {"screen": "translate", "t": 2},
    "attention": {"screen": "attention", "view": "cross", "l": 1, "h": 1, "t": 2, "q": 2},
    "hand": {"screen": "hand", "view": "decoder", "l": 1, "h": 2, "q": 3, "k": 1},
    "tree": {"screen": "tree"},
    "what-if": {"screen": "what-if", "edits": HEAD_OFF},
    "tensors": {"screen": "tensors", "name": "encoder.layers.0.feed_forward.activated"},
    "position": {"screen": "position", "pos": 4, "dim": 6},
    "alignment": {"screen": "alignment"},
    "lessons": {"screen": "lessons"},
}
LESSON = {"screen": "lessons", "lesson": 4}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_wide_and_light(see: Callable[..., Any], language: str) -> None:
    seen = see(color_scheme="light", reduced_motion="reduce")
    for name, state in {**SCREENS, "lesson": LESSON}.items():
        _take(seen, FOLDER / language / f"{name}.png", lang=language, **state)


@pytest.mark.parametrize("name", ["translate", "attention", "tree"])
def test_dark(see: Callable[..., Any], name: str) -> None:
    seen = see(color_scheme="dark", reduced_motion="reduce")
    _take(seen, FOLDER / "en" / f"{name}-dark.png", **SCREENS[name])


@pytest.mark.parametrize("name", ["translate", "attention", "hand"])
def test_narrow(see: Callable[..., Any], name: str) -> None:
    seen = see(color_scheme="light", reduced_motion="reduce", width=360, is_mobile=True)
    _take(seen, FOLDER / "ko" / f"{name}-narrow.png", lang="ko", **SCREENS[name])


def _take(seen: Any, path: Path, **state: Any) -> None:
    page = seen.open(src=SENTENCE, **state)
    page.wait_for_timeout(400)  # a live line goes on for a moment
    assert page.locator(".refusal").count() == 0
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, HIGHEST)))
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < 250_000
