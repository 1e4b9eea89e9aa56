"""Files that go with the lines of `translate`: terms, prefixes and a glossary."""

import json
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("the cat sat. a dog ran far!\na dog ran far\n", encoding="utf-8")
    return path


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_glossary_is_for_the_sentences_that_have_its_terms(
    run: Run, bundle_path: Path, text: Path, tmp_path: Path
) -> None:
    glossary = _write(tmp_path / "gl.tsv", "cat\tdog\nra*\tfar\n")

    status, out, err = run("translate", bundle_path, text, "--glossary", glossary, "--json")

    first, second = map(json.loads, out.splitlines())
    assert status == 0
    assert "dog" in first["text"]
    assert "far" in first["text"]
    assert "far" in second["text"]
    assert (first["num_parts"], first["num_sentences"], second["num_parts"]) == (2, 2, 1)
    assert "parts" not in err


def test_glossary_terms_that_no_sentence_has_are_named(
    run: Run, bundle_path: Path, text: Path, tmp_path: Path
) -> None:
    glossary = _write(tmp_path / "gl.tsv", "cat\tdog\nDOG\tfar\nbird\tdog\nra*\tfar\n")

    _, _, err = run("translate", bundle_path, text, "--glossary", glossary)
    _, _, silent = run("translate", bundle_path, text, "--glossary", glossary, "--quiet")

    assert "Note: no sentence has 2 terms of the glossary: 'DOG', 'bird'. A term is found" in err
    assert "glossary" not in silent


@pytest.mark.parametrize(
    ("glossary", "message"),
    [
        ("cat\n", "line 1 has 1 columns, not two"),
        ("cat\tdog\ncat\tfar\n", "lines 1 and 2 have two translations of 'cat'"),
        (
            "cat\tQ\n",
            "The glossary's translation 'Q' has 1 token that the vocabulary does not know",
        ),
    ],
)
def test_a_glossary_that_cannot_be_used_is_refused_before_the_work(
    run: Run, bundle_path: Path, text: Path, tmp_path: Path, glossary: str, message: str
) -> None:
    path = _write(tmp_path / "gl.tsv", glossary)

    status, out, err = run("translate", bundle_path, text, "--glossary", path)

    assert status != 0
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("terms", "refused"),
    [
        ("cat\tdog\nran\tfar\nthe\tdog\n", True),
        ("cat\tdog\n", True),
        ("cat\tdog\nran\tfar\n", False),  # a line for each sentence
        ("cat\tdog\nran\nfar\n", False),
    ],
)
def test_terms_that_look_like_a_glossary_are_refused_before_the_work(
    run: Run, bundle_path: Path, text: Path, tmp_path: Path, terms: str, refused: bool
) -> None:
    path = _write(tmp_path / "gl.tsv", terms)

    status, out, err = run("translate", bundle_path, text, "--terms", path, "--one-sentence-a-line")

    assert (status != 0) == refused
    assert (" of two columns" in err) == ("--glossary" in err) == refused
    assert (out == "") == refused


def test_one_sentence_a_line_takes_lines_as_they_are(
    run: Run, bundle_path: Path, text: Path
) -> None:
    _, out, _ = run("translate", bundle_path, text, "--one-sentence-a-line", "--json")

    assert [json.loads(line)["num_sentences"] for line in out.splitlines()] == [1, 1]
