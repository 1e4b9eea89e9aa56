"""The pictures of the documents: `make screenshots` writes docs/screens."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
HIGHEST = 2200  # pixels of a page that a document shows
SENTENCE = "저는 학생입니다."
# The first search compiles, and the page shows the time of the encoder.
FIRST = "저는 프랑스어로 그 책을 읽었습니다."
SCREENS: dict[str, dict[str, Any]] = {
    "translate": {"screen": "translate", "t": 3},
    "attention": {"screen": "attention", "view": "cross", "l": 1, "h": 1, "t": 3, "q": 3},
    "hand": {"screen": "hand", "view": "decoder", "l": 1, "h": 2, "t": 3, "q": 3},
    "tree": {"screen": "tree"},
    "what-if": {"screen": "what-if"},
    "tensors": {"screen": "tensors", "name": "encoder.layers.0.self_attention_residual.norm"},
    "position": {"screen": "position", "pos": 4, "dim": 6},
    "alignment": {"screen": "alignment"},
    "lessons": {"screen": "lessons"},
}
MOVING = "저는 학생입니다."
MOVING_STEPS = 6  # tokens of its translation, with the end
MOVING_PART = {"x": 0, "y": 0, "width": 1290, "height": 840}
LESSON = {"screen": "lessons", "lesson": 4}
GOOD = {"screen": "hand", "tab": "good"}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_wide_and_light(see: Callable[..., Any], language: str) -> None:
    seen = see(color_scheme="light", reduced_motion="reduce")
    seen.open(src=FIRST)
    for name, state in {**SCREENS, "lesson": LESSON, "hand-good": GOOD}.items():
        _take(seen, FOLDER / language / f"{name}.png", lang=language, **state)


@pytest.mark.parametrize("name", ["translate", "attention", "tree"])
def test_dark(see: Callable[..., Any], name: str) -> None:
    seen = see(color_scheme="dark", reduced_motion="reduce")
    _take(seen, FOLDER / "en" / f"{name}-dark.png", **SCREENS[name])


@pytest.mark.parametrize("name", ["translate", "attention", "hand"])
def test_narrow(see: Callable[..., Any], name: str) -> None:
    seen = see(color_scheme="light", reduced_motion="reduce", width=360, is_mobile=True)
    _take(seen, FOLDER / "ko" / f"{name}-narrow.png", lang="ko", **SCREENS[name])


@pytest.mark.parametrize("language", ["en", "ko"])
def test_moving(see: Callable[..., Any], language: str) -> None:
    """The picture that moves: one translation, token by token."""
    seen = see(color_scheme="light", reduced_motion="reduce", width=1290)
    seen.open(src=FIRST)
    frames = []
    for step in range(MOVING_STEPS):
        page = seen.open(src=MOVING, lang=language, screen="translate", t=step)
        page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(page.screenshot(clip=MOVING_PART))).convert("RGB")
        frames.append(picture.resize((860, 560), Image.Resampling.LANCZOS))
    palette = frames[-1].quantize(96, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    path = FOLDER / language / "translate.gif"
    drawn[0].save(
        path, save_all=True, append_images=drawn[1:], duration=1000, loop=0, optimize=True
    )
    assert path.stat().st_size < 800_000


def _take(seen: Any, path: Path, **state: Any) -> None:
    page = seen.open(src=SENTENCE, **state)
    if state["screen"] == "what-if":
        page.locator('[data-key="example:hidden"]').click()
        seen.wait()
    page.wait_for_timeout(400)  # a live line goes on for a moment
    assert page.locator(".refusal").count() == 0
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, HIGHEST)))
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < 250_000
