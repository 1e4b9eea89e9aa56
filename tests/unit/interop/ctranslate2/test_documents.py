"""What docs/en/howto/ctranslate2.md says is true: its code runs and its options exist."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from headway.bundle import Bundle, save_bundle
from headway.cli.app import app
from headway.interop.ctranslate2 import exporting, parity, spec

PAGE = Path(__file__).parents[4] / "docs" / "en" / "howto" / "ctranslate2.md"


def test_the_code_on_the_page_runs(
    make_bundle: Callable[..., Bundle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    save_bundle(tmp_path / "runs" / "demo", make_bundle())
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert (tmp_path / "demo-by-python" / "model.bin").exists()


def test_options_and_numbers_on_the_page_are_those_of_the_code() -> None:
    text = PAGE.read_text("utf-8")
    command = typer.main.get_command(app).commands["export"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    used = set(re.findall(r"--[a-z]+", text))
    assert {"--to", "--out", "--quantization", "--sample"} == used <= options
    assert f"end at {spec.POSITIONS} positions" in text
    assert "within 1e-4" in text
    assert parity.TOLERANCE == 1e-4
    assert f"on {len(parity._LENGTHS)} sentences of random tokens" in text
    assert all(f"`{name}`" in text or f" {name}`" in text for name in exporting.QUANTIZATIONS[1:])
