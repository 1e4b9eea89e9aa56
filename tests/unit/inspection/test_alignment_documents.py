"""What the pages about alignment and attribution say is there, and their code runs."""

import re
from pathlib import Path

import pytest
import typer

import headway
from headway.bundle import Bundle
from headway.cli.app import app
from headway.decoding.translator import TextTranslator

DOCS = Path(__file__).parents[3] / "docs" / "en" / "howto"
ROOM = Path(headway.__file__).parent / "inspection"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["alignment.md", "attribution.md"])
def test_the_code_on_the_page_runs(
    name: str,
    bundle: Bundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(headway, "load", lambda _: TextTranslator(bundle))
    Path("some.gold").write_text("0-0 1-3 1p2\n", encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page(name), flags=re.DOTALL)
    assert blocks

    for code in blocks:
        exec(code, {})
        drawn = re.findall(r'"(\w+\.(?:svg|png))"', code)
        assert drawn
        assert all(Path(figure).stat().st_size > 1000 for figure in drawn)

    assert capsys.readouterr().out


def test_every_option_on_the_page_about_alignment_exists() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {option for parameter in commands["align"].params for option in parameter.opts}
    others = {option for parameter in commands["translate"].params for option in parameter.opts}
    text = page("alignment.md")
    assert set(re.findall(r"`(--[a-z-]+)`", text)) <= options
    for command, rest in re.findall(r"`?headway (\w+) ([^`\n]*)", text):
        assert set(re.findall(r"--[a-z-]+", rest)) <= (options if command == "align" else others)
    assert {"--gold", "--gold-from-one", "--layer", "--moment"} <= set(
        re.findall(r"--[a-z-]+", text)
    )


def test_every_figure_has_its_row_and_every_row_its_figure() -> None:
    rows = set(re.findall(r"^\| `((?:figures|curves)\.\w+)` \|", page("attribution.md"), re.M))
    there = {
        f"{stem}.{name}"
        for stem in ("figures", "curves")
        for name in re.findall(r"^def ([a-z]\w+)", (ROOM / f"{stem}.py").read_text("utf-8"), re.M)
    }
    assert rows == there
