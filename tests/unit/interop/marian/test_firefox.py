"""A student that was read is written with the same numbers; what Marian lacks is refused."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from headway.bundle import Bundle, load_bundle, save_bundle
from headway.config.presets import student
from headway.data.shortlist import Shortlist
from headway.errors import BundleError, ConfigError
from headway.interop.marian import firefox, import_marian
from headway.interop.marian.binary import BinaryFile
from headway.interop.marian.firefox import check_expressible, checksum, export, shortlist_file
from headway.interop.marian.lexical_shortlist import read_shortlist
from headway.interop.marian.pieces import read_pieces
from headway.model.transformer import Transformer

from .conftest import StudentFiles, marian_pieces

Make = Callable[[], StudentFiles]


@pytest.fixture
def bundle(make_student: Make, tmp_path: Path) -> Bundle:
    import_marian(make_student().write(tmp_path / "in"), tmp_path / "bundle")
    return load_bundle(tmp_path / "bundle")


def test_the_written_student_is_the_bundle_up_to_rounding(bundle: Bundle, tmp_path: Path) -> None:
    result = export(tmp_path / "bundle", tmp_path / "out", ["ab cade", "", "hij gab"])

    assert result.sentences == 2
    names = sorted(file.name for file in result.folder.iterdir())
    assert names == [
        "config.intgemm8bitalpha.yml",
        "model.xxyy.intgemm.alphas.bin",
        "model_info.json",
        "vocab.xxyy.spm",
    ]
    again = import_marian(tmp_path / "out", tmp_path / "again").bundle
    for name, weight in again.model.named_parameters():
        ours = bundle.model.get_parameter(name)
        if weight.dim() == 2:
            assert (weight - ours).norm() < 0.05 * ours.norm()
        else:
            assert torch.equal(weight, ours)
    pieces = (result.folder / "vocab.xxyy.spm").read_bytes()
    theirs = sentencepiece.SentencePieceProcessor(model_proto=pieces)
    original = sentencepiece.SentencePieceProcessor(model_proto=marian_pieces())
    assert theirs.encode("ab cade") == original.encode("ab cade")


def test_a_rounded_student_is_written_again_bit_for_bit(make_student: Make, tmp_path: Path) -> None:
    student = make_student()
    student.exact = False
    import_marian(student.write(tmp_path / "in"), tmp_path / "bundle")
    export(tmp_path / "bundle", tmp_path / "out")
    import_marian(tmp_path / "out", tmp_path / "again")
    export(tmp_path / "again", tmp_path / "out2")

    first, second = (load_bundle(tmp_path / name).model for name in ("bundle", "again"))
    for name, weight in first.named_parameters():
        torch.testing.assert_close(weight, second.get_parameter(name), rtol=1e-6, atol=0)
    once, twice = (
        (tmp_path / name / "model.xxyy.intgemm.alphas.bin").read_bytes() for name in ("out", "out2")
    )
    assert once == twice


def test_the_largest_input_of_each_product_becomes_127(bundle: Bundle, tmp_path: Path) -> None:
    out = export(tmp_path / "bundle", tmp_path / "out", ["ab cade"]).folder
    file = BinaryFile(out / "model.xxyy.intgemm.alphas.bin")

    source = torch.tensor([[*bundle.source_tokenizer.encode("ab cade"), 3]])
    largest = bundle.model.source_embedding(source).abs().max().item()
    for name in ("Wq", "Wk", "Wv"):
        scale = file.numbers(f"encoder_l1_self_{name}_QuantMultA")
        assert scale.item() == pytest.approx(127 / largest, rel=1e-5)
    assert "decoder_l1_rnn_Wf_QuantMultA" in file.items
    output = file.numbers("none_QuantMultA").item()
    assert file.numbers("Wemb_QuantMultA").item() == pytest.approx(output, rel=1e-6)


def test_a_shortlist_is_written_and_read_again(bundle: Bundle, tmp_path: Path) -> None:
    lists = [[], [], [], [3, 9], *([10 + i % 7, 40][: i % 3] for i in range(4, 42))]
    shortlist = Shortlist(
        np.array([0, 1, 2, 3, 17]),
        np.cumsum([0, *map(len, lists)]),
        np.array([i for row in lists for i in row]),
        42,
    )
    data = shortlist_file(shortlist)
    assert struct.unpack("<2Q", data[:16]) == (firefox.MAGIC, checksum(data[16:]))
    (tmp_path / "lex.bin").write_bytes(data)
    pieces = read_pieces(marian_pieces(), "x.spm")
    again = read_shortlist(tmp_path / "lex.bin", pieces, pieces)

    for sentence in ([5, 9, 3], [4, 3], [41, 22, 8, 3]):
        expected = {*shortlist.pieces_for(sentence).tolist(), *sentence}
        assert set(again.pieces_for(sentence).tolist()) == expected

    save_bundle(tmp_path / "with", replace(bundle, shortlist=shortlist))
    files = {file.name for file in export(tmp_path / "with", tmp_path / "out").folder.iterdir()}
    assert "lex.50.50.xxyy.s2t.bin" in files


def test_the_checksum_by_hand() -> None:
    assert checksum(struct.pack("<Q", 5) + b"abc") == 5 + 0x9E3779B9
    first = 7 + 0x9E3779B9
    second = first ^ (1 + 0x9E3779B9 + (first << 6) + (first >> 2)) % 2**64
    assert checksum(struct.pack("<2Q", 7, 1)) == second


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decoder_past": "self_attention"}, "decoder_past is 'self_attention'; a Firefox"),
        ({"sinusoid_layout": "interleaved"}, "sinusoid_layout is 'interleaved'"),
        ({"first_position": 2}, "first_position is 2; a Firefox student has 0"),
        ({"norm_position": "pre"}, "norm_position is 'pre'"),
        ({"zero_id": None}, "zero_id is None; a Firefox student has 2"),
        ({"output_bias": False}, "output_bias is False"),
        ({"shared_embeddings": "target"}, "shared_embeddings is 'target'"),
    ],
)
def test_a_model_that_marian_does_not_compute_is_refused(
    bundle: Bundle, changes: dict[str, Any], message: str
) -> None:
    config = bundle.config.replace(changes)
    with pytest.raises(ConfigError, match=message):
        check_expressible(replace(bundle, config=config, model=Transformer.from_config(config)))


def test_the_preset_student_can_be_written(bundle: Bundle) -> None:
    config = student(42).replace({"d_model": 8, "d_ff": 12})
    check_expressible(replace(bundle, config=config, model=Transformer.from_config(config)))


def test_files_that_differ_are_refused_and_nothing_is_written(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_numbers = firefox.whole_numbers
    monkeypatch.setattr(
        firefox, "whole_numbers", lambda matrix, **by: whole_numbers(matrix * 1.1, **by)
    )
    with pytest.raises(BundleError, match=r"The numbers of .* are not those of the bundle"):
        export(tmp_path / "bundle", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_of_training_and_names_of_languages_do_not_matter(
    bundle: Bundle, tmp_path: Path
) -> None:
    trained = {"attention_dropout": 0.1, "activation_dropout": 0.2, "max_positions": 256}
    changed = replace(
        bundle,
        config=bundle.config.replace(trained),
        source_language="Korean",
        target_language="en-GB",
    )
    save_bundle(tmp_path / "trained", changed)

    folder = export(tmp_path / "trained", tmp_path / "out").folder

    assert (folder / "vocab.koen.spm").exists()
    again = import_marian(folder, tmp_path / "again").bundle
    assert (again.source_language, again.target_language) == ("ko", "en")


def test_a_matrix_of_zeros_can_be_written(bundle: Bundle, tmp_path: Path) -> None:
    with torch.no_grad():
        bundle.model.get_parameter("decoder.layers.0.ssru.w_x.weight").zero_()
    save_bundle(tmp_path / "zeros", bundle)

    folder = export(tmp_path / "zeros", tmp_path / "out").folder

    again = import_marian(folder, tmp_path / "again").bundle
    assert not again.model.get_parameter("decoder.layers.0.ssru.w_x.weight").any()
