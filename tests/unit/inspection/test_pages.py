"""The page about inspection is true: its code runs, in Korean and in English."""

import re
from pathlib import Path

import pytest
import typer

from headway.bundle import save_bundle
from headway.cli.app import app

ROOT = Path(__file__).parents[3]
PAGES = ["docs/en/howto/inspection.md", "docs/ko/howto/inspection.md"]


def blocks(page: str, language: str = "python") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    every = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [code for own, code in every if own == language]


def test_the_code_runs(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_bundle("runs/demo", make(num_heads=4).bundle)
    names: dict[str, object] = {}
    for code in blocks(PAGES[0]):
        exec(code, names)

    printed = capsys.readouterr().out
    assert "['head', 'query', 'key']" in printed
    assert "(B, H, T, S) exp(masked_scores)" in printed
    assert "번 열을 곱해 더한 값" in printed
    assert (tmp_path / "trace.safetensors").is_file()


def test_both_languages_have_the_same_code_and_commands() -> None:
    assert blocks(PAGES[0]) == blocks(PAGES[1])
    assert blocks(PAGES[0], "") == blocks(PAGES[1], "")


def test_every_option_of_the_commands_exists() -> None:
    inspect = typer.main.get_command(app).commands["inspect"]  # type: ignore[attr-defined]
    known = {option for parameter in inspect.params for option in parameter.opts}
    (commands,) = blocks(PAGES[0], "")
    used = set(re.findall(r"--[a-z-]+", commands))
    assert len(used) >= 5
    assert used <= known


def test_every_part_of_the_catalog_is_in_the_table() -> None:
    from headway.inspection.catalog import catalog
    from headway.inspection.model_kind import Variant

    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for row in catalog(Variant(activation="glu")).values():
            assert f"`{row.pattern.rpartition('.')[2]}`" in text, (page, row.pattern)
