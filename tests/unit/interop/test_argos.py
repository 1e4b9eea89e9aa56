"""A package for Argos Translate: what is in it, and which models have none."""

import dataclasses
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import sentencepiece

from headway.bundle import Bundle
from headway.data.renumbered import renumbered
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError
from headway.interop import argos
from headway.interop.argos import check_usable, export

MakeBundle = Callable[..., Bundle]
NAME = "translate-ko_pb-1_0"
TEXTS = ["abc", "", "ponm lkj", "ab_c ü q"]


@pytest.fixture
def bundle(make_bundle: MakeBundle) -> Bundle:
    return dataclasses.replace(
        make_bundle(), source_language="Korean", target_language="pt_BR", card="# Ours: é\n"
    )


def _opened(file: Path, folder: Path) -> Path:
    with zipfile.ZipFile(file) as package:
        assert package.testzip() is None
        package.extractall(folder)
    (root,) = folder.iterdir()
    assert root.name == NAME
    return root


def test_a_package_is_one_folder_with_all_that_argos_reads(bundle: Bundle, tmp_path: Path) -> None:
    result = export(bundle, tmp_path / "ours.argosmodel", texts=TEXTS)
    assert result.folder == tmp_path / "ours.argosmodel"
    assert result.sentences == 24 + 3
    root = _opened(result.folder, tmp_path / "installed")
    assert json.loads((root / "metadata.json").read_text()) == {
        "package_version": "1.0",
        "argos_version": "1.11",
        "from_code": "ko",
        "from_name": "Korean",
        "to_code": "pb",
        "to_name": "pt_BR",
    }
    model = root / "sentencepiece.model"
    assert model.read_bytes() == bundle.source_tokenizer.to_bytes()
    readme = (root / "README.md").read_text("utf-8")
    assert readme.startswith("# Korean to pt_BR, for Argos Translate\n")
    assert readme.endswith("# Ours: é\n")
    names = {path.name for path in (root / "model").iterdir()}
    assert names == {"model.bin", "config.json", "shared_vocabulary.json"}


@pytest.mark.parametrize("shared", [True, False])
def test_read_as_argos_reads_it_it_translates_as_the_bundle_does(
    bundle: Bundle, tmp_path: Path, shared: bool
) -> None:
    if not shared:
        other = train_tokenizer(["ABCDEFGHIJKLMNO_QR"], kind="char", vocabulary_size=23)
        bundle = dataclasses.replace(bundle, target_tokenizer=other)
    root = _opened(export(bundle, tmp_path, texts=TEXTS).folder, tmp_path / "installed")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(root / "sentencepiece.model"))
    peer = ctranslate2.Translator(str(root / "model"), compute_type="float32")
    # Headway's limits and rules, because a model of random weights would break each of them.
    greedy = {
        "beam_size": 1, "disable_unk": True, "suppress_sequences": [["<pad>"], ["<s>"]],
        "min_decoding_length": 0, "max_decoding_length": 9,
    }  # fmt: skip
    ours = TextTranslator(bundle, engine="reference")
    options = dataclasses.replace(ours.options, beam_size=1, max_length=9)
    for text in filter(None, TEXTS):
        (found,) = peer.translate_batch([pieces.encode(text, out_type=str)], **greedy)
        theirs = pieces.decode_pieces(found.hypotheses[0]).replace("▁", " ").replace("_", " ")
        assert (
            theirs.strip()
            == ours.translate(text, mend_runaways=False, options=options)
            .text.replace("_", " ")
            .strip()
        )


def test_equal_models_give_equal_files_under_the_usual_name(bundle: Bundle, tmp_path: Path) -> None:
    first, second = tmp_path / "a.argosmodel", tmp_path / f"{NAME}.argosmodel"
    export(bundle, first)
    assert export(bundle, tmp_path).folder == second
    assert first.read_bytes() == second.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {first.name, second.name}


def test_quantized_weights_are_smaller(bundle: Bundle, tmp_path: Path) -> None:
    result = export(bundle, tmp_path, "int8", TEXTS[:1])
    assert result.quantization == "int8"
    numbers = sum(parameter.numel() for parameter in bundle.model.parameters())
    with zipfile.ZipFile(result.folder) as package:
        table = 4096 * bundle.config.d_model  # positions stay in float32
        size = package.getinfo(f"{NAME}/model/model.bin").file_size
    assert size < 4 * (2 * table + numbers / 2)


def _tagged(bundle: Bundle, *tags: str) -> Bundle:
    corpora = [{"source": "a", "tag": tag} for tag in tags]
    return dataclasses.replace(bundle, record={"config": {"data": {"corpora": corpora}}})


def _imported(bundle: Bundle, tokenizer: Tokenizer, *tags: str) -> Bundle:
    record = {"imported": {"kind": "hugging-face", "tags": list(tags)}}
    return dataclasses.replace(bundle, source_tokenizer=tokenizer, record=record)


def test_models_that_argos_cannot_use_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    bytewise = train_tokenizer(
        ["abc"], kind="char", vocabulary_size=266, byte_fallback=True, character_coverage=1.0
    )
    own = bundle.source_tokenizer
    leading = renumbered(own.to_bytes(), own.pieces(range(4, len(own))), leading_tags=True)
    for model, message in (
        (dataclasses.replace(bundle, target_tokenizer=bytewise), "tokens of single bytes"),
        (_tagged(bundle, "<2pt>", "<2es>"), r"begins with a tag \(<2pt>, <2es>\)"),
        (_imported(bundle, leading, ">>deu<<"), r"begins with a tag \(>>deu<<\)"),
        (dataclasses.replace(bundle, source_language="source"), "The source language .*'source'"),
        (dataclasses.replace(bundle, target_language="film"), "The target language .*'film'"),
    ):
        with pytest.raises(ConfigError, match=message):
            export(model, tmp_path)
    assert not any(tmp_path.iterdir())
    export(_tagged(bundle, "", "<2es>"), tmp_path)  # it knows text without a tag, too
    check_usable(_imported(bundle, leading))  # of a model for two languages


def test_a_wrong_file_is_refused_before_the_work(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        pytest.fail("The work began.")

    monkeypatch.setattr(argos.exporting, "export", never)
    (tmp_path / "there.argosmodel").touch()
    with pytest.raises(
        ConfigError, match=r"does not end in \.argosmodel.* Write ours\.zip\.argosm"
    ):
        export(bundle, tmp_path / "ours.zip")
    with pytest.raises(BundleError, match=r"there\.argosmodel exists"):
        export(bundle, tmp_path / "there.argosmodel")
    with pytest.raises(BundleError):
        export(bundle, tmp_path / "none" / "x.argosmodel")


def test_a_tokenizer_that_argos_would_use_in_another_way_is_found(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(bundle.source_tokenizer)
    with monkeypatch.context() as patch:
        patch.setattr(kind, "encode", lambda *_: [4])
        with pytest.raises(BundleError, match="cuts 'abc' into other tokens"):
            argos._compare_tokenizer(bundle, ["abc"])
    monkeypatch.setattr(kind, "decode", lambda *_: "zz")
    with pytest.raises(BundleError, match="where Headway writes 'zz'"):
        export(bundle, tmp_path / "x.argosmodel")
    assert not any(tmp_path.iterdir())
