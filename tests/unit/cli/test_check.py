"""`headway check` prints what was found, and writes nothing."""

import json
from pathlib import Path

import pytest

from headway.cli.check import _files, lines_of
from headway.data.corpus import Pair
from headway.data.finding import Finding
from headway.training.text_check import CorpusShare

CONFIG = """
[data]
directory = "{folder}"
source = "a.ko"
target = "a.en"
valid_source = "v.ko"
valid_target = "v.en"

[tokenizer]
kind = "char"
vocabulary_size = 60

[model]
preset = "tiny"
d_model = 8
num_heads = 2
d_ff = 12

[training]
max_steps = 7
warmup_steps = 2
batch_tokens = 64
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    texts = {
        "a.ko": "저는 간다\n너는 온다\n우리는 잔다\n너는 온다\n",
        "a.en": "I go\nyou come\n\nyou come\n",
        "v.ko": "저는 간다\n달다\n",
        "v.en": "I go\nit is sweet\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    return path


def test_the_report_for_people(run, config: Path) -> None:
    before = sorted(config.parent.iterdir())

    status, printed, err = run("check", config, "--set", "training.precision=float32")

    assert status == 0, err
    lines = printed.splitlines()
    assert lines[0].startswith("Training text: 0 of ")
    assert (
        "  pair seen before: 1 (line 4 as 2) → headway clean, or --set data.drop_duplicates=true"
        in lines
    )
    assert lines[2] == "    line 4: '너는 온다' | 'you come'"
    assert (
        lines[3]
        == "  empty target: 1 (line 3) → headway clean, or leave it: training drops such pairs"
    )
    assert lines[4] == "    line 3: '우리는 잔다' | ''"
    assert "In training: 4 pairs read, 3 kept; dropped 1: empty target 1 (line 3)" in lines
    overlap = (
        "  pair is in the training text too: 1 (line 1) → take these pairs out of the training"
    )
    assert f"{overlap} text with headway clean --valid-source" in lines
    assert any(line.startswith("Training: 7 steps, 7.0 epochs, float32") for line in lines)
    assert any("headway train --minutes N" in line for line in lines)
    folder = config.parent
    assert lines[-2:] == [
        f"Next: headway clean --source {folder}/a.ko --target {folder}/a.en "
        f"--valid-source {folder}/v.ko --valid-target {folder}/v.en --out clean.{{ko,en}}",
        "      repairs or drops about 2 lines and drops the pairs that validation or test text "
        "has; then 0 lines need your decision.",
    ]
    assert sorted(config.parent.iterdir()) == before


def test_the_report_for_programs(run, config: Path) -> None:
    status, printed, err = run("check", config, "--json", "--set", "training.max_steps=9")
    assert (status, err) == (0, "")
    report = json.loads(printed)
    assert report["steps"] == 9
    assert report["findings"]["training"][1] == {
        "id": "empty-target",
        "problem": "empty target",
        "count": 1,
        "lines": [3],
        "example": {"line": 3, "source": "우리는 잔다", "target": ""},
    }
    assert report["estimated_seconds"] > 0


def test_a_vocabulary_that_is_too_large_is_told_with_all_else(run, config: Path) -> None:
    call = ["check", config, "--quiet", "--set", "tokenizer.kind=bpe"]
    call += ["--set", "tokenizer.vocabulary_size=3000"]

    status, printed, err = run(*call)
    assert status == 2
    most = int(err.partition("at most ")[2].split()[0])
    assert err == (
        f"Error: vocabulary_size is 3000, but this text gives a bpe tokenizer at most {most} "
        f"tokens. Set tokenizer.vocabulary_size to {most} or less, or train on more text.\n"
    )
    lines = printed.splitlines()
    assert "  empty target: 1 (line 3) → headway clean, or leave it: " in printed
    assert any(
        line.startswith("Model: ")
        and line.endswith(f" {most} tokens, the most that this text gives")
        for line in lines
    )
    assert any(line.startswith("Estimate: ") for line in lines)
    assert lines[-2].startswith("Next: headway clean --source ")

    status, printed, err = run(*call, "--json")
    assert status == 2
    report = json.loads(printed)
    assert report["error"].startswith("vocabulary_size is 3000")
    assert report["vocabulary"] == most
    assert run(*call, "--set", f"tokenizer.vocabulary_size={most}")[0] == 0


def test_findings_are_told_if_no_vocabulary_fits_the_text(run, config: Path) -> None:
    call = ["check", config, "--quiet", "--set", "tokenizer.kind=bpe"]
    call += ["--set", "tokenizer.vocabulary_size=9"]

    status, printed, err = run(*call)
    assert status == 2
    assert "vocabulary_size is 9" in err
    assert printed.splitlines()[0] == "Training text:"
    assert printed.splitlines()[3].startswith("  empty target: 1 (line 3) → ")
    assert printed.splitlines()[4] == "    line 3: '우리는 잔다' | ''"
    assert "\nNext: headway clean --source " in printed

    status, printed, err = run(*call, "--json")
    assert status == 2
    assert "vocabulary_size is 9" in err
    report = json.loads(printed)
    assert list(report) == ["findings", "error"]
    assert report["error"].startswith("vocabulary_size is 9")
    assert report["findings"]["training"][1]["problem"] == "empty target"


def test_of_several_texts_these_findings_have_the_files_in_their_heading_too(
    run, config: Path
) -> None:
    two = config.parent / "two.toml"
    corpus = '[[data.corpora]]\nsource = "{}.ko"\ntarget = "{}.en"\n'
    text = CONFIG.format(folder=config.parent)
    text = text.replace('source = "a.ko"\ntarget = "a.en"\n', "", 1)
    text = text.replace(
        "[tokenizer]", corpus.format("a", "a") + corpus.format("v", "v") + "[tokenizer]"
    )
    two.write_text(text.replace("= 60", "= 9").replace('"char"', '"bpe"'), encoding="utf-8")

    status, printed, err = run("check", two, "--quiet")

    assert status == 2
    assert "vocabulary_size is 9" in err
    heads = [line for line in printed.splitlines() if line.endswith(":")]
    assert heads == [
        "Training, corpus 1 text (a.ko, a.en):",
        "Training, corpus 2 text (v.ko, v.en):",
        "Validation text:",
    ]


def test_files_on_the_command_line(run, config: Path) -> None:
    folder = config.parent
    names = [f"--{key}={folder / name}" for key, name in (
        ("source", "a.ko"), ("target", "a.en"), ("valid-source", "v.ko"), ("valid-target", "v.en"),
    )]  # fmt: skip
    small = ["--set", "tokenizer.kind=char", "--set", "tokenizer.vocabulary_size=60"]

    status, printed, err = run("check", *names, *small, "--preset", "tiny")

    assert status == 0, err
    assert "empty target: 1 (line 3)" in printed
    assert run("check", "--source", folder / "a.ko")[0] != 0


def test_a_text_of_several_has_its_files_in_its_heading() -> None:
    corpora = [
        CorpusShare([f"data/{n}.ko", f"data/{n}.en"], n == 12, "", 1.0, 9, 0.1)
        for n in range(1, 13)
    ]
    assert _files("training, corpus 1", corpora) == " (1.ko, 1.en)"
    assert _files("training, corpus 12", corpora) == " (12.ko, 12.en; reversed)"
    assert _files("validation", corpora) == ""


def test_a_stretch_is_shown_by_the_line_in_its_middle() -> None:
    pairs = [Pair(f"ein Satz {line}", f"a sentence {line}") for line in range(1, 2000)]
    moved = Finding("misaligned", "targets moved", 91, (1201,), 1291).with_example(pairs)
    assert lines_of([moved], "training")[1] == "    line 1,246: 'ein Satz 1246' | 'a sentence 1246'"
