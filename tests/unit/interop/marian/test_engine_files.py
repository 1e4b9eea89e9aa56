"""The files beside a student have the names and values that its engines read."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headway.bundle import Bundle, load_bundle
from headway.config.decoding import DecodingConfig
from headway.data.shortlist import Shortlist
from headway.interop.marian import import_marian
from headway.interop.marian.engine_files import CONFIG, INFO, engine_files
from headway.interop.marian.firefox import export

from .conftest import StudentFiles

# As Mozilla publishes it beside its students; `skip-cost` is in bergamot-translator's defaults.
PUBLISHED = """\
relative-paths: true
models:
  - model.enpt.intgemm.alphas.bin
vocabs:
  - vocab.enpt.spm
  - vocab.enpt.spm
shortlist:
  - lex.50.50.enpt.s2t.bin
  - false
beam-size: 1
normalize: 1.0
word-penalty: 0
mini-batch: 64
maxi-batch: 1000
maxi-batch-sort: src
workspace: 2000
max-length-factor: 2.5
skip-cost: true
gemm-precision: int8shiftAlphaAll
"""


@pytest.fixture
def bundle(make_student: Callable[[], StudentFiles], tmp_path: Path) -> Bundle:
    import_marian(make_student().write(tmp_path / "in"), tmp_path / "bundle")
    bundle = load_bundle(tmp_path / "bundle")
    size = bundle.config.target_vocab_size
    shortlist = Shortlist(np.arange(4), np.zeros(size + 1, int), np.arange(0), size)
    return replace(bundle, source_language="en", target_language="pt", shortlist=shortlist)


def test_the_settings_are_those_of_published_students(bundle: Bundle, tmp_path: Path) -> None:
    folder = export(bundle, tmp_path / "out").folder

    assert (folder / CONFIG).read_text(encoding="utf-8") == PUBLISHED
    named = re.findall(r"^  - (.*\..*)$", PUBLISHED, re.MULTILINE)
    assert {*named, CONFIG, INFO} == {file.name for file in folder.iterdir()}


def test_translate_locally_finds_it_by_its_names(bundle: Bundle, tmp_path: Path) -> None:
    info = json.loads((export(bundle, tmp_path / "out").folder / INFO).read_bytes())

    assert info == {
        "modelName": "English-Portuguese student", "shortName": "en-pt-student",
        "type": "student", "src": "English", "trg": "Portuguese", "version": 1, "API": 1,
    }  # fmt: skip


def test_a_beam_two_vocabularies_and_no_shortlist(bundle: Bundle) -> None:
    bundle = replace(bundle, decoding=DecodingConfig(beam_size=3, length_penalty=0.6))
    bundle = replace(bundle, source_language="source", target_language="de")

    files = engine_files(bundle, "m.bin", ["srcvocab.spm", "trgvocab.spm"], None)

    settings = files[CONFIG].decode()
    assert "vocabs:\n  - srcvocab.spm\n  - trgvocab.spm\nbeam-size: 3\nnormalize: 0.6\n" in settings
    assert "skip-cost" not in settings  # it would compare hypotheses by wrong probabilities
    assert json.loads(files[INFO])["modelName"] == "source-German student"
