"""`headway clean` takes files as people name them, and says what it did."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def messy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.en").write_text("one &amp; two\n\nthree\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("eins & zwei\nleer\nthree\n", encoding="utf-8")
    (tmp_path / "a.tsv").write_text("one\teins\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        "--source a.en --target a.de --out c.en c.de",
        "a.en a.de --out c.en c.de",
        "a.en a.de --out c.{en,de}",
        "--out c.en c.de --source a.en --target a.de",
    ],
)
def test_files_are_named_as_a_shell_passes_them(run, messy: Path, arguments: str) -> None:
    status, printed, err = run("clean", *arguments.split())
    assert status == 0, err
    assert printed.splitlines() == [
        "3 pairs read, 2 kept, 1 dropped: c.en, c.de; each change: c.removed.tsv",
        "  copies: 1 left (--drop copies)",
        "  html-codes-source: 1 repaired",
        "  empty-source: 1 dropped",
    ]
    assert Path("c.en").read_text() == "one & two\nthree\n"
    assert Path("c.de").read_text() == "eins & zwei\nthree\n"


def test_options_choose_and_json_counts(run, messy: Path) -> None:
    options = "--fix none --drop copies,empty --report log.tsv --json --out c.tsv"
    status, printed, _ = run("clean", "a.en", "a.de", *options.split())
    assert status == 0
    assert json.loads(printed) == {
        "files": ["c.tsv"],
        "log": "log.tsv",
        "pairs": 3,
        "kept": 1,
        "repaired": {},
        "dropped": {"copies": 1, "empty-source": 1},
        "left": {"html-codes-source": 1},
    }
    assert run("clean", "a.tsv", "--out", "d.tsv")[0] == 0
    assert Path("d.tsv").read_text() == "one\teins\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.en a.de", "--out names no file"),
        ("a.en a.de b.de --out c.tsv", "one or two files"),
        ("--target a.de --out c.tsv", "--target comes without --source"),
        ("a.en a.de --out a.en a.de", "a.en is read and would be written over"),
        ("a.en a.de --out c.tsv --drop lenght", "Did you mean"),
        ("--out c.tsv", "no file; one or two files"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(
    run, messy: Path, arguments: str, message: str
) -> None:
    status, printed, err = run("clean", *arguments.split())
    assert status == 2
    assert not printed
    assert message in err
    assert err.count("\n") == 1
