"""`headway align` writes a line for each pair and chooses where to read by a gold file."""

import json
from pathlib import Path

import pytest

from headway.bundle import load_bundle
from headway.decoding.alignment import pharaoh
from headway.evaluation.aligning import Reading, align_by, align_pairs, all_readings
from headway.evaluation.alignment_error import alignment_error, read_gold

SOURCES = ["저는 갑니다 .", "", "우리는 자요 ?"]
TARGETS = ["the cat sat", "a dog", "ran far"]


@pytest.fixture
def text(tmp_path: Path) -> list[object]:
    files = tmp_path / "text.ko", tmp_path / "text.en"
    for file, lines in zip(files, (SOURCES, TARGETS), strict=True):
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return ["--source", files[0], "--target", files[1]]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold"
    path.write_text("0-0 1-1 2p2\n\n0-1 1?0\n", encoding="utf-8")
    return path


def test_a_line_for_each_pair_in_order(run, bundle_path: Path, text: list[object]) -> None:
    status, out, err = run("align", bundle_path, *text)

    assert status == 0
    expected = [pharaoh(a) for a in align_pairs(load_bundle(bundle_path), SOURCES, TARGETS)]
    assert out.split("\n") == [*expected, ""]
    assert expected[1] == ""
    assert "Read in decoder layer 0 of 0 to 0, moment written." in err
    assert run("align", bundle_path, *text, "--quiet")[1:] == (out, "")
    assert run("align", bundle_path, *text, "--layer", 0)[1] == out


def test_gold_chooses_where_to_read(run, bundle_path: Path, text: list[object], gold: Path) -> None:
    bundle = load_bundle(bundle_path)
    found = align_by(bundle, SOURCES, TARGETS, all_readings(bundle.model))
    scores = {reading: alignment_error(own, read_gold(gold)) for reading, own in found.items()}
    best = min(scores, key=lambda reading: scores[reading].error_rate)

    status, out, err = run("align", bundle_path, *text, "--gold", gold)

    assert status == 0
    assert out.splitlines() == [pharaoh(alignment) for alignment in found[best]]
    assert f"moment {best.moment}." in err
    assert all(f"{score.error_rate:.4f}" in err for score in scores.values())
    values = json.loads(run("align", bundle_path, *text, "--gold", gold, "--json")[1])
    assert (values["layer"], values["moment"], values["head"]) == best
    assert values["alignments"] == out.splitlines()
    assert {
        Reading(row["layer"], row["moment"]): row["error_rate"] for row in values["scores"]
    } == {reading: score.error_rate for reading, score in scores.items()}


def test_what_is_given_is_not_chosen(
    run, bundle_path: Path, text: list[object], gold: Path
) -> None:
    for moment in ("read", "written"):
        values = json.loads(
            run("align", bundle_path, *text, "--gold", gold, "--moment", moment, "--json")[1]
        )
        assert [row["moment"] for row in values["scores"]] == [moment]
        expected = align_pairs(load_bundle(bundle_path), SOURCES, TARGETS, moment=moment)
        assert values["alignments"] == [pharaoh(alignment) for alignment in expected]


def test_counting_from_one(
    run, bundle_path: Path, text: list[object], gold: Path, tmp_path: Path
) -> None:
    other = tmp_path / "from-one"
    other.write_text("1-1 2-2 3p3\n\n1-2 2?1\n", encoding="utf-8")

    usual = run("align", bundle_path, *text, "--gold", gold, "--json")
    assert run("align", bundle_path, *text, "--gold", other, "--gold-from-one", "--json") == usual


def test_wrong_calls(run, bundle_path: Path, text: list[object], tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("0-0\n", encoding="utf-8")

    status, _, err = run("align", bundle_path, *text, "--layer", 5)
    assert status == 2
    assert "--layer is 5, but the decoder has layers 0 to 0" in err
    status, _, err = run("align", bundle_path, *text, "--moment", "later")
    assert status == 2
    assert "no moment 'later'" in err
    status, _, err = run("align", bundle_path, *text, "--gold", short)
    assert status == 1
    assert "1 gold alignments for 3 pairs" in err
