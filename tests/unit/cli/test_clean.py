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
        "  copies: 1 left (to drop them: --drop empty,duplicates,copies)",
        "    line 3: 'three' | 'three'",
        "  html-codes-source: 1 repaired",
        "  empty-source: 1 dropped",
        "The lines that are left are kept, and listed in c.removed.tsv.",
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
        "examples": {
            "html-codes-source": [{"line": 1, "source": "one &amp; two", "target": "eins & zwei"}]
        },
        "remarks": [],
        "trimmed": {},
        "options": {"html-codes-source": "--fix html"},
    }
    assert run("clean", "a.tsv", "--out", "d.tsv")[0] == 0
    assert Path("d.tsv").read_text() == "one\teins\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "--out c.en c.de a.en a.de",
        "--out c.en a.en c.de a.de",
        "--out c.en a.en a.de c.de",
        "a.en --out c.en c.de a.de",
    ],
)
def test_a_file_that_is_there_is_written_only_as_the_other_side_of_out(
    run, messy: Path, arguments: str
) -> None:
    before = Path("a.en").read_text(), Path("a.de").read_text()
    for name in ("c.en", "c.de"):
        Path(name).write_text("of an earlier cleaning\n")
    status, printed, err = run("clean", *arguments.split())
    assert status == 0, err
    assert "3 pairs read, 2 kept, 1 dropped: c.en, c.de;" in printed
    assert (Path("a.en").read_text(), Path("a.de").read_text()) == before


@pytest.mark.parametrize(
    ("out", "second"),
    [("{0}.txt", "de en"), ("x_{0}.txt", "source target"), ("x/{0}/y", "de en"), ("{0}", "en ko")],
)
def test_what_braces_make_is_known(run, messy: Path, out: str, second: str) -> None:
    names = [out.format(word) for word in second.split()]
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("of an earlier cleaning\n")
    status, printed, err = run("clean", "--out", *names, "a.en", "a.de")
    assert status == 0, err
    assert f"dropped: {', '.join(names)};" in printed


MEMORY = (
    "<tmx><body>"
    '<tu><tuv xml:lang="en-US"><seg>one &amp;amp; two</seg></tuv>'
    '<tuv xml:lang="af-ZA"><seg>een en twee</seg></tuv></tu>{}</body></tmx>'
)


def test_a_translation_memory_becomes_a_table(run, messy: Path) -> None:
    Path("x.tmx").write_text(MEMORY.format(""))
    status, printed, err = run("clean", "x.tmx", "--out", "c.tsv")
    assert status == 0, err
    assert printed.splitlines()[1] == "x.tmx: the source is en-US, the target is af-ZA."
    assert Path("c.tsv").read_text() == "one & two\teen en twee\n"
    languages = ("--source-language", "af", "--target-language", "en")
    assert run("clean", "x.tmx", "--out", "c.tsv", *languages)[0] == 0
    assert Path("c.tsv").read_text() == "een en twee\tone & two\n"


def test_options_are_named_where_columns_are_missing(run, messy: Path) -> None:
    status, _, err = run("clean", "a.tsv", "--source-column", 3, "--out", "c.tsv")
    assert status == 1
    assert "name others: --source-column, --target-column." in err


def test_options_are_named_where_a_memory_has_more_languages(run, messy: Path) -> None:
    more = '<tu><tuv xml:lang="ko"><seg>x</seg></tuv></tu>'
    Path("x.tmx").write_text(MEMORY.format(more))
    status, _, err = run("clean", "x.tmx", "--out", "c.tsv")
    assert status == 1
    assert "Choose two: --source-language=en-US --target-language=af-ZA" in err
    assert "--set" not in err


def test_lines_of_the_log_are_counted_as_by_check_also_below_a_header(run, messy: Path) -> None:
    Path("x.tsv").write_text("en\taf\nyes\tja\n\tleeg\n")
    options = ("--source-language", "en", "--target-language", "af")
    status, printed, err = run("clean", "x.tsv", "--out", "c.tsv", *options)
    assert status == 0, err
    assert "the first line names the columns (en, af) and is not a pair" in printed
    assert Path("c.removed.tsv").read_text().splitlines()[1].startswith("2\tempty-source\t")
    status, printed, _ = run("clean", "x.tsv", "--out", "c.tsv")
    assert "is read as a pair" in printed
    assert "--source-language, --target-language" in printed
    assert Path("c.tsv").read_text() == "en\taf\nyes\tja\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.en a.de", "--out names no file"),
        ("a.en a.de b.de --out c.tsv", "one or two files"),
        ("--target a.de --out c.tsv", "--target comes without --source"),
        (
            "--source a.en --target a.de --out a.en a.de",
            "a.en is an input and would be overwritten",
        ),
        ("a.en a.de --out a.en a.de", "--out names a.en, and none of"),
        ("--out c.en a.en a.de", "--out names c.en, and none of a.en, a.de is surely its second"),
        ("a.en a.de --out a.x a.tsv", "and none of a.en, a.de, a.tsv is surely its second"),
        ("b.en b.de --out c.en d.de", "and none of b.en, b.de, d.de is surely its second"),
        ("a.en a.de --out c.tsv --drop lenght", "Did you mean"),
        ("--out c.tsv", "Got no file to clean, but one or two files"),
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


def test_older_text_that_is_replaced_is_named(run, messy: Path) -> None:
    Path("c.de").write_text("older\n", encoding="utf-8")

    first = run("clean", "a.en", "a.de", "--out", "c.{en,de}")[1]
    second = run("clean", "a.en", "a.de", "--out", "c.{en,de}")[1]

    assert first.splitlines()[1] == "Replaced older text in c.de."
    assert second.splitlines()[1] == "Replaced older text in c.en, c.de, c.removed.tsv."
    assert Path("c.de").read_text() == "eins & zwei\nthree\n"


def test_validation_text_is_named_once_or_several_times(run, messy: Path) -> None:
    (messy / "v.en").write_text("three\n")
    (messy / "v.de").write_text("three\n")
    named = "--valid-source v.en --valid-target v.de --valid-source a.en --valid-target a.de"
    status, printed, err = run("clean", "a.en", "a.de", *f"--out c.tsv {named}".split())
    assert status == 1, err
    assert "No pair would be left: 2 of 3 pairs would be dropped as in-validation." in err
    status, printed, err = run("clean", "a.en", "a.de", *f"--out c.tsv {named[:42]}".split())
    assert status == 0, err
    assert "  in-validation: 1 dropped" in printed.splitlines()
    status, _, err = run("clean", "a.en", "a.de", *f"--out c.tsv {named[:62]}".split())
    assert status != 0
    assert "--valid-source names 2 files, --valid-target 1." in err
