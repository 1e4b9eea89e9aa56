"""`headway shortlist` learns, writes and reports; `translate` and `evaluate` take what it wrote."""

import json
import re
import shutil
from pathlib import Path

import pytest

import headway
from headway.bundle import load_bundle
from headway.evaluation.shortlists import coverage
from headway.saved_bundle import read_bundle

SOURCES = ["저는 갑니다 .", "너는 온다 !", "우리는 자요 ?"]
TARGETS = ["the cat sat", "a dog", "ran far"]


@pytest.fixture
def model(bundle_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle_path, tmp_path / "model"))


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    files = tmp_path / "text.ko", tmp_path / "text.en"
    for file, lines in zip(files, (SOURCES, TARGETS), strict=True):
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return files


def test_it_learns_writes_and_reports(run, model: Path, text: tuple[Path, Path]) -> None:
    source, target = text
    before = (model / "model.safetensors").read_bytes()

    status, out, _ = run(
        "shortlist", model, "--source", source, "--target", target, "--frequent", 2, "--json",
        "--per-piece", 3, "--valid-source", source, "--valid-target", target, "--translate",
    )  # fmt: skip

    assert status == 0
    values = json.loads(out)
    bundle = load_bundle(model)
    assert bundle.shortlist is not None
    assert (model / "model.safetensors").read_bytes() == before
    assert bundle.record["shortlist"] == {
        "pairs": 3, "pairs_given": 3, "frequent": 2, "per_piece": 3, "min_probability": 0.0
    }  # fmt: skip
    assert values["coverage"] == coverage(bundle, SOURCES, TARGETS).as_dict()
    assert {score["name"] for score in values["effect"]["restricted"]} == {"bleu", "chrf"}
    assert 0 <= values["effect"]["changed"] <= 1
    checksum = read_bundle(model).checksum

    # Without text to learn from it reports what is there, and writes nothing.
    _, out, _ = run("shortlist", model, "--valid-source", source, "--valid-target", target)
    assert "Covered: " in out
    assert f"{values['coverage']['covered_pieces']:.2%}" in out
    assert read_bundle(model).checksum == checksum
    _, out, _ = run("info", model)
    assert "shortlist: per_piece" in out
    assert re.search("^shortlist  +yes$", out, re.MULTILINE)
    assert json.loads(run("info", model, "--json")[1])["shortlist"] is True
    assert "drafts" not in out


def test_translate_and_evaluate_use_it_when_asked(
    run, model: Path, text: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The vocabulary of this model is an alphabet, all of which every sentence would have.
    monkeypatch.setattr("headway.data.shortlist._LARGEST_ALPHABET", 0)
    source, target = text
    run("shortlist", model, "--source", source, "--target", target, "--frequent", 0,
        "--per-piece", 1)  # fmt: skip
    translator = headway.load(model)
    free = [t.text for t in translator.translate(SOURCES)]
    options = headway.SearchOptions(2, 0.6, shortlist=True)
    own = [t.text for t in translator.translate(SOURCES, options=options)]
    assert own != free

    assert run("translate", model, source)[1].splitlines() == free
    assert run("translate", model, source, "--shortlist")[1].splitlines() == own
    arguments = ["evaluate", model, "--source", source, "--reference", target, "--json"]
    scores = json.loads(run(*arguments, "--shortlist")[1])["scores"]
    found = translator.translate(SOURCES, mend_runaways=False, options=options)
    plain = headway.score_texts([t.text for t in found], TARGETS)
    assert scores == [score.as_dict() for score in plain]


def test_a_model_without_one_says_how_to_get_it(run, model: Path, text: tuple[Path, Path]) -> None:
    status, _, err = run("translate", model, text[0], "--shortlist")
    assert status == 2
    assert "The model has no shortlist." in err
    assert "`headway shortlist`" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "There is no text."),
        (["--source"], "There is --source, but no --target."),
        (["--valid-target"], "There is --valid-target, but no --valid-source."),
        (["--source", "--target", "--translate"], "--translate needs text."),
    ],
)
def test_a_call_that_cannot_work_writes_nothing(
    run, model: Path, text: tuple[Path, Path], arguments: list[str], message: str
) -> None:
    files = {"--source": text[0], "--target": text[1], "--valid-target": text[1]}
    given = [part for name in arguments for part in (name, files.get(name)) if part]
    before = read_bundle(model).checksum

    status, _, err = run("shortlist", model, *given)

    assert (status, err.count("\n")) == (2, 1)
    assert message in err
    assert read_bundle(model).checksum == before
