"""Each command of the task page runs as it stands there, and so does its code."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import headway
from headway.inspection.translator import load

DOCS = Path(__file__).parents[3] / "docs"
TEXT, KOREAN = (
    (DOCS / language / "howto" / "translating.md").read_text(encoding="utf-8")
    for language in ("en", "ko")
)
ROW = re.compile(
    r"^\|[^|]+\| `(?:program \\\| )?headway (translate MODEL[^`]*)` \|$", flags=re.MULTILINE
)
COMMANDS = ROW.findall(TEXT)
LINES = "저는 갑니다 .\n너는 온다 !\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import gzip

    monkeypatch.chdir(tmp_path)
    Path("in.ko").write_text(LINES, encoding="utf-8")
    Path("in.html").write_text("<p>저는 <b>갑니다</b> .</p>", encoding="utf-8")
    Path("in.ko.gz").write_bytes(gzip.compress(LINES.encode()))
    Path("terms.tsv").write_text("저는\tthe cat\n", encoding="utf-8")
    for name in ("wanted.txt", "begin.txt"):
        Path(name).write_text("cat\n\n")
    return tmp_path


def test_the_page_has_all_of_its_commands() -> None:
    assert len(COMMANDS) == TEXT.count("headway translate MODEL") == 18
    assert ROW.findall(KOREAN) == COMMANDS


@pytest.mark.parametrize("command", [c for c in COMMANDS if " in." in c or "--text" in c])
def test_each_command_of_the_page_runs(run, place: Path, bundle_path: Path, command: str) -> None:
    if "cuda" in command:
        command = command.replace("cuda", "cpu")
    names = {"MODEL": bundle_path, "OTHER": bundle_path}
    status, out, err = run(*(names.get(word, word) for word in shlex.split(command)))
    assert status == 0, err
    assert out or list(place.glob("out.*"))


@pytest.fixture
def translated(
    bundle_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[str, list[str]]]:
    """Run the code of the page; return its function."""
    monkeypatch.setattr(headway, "load", lambda _, precision: load(bundle_path))
    names: dict[str, object] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)), names)
    return names["translated"]  # type: ignore[return-value]


def test_the_function_of_the_page_gives_the_reasons_to_doubt(
    translated: Callable[..., tuple[str, list[str]]],
) -> None:
    unknown, cut = "unknown characters or words", "a sentence too long for the model"
    assert translated("") == ("", [])
    assert unknown in translated("저는 Ω .")[1]
    assert unknown not in translated("저는 갑니다 .")[1]
    assert "deleted characters" in translated("저는\ufffd갑니다 .")[1]
    assert cut in translated("저는 갑니다 " * 20)[1]
    assert translated("저는 갑니다 .", longest=7) == (
        "",
        ["8 characters, and 7 are allowed"],
    )
    message, remedy = translated(["저는 갑니다 .", 3])[1]
    assert "int" in message
    assert remedy
