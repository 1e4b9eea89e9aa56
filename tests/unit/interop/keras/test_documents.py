"""The page about Keras is true: its code runs, in Korean and in English."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.bundle import Bundle, save_bundle

ROOT = Path(__file__).parents[4]
PAGES = ["docs/en/keras/use.md", "docs/ko/keras/use.md"]


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_code_runs(
    make_bundle: Callable[..., Bundle],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_bundle("runs/demo", make_bundle())
    names: dict[str, object] = {}
    for code in blocks(PAGES[0]):
        exec(code, names)

    printed = capsys.readouterr().out
    assert "[[0.3072 0.1863 0.5065]" in printed
    assert "[ True  True  True False False]" in printed
    assert "(128, 32, 200)" in printed
    assert "(1, 4, 30)" in printed
    weights = [tmp_path / "runs" / name / "model.safetensors" for name in ("demo", "back")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_both_languages_have_the_same_code() -> None:
    assert blocks(PAGES[0]) == blocks(PAGES[1])
