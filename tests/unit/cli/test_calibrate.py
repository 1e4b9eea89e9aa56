"""`headway calibrate` writes the confidence into a model that has none."""

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Run

from headway.bundle import load_bundle
from headway.data.corpus import Pair
from headway.decoding.confidence import CONFIDENCE
from headway.decoding.translator import TextTranslator
from headway.evaluation.confidence import measured_confidence
from headway.saved_bundle import read_bundle

PAIRS = [Pair("저는 갑니다 .", "the cat sat"), Pair("너는 온다 !", "a dog")] * 60


@pytest.fixture
def model(bundle_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle_path, tmp_path / "model"))


@pytest.fixture
def text(tmp_path: Path) -> list[object]:
    for name, side in (("text.ko", "source"), ("text.en", "target")):
        lines = "".join(f"{getattr(pair, side)}\n" for pair in PAIRS)
        (tmp_path / name).write_text(lines, encoding="utf-8")
    return ["--source", tmp_path / "text.ko", "--target", tmp_path / "text.en"]


def test_it_is_what_a_training_measures(run: Run, model: Path, text: list[object]) -> None:
    translator = TextTranslator(load_bundle(model))
    assert translator.translate("너는 온다 !").confidence is None
    sources = [pair.source for pair in PAIRS]
    found = translator.translate(sources, mend_runaways=False, split_sentences=False)

    status, out, _ = run("calibrate", model, *text, "--json")

    assert status == 0
    expected = measured_confidence(translator, PAIRS, found)
    assert json.loads(out) == {"bundle": str(model), "confidence": expected}
    bundle = load_bundle(model)
    assert bundle.record[CONFIDENCE] == expected
    confidence = TextTranslator(bundle).translate("너는 온다 !").confidence
    assert confidence is not None
    assert 0 < confidence < 1
    status, out, _ = run("calibrate", model, *text)
    assert out.startswith("Calibrated with 120 sentences, of which 0.0% are close")


def test_too_little_text_changes_nothing(run: Run, model: Path, text: list[object]) -> None:
    before = read_bundle(model).checksum
    for file in text[1::2]:
        path = Path(str(file))
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:99]), encoding="utf-8")

    status, out, err = run("calibrate", model, *text)

    assert (status, out) == (1, "")
    assert "fewer than 100 lines" in err
    assert read_bundle(model).checksum == before
