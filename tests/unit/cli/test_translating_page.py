"""Each command of the task page runs as it stands there."""

import re
import shlex
from pathlib import Path

import pytest

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
    Path("in.ko.gz").write_bytes(gzip.compress(LINES.encode()))
    Path("terms.tsv").write_text("저는\tthe cat\n", encoding="utf-8")
    for name in ("wanted.txt", "begin.txt"):
        Path(name).write_text("cat\n\n")
    return tmp_path


def test_the_page_has_all_of_its_commands() -> None:
    assert len(COMMANDS) == TEXT.count("headway translate MODEL") == 17
    assert ROW.findall(KOREAN) == COMMANDS


@pytest.mark.parametrize("command", [c for c in COMMANDS if "in.ko" in c or "--text" in c])
def test_each_command_of_the_page_runs(run, place: Path, bundle_path: Path, command: str) -> None:
    if "cuda" in command:
        command = command.replace("cuda", "cpu")
    names = {"MODEL": bundle_path, "OTHER": bundle_path}
    status, out, err = run(*(names.get(word, word) for word in shlex.split(command)))
    assert status == 0, err
    assert out or list(place.glob("out.*"))
