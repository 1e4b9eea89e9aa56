"""`headway drafts` counts and writes; greedy translations stay the same."""

import json
import shutil
from pathlib import Path

import pytest

from headway.bundle import load_bundle
from headway.decoding.drafts import with_drafts
from headway.saved_bundle import read_bundle

PAIRS = [("저는 갑니다 .", "the cat sat"), ("너는 온다 !", "a dog"), ("우리는 자요 ?", "ran far")]


@pytest.fixture
def model(bundle_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle_path, tmp_path / "model"))


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    files = tmp_path / "text.ko", tmp_path / "text.en"
    for file, lines in zip(files, zip(*PAIRS, strict=True), strict=True):
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return files


def test_it_counts_and_writes_and_translations_stay(
    run, model: Path, text: tuple[Path, Path]
) -> None:
    source, target = text
    weights = (model / "model.safetensors").read_bytes()
    greedy = ["translate", model, source, "--beam-size", 1]
    before = run(*greedy)[1]

    status, out, _ = run("drafts", model, "--source", source, "--target", target, "--json")

    assert status == 0
    bundle = load_bundle(model)
    assert bundle.drafts is not None
    again = with_drafts(bundle, PAIRS).drafts
    assert again is not None
    assert bundle.drafts.to_bytes() == again.to_bytes()
    assert (model / "model.safetensors").read_bytes() == weights
    assert json.loads(out)["counted"].keys() == {"pairs", "pairs_given", "seconds"}
    assert bundle.record["drafts"] == {"pairs": 3, "pairs_given": 3}
    assert "drafts: pairs" in run("info", model)[1]
    assert run(*greedy)[1] == before
    assert before.strip()


def test_a_call_that_cannot_work_writes_nothing(run, model: Path, text: tuple[Path, Path]) -> None:
    source, target = text
    before = read_bundle(model).checksum
    target.write_text("one line\n", encoding="utf-8")

    for arguments, expected in (
        (["--source", source], 2),
        (["--source", source, "--target", target], 1),
    ):
        status, _, err = run("drafts", model, *arguments)
        assert status == expected
        assert err
    assert read_bundle(model).checksum == before


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("drafts", "Counts are"),
        ("shortlist", "A shortlist is"),
        ("calibrate", "A calibration is"),
    ],
)
def test_nothing_is_written_into_the_cache_of_the_hub(
    run, text: tuple[Path, Path], command: str, what: str
) -> None:
    source, target = text

    status, _, err = run(command, "hf://kim/ko-en", "--source", source, "--target", target)

    assert status == 2
    assert f"{what} written into the model, and hf://kim/ko-en is not a folder." in err
    assert "headway pull kim/ko-en --out DIR" in err
