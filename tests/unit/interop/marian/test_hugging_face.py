"""A folder of Hugging Face: its parts in Headway's order, and refusals by name."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from headway.bundle import load_bundle
from headway.config.run import RunConfig
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, DataError
from headway.evaluation.aligning import align_pairs
from headway.evaluation.scoring import score_pairs
from headway.inspection.one_sentence import trace_sentence
from headway.interop.checkpoints import import_fairseq, import_joeynmt
from headway.interop.marian import import_marian
from headway.model.positional_encoding import sinusoid_table
from headway.training.start_from import open_start

from .conftest import TAGS, Files, Write


def test_ids_rows_and_settings(files: Files, write: Write, tmp_path: Path) -> None:
    imported = import_marian(write(files), tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    assert imported.kind == "hugging-face"
    assert [note for note in imported.notes if "tag" not in note] == []
    ids, tensors = files["vocab.json"], files["model.safetensors"]
    pieces = bundle.source_tokenizer.pieces(range(len(bundle.source_tokenizer)))
    assert pieces == bundle.target_tokenizer.pieces(range(len(bundle.target_tokenizer)))
    assert set(pieces) == {*ids, "<s>"}
    table = bundle.model.source_embedding.tokens.weight
    assert table is bundle.model.output_projection.weight
    bias = bundle.model.output_projection.bias
    for i, piece in enumerate(pieces):
        if i != START_ID:
            assert torch.equal(table[i], tensors["model.shared.weight"][ids[piece]])
            assert bias[i] == tensors["final_logits_bias"][0, ids[piece]]
    assert not table[START_ID].any()
    assert not table[PAD_ID].any()
    assert bias[START_ID] == -100
    config, decoding = bundle.config, bundle.decoding
    assert (config.sinusoid_layout, config.norm_epsilon, config.activation) == (
        "split", 1e-5, "silu"
    )  # fmt: skip
    assert (decoding.beam_size, decoding.length_penalty, decoding.max_source_pieces) == (6, 1, 63)
    assert (bundle.source_language, bundle.target_language) == ("en", "de")
    assert bundle.tags == [">>deu<<", ">>fra<<"]


def test_a_layer_computes_the_tensors_of_its_name(
    files: Files, write: Write, tmp_path: Path
) -> None:
    bundle = import_marian(write(files), tmp_path / "out").bundle
    tensors, x = files["model.safetensors"], torch.randn(1, 5, 12)
    for number, layer in enumerate(bundle.model.decoder.layers):
        at = f"model.decoder.layers.{number}."
        hidden = F.silu(F.linear(x, tensors[at + "fc1.weight"], tensors[at + "fc1.bias"]))
        expected = F.linear(hidden, tensors[at + "fc2.weight"], tensors[at + "fc2.bias"])
        torch.testing.assert_close(layer.feed_forward(x), expected)
        for part, name in (("self_attention", "self_attn"), ("cross_attention", "encoder_attn")):
            for ours, theirs in zip(("w_q", "w_k", "w_v", "w_o"), "qkvo", strict=True):
                linear = getattr(getattr(layer, part), ours)
                old = f"{at}{name}.{'out' if theirs == 'o' else theirs}_proj"
                assert torch.equal(linear.weight, tensors[f"{old}.weight"])
                assert torch.equal(linear.bias, tensors[f"{old}.bias"])
            norm = getattr(layer, f"{part}_residual").norm
            assert torch.equal(norm.weight, tensors[f"{at}{name}_layer_norm.weight"])
        assert torch.equal(
            layer.feed_forward_residual.norm.bias, tensors[at + "final_layer_norm.bias"]
        )


def test_pieces_without_an_id_are_unknown_and_tags_are_one_piece(
    files: Files, write: Write, tmp_path: Path
) -> None:
    bundle = import_marian(write(files), tmp_path / "out").bundle
    source = bundle.source_tokenizer
    tag, *text = source.encode(">>fra<< the cat")
    assert source.piece(tag) == ">>fra<<"
    assert text == source.encode("the cat")
    lacking = [text for text, _, _ in source.table()]
    assert UNK_ID in source.encode("".join({*"abcdefghijklmnopqrstuvwxyz"} - {*"".join(lacking)}))


def test_separate_vocabularies_and_what_is_shared_is_read_from_the_tensors(
    files: Files, write: Write, tmp_path: Path
) -> None:
    ids, tensors = files["vocab.json"], files["model.safetensors"]
    files["target_vocab.json"] = dict(reversed(ids.items()))
    files["tokenizer_config.json"]["separate_vocabs"] = True
    shared = tensors.pop("model.shared.weight")
    tensors["model.encoder.embed_tokens.weight"] = shared + 1
    tensors["model.decoder.embed_tokens.weight"] = shared
    bundle = import_marian(write(files), tmp_path / "out").bundle
    assert bundle.config.shared_embeddings == "target"
    assert torch.equal(bundle.model.source_embedding.tokens.weight[END_ID], shared[0] + 1)
    assert torch.equal(bundle.model.target_embedding.tokens.weight[END_ID], shared[0])

    tensors["lm_head.weight"] = shared * 2
    bundle = import_marian(write(files), tmp_path / "second").bundle
    assert bundle.config.shared_embeddings == "none"
    assert torch.equal(bundle.model.output_projection.weight[END_ID], shared[0] * 2)


def test_rounded_weights_and_pickles(files: Files, write: Write, tmp_path: Path) -> None:
    tensors = files.pop("model.safetensors")
    halves = {name: tensor.half() for name, tensor in tensors.items()}
    table = sinusoid_table(64, 12, "split").half()
    halves["model.encoder.embed_positions.weight"] = table
    folder = write(files)
    torch.save(halves, folder / "pytorch_model.bin")
    imported = import_marian(folder, tmp_path / "out", tag=TAGS[0])
    assert imported.notes == [
        "The weights are float16; they are in float32 now, with the same values."
    ]
    weight = imported.bundle.model.source_embedding.tokens.weight
    assert torch.equal(weight[END_ID], halves["model.shared.weight"][0].float())

    halves["model.encoder.embed_positions.weight"] = sinusoid_table(64, 12).float()
    torch.save(halves, folder / "pytorch_model.bin")
    with pytest.raises(BundleError, match="positions other than Marian's sinusoids"):
        import_marian(folder, tmp_path / "second")


class _Code:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (Path("executed"),)


def test_code_in_a_pickle_is_not_executed(
    files: Files, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files.pop("model.safetensors")
    folder = write(files)
    for content in ({"a": _Code()}, [torch.zeros(2)], {"a": 3}):
        torch.save(content, folder / "pytorch_model.bin")
        with pytest.raises(BundleError, match="its code was not executed"):
            import_marian(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def _drop(name: str) -> Callable[[Files], object]:
    return lambda files: files["model.safetensors"].pop(name)


def _set(file: str, name: str, value: object) -> Callable[[Files], object]:
    return lambda files: files[file].update({name: value})


BIAS = "model.decoder.layers.1.fc1.bias"
BROKEN: dict[str, tuple[Callable[[Files], object], str]] = {
    "another model": (_set("config.json", "model_type", "bart"), "type 'bart', not 'marian'"),
    "pre-norm": (_set("config.json", "normalize_before", True), "'normalize_before' in .* is True"),
    "positions": (
        _set("config.json", "static_position_embeddings", False),
        "'static_position_embeddings' in .* is False",
    ),
    "heads": (_set("config.json", "decoder_attention_heads", 4), "'decoder_attention_heads' in"),
    "division": (_set("config.json", "d_model", 13), "d_model 13 is not divisible"),
    "activation": (_set("config.json", "activation_function", "x"), "must be one of swish, silu"),
    "type": (_set("config.json", "d_model", "12"), "'d_model' in .* is '12', but must be a value"),
    "negative": (_set("config.json", "d_model", -12), "model.d_model"),
    "2^63": (_set("config.json", "encoder_layers", 2**63), "num_encoder_layers' does not fit"),
    "layers": (_set("config.json", "encoder_layers", 2), "lack 'model.encoder.layers.1.fc1.bias'"),
    "vocabulary": (_set("config.json", "vocab_size", 9), "'vocab_size' in .* is 9, but must be"),
    "start": (_set("config.json", "decoder_start_token_id", 3), "'decoder_start_token_id' in"),
    "end": (_set("config.json", "eos_token_id", 3), "</s> should have the id 3, but .* it has 0"),
    "beam": (_set("config.json", "num_beams", 0), "decoding.beam_size"),
    "no setting": (lambda files: files["config.json"].pop("d_model"), "lacks 'd_model'"),
    "gap": (_set("vocab.json", "more", 400), "are not 0 to"),
    "no id": (_set("vocab.json", "more", "4"), "id of 'more' in .* is '4'"),
    "another table": (_set("vocab.json", "more", 43), "number of tokens in the vocabulary"),
    "added": (lambda files: files.update({"added_tokens.json": {"<x>": 99}}), "added token '<x>'"),
    "sampling": (_set("tokenizer_config.json", "sp_model_kwargs", {"alpha": 1}), "must be empty"),
    "no bias": (_drop("final_logits_bias"), "'final_logits_bias' is missing"),
    "no tensor": (_drop(BIAS), f"lack '{BIAS}'"),
    "extra": (_set("model.safetensors", "x.y", torch.zeros(1)), "have 'x.y', which a model"),
    "shape": (_set("model.safetensors", BIAS, torch.zeros(8)), r"has shape \(8,\), but the"),
    "infinite": (_set("model.safetensors", BIAS, torch.full((7,), torch.inf)), "is not finite"),
    "integers": (_set("model.safetensors", BIAS, torch.zeros(7).int()), "of the type int32"),
    "swapped": (lambda files: files.update({"source.spm": b"\x0a\xff"}), "not a SentencePiece mo"),
    "no vocabulary": (lambda files: files.pop("vocab.json"), "vocab.json is missing"),
    "no list": (lambda files: files.update({"vocab.json": ["a"]}), "vocab.json is not a JSON obj"),
    "no weights": (lambda files: files.pop("model.safetensors"), "has no weights"),
    "cut": (lambda files: files.update({"model.safetensors": b"abc"}), "is not a safetensors file"),
    "in parts": (
        lambda files: files.update({"model.safetensors.index.json": {}}),
        "divided into several files",
    ),
    "byte pairs": (
        lambda files: (files.pop("source.spm"), files.update({"source.bpe": b""})),
        "a model of byte pairs",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_fit_is_named(files: Files, write: Write, tmp_path: Path, case: str) -> None:
    breaks, message = BROKEN[case]
    files = {name: dict(f) if isinstance(f, dict) else f for name, f in files.items()}
    breaks(files)
    folder = write(files)
    with pytest.raises(BundleError, match=message):
        import_marian(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_settings_of_the_search_that_have_no_place_are_remarked_on(
    files: Files, write: Write, tmp_path: Path
) -> None:
    pad = files["config.json"]["pad_token_id"]
    files["generation_config.json"] = {
        "num_beams": 3, "length_penalty": 0.5, "no_repeat_ngram_size": 3, "bad_words_ids": [[pad]],
    }  # fmt: skip
    imported = import_marian(write(files), tmp_path / "out", source_language="English", tag=TAGS[0])
    assert imported.bundle.decoding.beam_size == 3
    assert imported.bundle.decoding.length_penalty == 0.5
    assert imported.bundle.source_language == "English"
    assert len(imported.notes) == 1
    assert imported.notes[0].startswith("The setting no_repeat_ngram_size '3' of the search is not")


def test_the_readme_is_kept(files: Files, write: Write, tmp_path: Path) -> None:
    files["README.md"] = "licence: CC-BY 4.0"
    import_marian(write(files), tmp_path / "out")
    assert "licence: CC-BY 4.0" in (tmp_path / "out" / "card.md").read_text()
    record = json.loads((tmp_path / "out" / "config.json").read_text())["record"]
    assert record["imported"]["kind"] == "hugging-face"


def test_text_without_a_tag_is_refused_if_there_are_several(
    files: Files, write: Write, tmp_path: Path
) -> None:
    imported = import_marian(write(files), tmp_path / "out")
    (note,) = imported.notes
    assert ">>deu<<, >>fra<<" in note
    translator = TextTranslator(imported.bundle)
    for text in ("the cat", " >>deu<< the cat", ">>kor<< the cat"):
        with pytest.raises(DataError, match="the model has >>deu<<, >>fra<<"):
            translator.translate(text)
        with pytest.raises(DataError, match="the model has >>deu<<, >>fra<<"):
            score_pairs(translator, [text], ["the cat"])
    assert translator.translate(["", ">>deu<<"])[0].text == ""
    assert translator.translate(">>fra<< the cat").num_parts == 1


def test_the_tag_of_the_import_is_before_each_source(
    files: Files, write: Write, tmp_path: Path
) -> None:
    folder = write(files)
    plain = import_marian(folder, tmp_path / "plain").bundle
    imported = import_marian(folder, tmp_path / "out", tag=">>fra<<")
    assert imported.notes == []
    bundle = load_bundle(tmp_path / "out")
    assert bundle.tag == ">>fra<<"
    tag = bundle.source_tokenizer.id(">>fra<<")
    assert RequestMaker([bundle]).parts("the cat")[0].ids[0] == tag
    sources = ["the cat", "a dog. the mat.", ">>deu<< the cat", "the " * 80]
    tagged = [">>fra<<" + sources[0], ">>fra<<" + sources[1], sources[2], ">>fra<<" + sources[3]]
    for at_most in (None, 1):
        by_itself, by_hand = (
            [[part.ids for part in RequestMaker([model]).parts(s, at_most=at_most)] for s in texts]
            for model, texts in ((bundle, sources), (plain, tagged))
        )
        assert by_itself == by_hand
    scores = score_pairs(bundle, sources[:3], ["a dog"] * 3)
    assert scores == score_pairs(plain, tagged[:3], ["a dog"] * 3)


def test_a_tag_that_is_put_before_a_source_is_none_of_its_words(
    files: Files, write: Write, tmp_path: Path
) -> None:
    bundle = import_marian(write(files), tmp_path / "out", tag=">>fra<<").bundle
    maker, text = RequestMaker([bundle]), "the cat. a dog."
    cut = maker.parts(text, at_most=1)
    numbers = maker.source_words(text, cut)
    assert [words[0] for words in numbers] == [None, None]
    assert {n for words in numbers for n in words if n is not None} == {0, 1, 2, 3}
    (own,) = align_pairs(bundle, ["the cat"], ["a dog"])
    assert all(link[0] in (0, 1) for link in own)
    seen = trace_sentence(TextTranslator(bundle), "the cat", "a dog").sentence
    assert seen is not None
    assert seen.source == ">>fra<< the cat"
    assert seen.source_pieces[0] == ">>fra<<"


@pytest.mark.parametrize("tag", [">>kor<<", "deu"])
def test_a_tag_that_the_model_lacks_is_refused(
    files: Files, write: Write, tmp_path: Path, tag: str
) -> None:
    with pytest.raises(BundleError, match="but the tags of the model are: >>deu<<, >>fra<<"):
        import_marian(write(files), tmp_path / "out", tag=tag)
    assert not (tmp_path / "out").exists()


def test_the_tag_of_the_import_is_that_of_training_on(
    files: Files, write: Write, tmp_path: Path
) -> None:
    import_marian(write(files), tmp_path / "out", tag=">>fra<<")
    training = {"start_from": str(tmp_path / "out")}
    config = RunConfig.parse({"training": training})
    start = open_start(config)
    assert start is not None
    assert start.config.data.tag == ">>fra<<"
    record = {"config": start.config.model_dump()}
    later = dataclasses.replace(load_bundle(tmp_path / "out"), record=record)
    assert later.tag == ">>fra<<"


@pytest.mark.parametrize("take_in", [import_marian, import_fairseq, import_joeynmt])
def test_an_import_replaces_no_bundle(
    take_in: Any, files: Files, write: Write, tmp_path: Path
) -> None:
    folder = write(files)
    import_marian(folder, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(BundleError, match="out exists and is not empty"):
        take_in(folder, tmp_path / "out")
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
