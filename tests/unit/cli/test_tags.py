"""A model that was trained with tags alone expects one at the beginning of each line."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from headway.bundle import load_bundle, save_bundle
from headway.data.renumbered import renumbered

LINES = "<2ko> the cat\nthe cat\n\n<2en>the cat\n<2en> ran\n"
NOTES = [
    "Note: line 2: begins with none of the tags that this model was trained with, each followed "
    "by a space: <2ko>, <2en>.",
    "Note: 2 lines in all begin with no tag of this model.",
]


def with_tags(bundle_path: Path, path: Path, *tags: str) -> Path:
    record: dict[str, Any] = {"config": {"data": {"corpora": [{"tag": tag} for tag in tags]}}}
    save_bundle(path, dataclasses.replace(load_bundle(bundle_path), record=record))
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text(LINES)
    return tmp_path / "in"


@pytest.mark.parametrize(
    "command",
    [
        ("translate", "MODEL", "TEXT"),
        ("translate", "MODEL", "TEXT", "--stream"),
        ("evaluate", "MODEL", "--source", "TEXT", "--reference", "TEXT"),
        ("score", "MODEL", "--source", "TEXT", "--target", "TEXT"),
        ("align", "MODEL", "--source", "TEXT", "--target", "TEXT"),
        ("shortlist", "MODEL", "--source", "TEXT", "--target", "TEXT"),
    ],
    ids=["translate", "stream", "evaluate", "score", "align", "shortlist"],
)
def test_lines_without_a_tag_are_noted(
    run, bundle_path: Path, text: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    model = with_tags(bundle_path, tmp_path / "tagged", "<2ko>", "<2en>", "<2ko>")
    arguments = [{"MODEL": model, "TEXT": text}.get(word, word) for word in command]

    notes = [line for line in run(*arguments)[2].splitlines() if "tag" in line]

    assert notes == NOTES
    assert "tag" not in run(*arguments, "--quiet")[2]


def test_the_tag_of_a_single_corpus_is_expected(
    run, bundle_path: Path, text: Path, tmp_path: Path
) -> None:
    record: dict[str, Any] = {"config": {"data": {"tag": "<2ko>", "corpora": []}}}
    bundle = dataclasses.replace(load_bundle(bundle_path), record=record)
    save_bundle(tmp_path / "one", bundle)
    assert "Note: 3 lines in all" in run("translate", tmp_path / "one", text)[2]


@pytest.mark.parametrize("tags", [(), ("<2ko>", "")])
def test_a_model_that_was_trained_on_untagged_text_too_expects_none(
    run, bundle_path: Path, text: Path, tmp_path: Path, tags: tuple[str, ...]
) -> None:
    model = with_tags(bundle_path, tmp_path / "mixed", *tags)
    assert "tag" not in run("translate", model, text)[2]


def test_a_shortlist_of_some_of_the_tags_is_remarked_on(
    run, bundle_path: Path, text: Path, tmp_path: Path
) -> None:
    model = with_tags(bundle_path, tmp_path / "tagged", "<2ko>", "<2en>", "<2de>", "<2fr>")
    learn = ["shortlist", model, "--source", text, "--target", text]
    notes = run(*learn)[2].splitlines()
    assert any(
        note.startswith("Note: no line begins with <2de>, <2fr>: what only such lines ")
        for note in notes
    )
    assert "no line begins" not in run(*learn, "--quiet")[2]


@pytest.mark.parametrize("extra", [("translate",), ("evaluate", "--reference", "TEXT", "--source")])
def test_a_line_without_a_tag_of_an_imported_model_is_refused(
    run, bundle_path: Path, text: Path, tmp_path: Path, extra: tuple[str, ...]
) -> None:
    bundle = load_bundle(bundle_path)
    own = bundle.source_tokenizer
    source = renumbered(own.to_bytes(), own.pieces(range(4, len(own))), leading_tags=True)
    record = {"imported": {"tags": [">>deu<<", ">>fra<<"]}}
    bundle = dataclasses.replace(bundle, source_tokenizer=source, record=record)
    save_bundle(tmp_path / "imported", bundle)
    text.write_text(">>deu<< the cat\nthe cat\n")
    command, *options = (text if word == "TEXT" else word for word in extra)

    status, _, err = run(command, tmp_path / "imported", *options, text)

    assert status == 1
    assert "line 2: The text 'the cat' begins with no tag; the model has >>deu<<, >>fra<<." in err
