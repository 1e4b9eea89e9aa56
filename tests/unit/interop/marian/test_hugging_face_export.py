"""A written folder of Hugging Face is the same model; what MarianMT lacks is refused by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from headway.bundle import Bundle, load_bundle
from headway.config.decoding import DecodingConfig
from headway.data.tokenizer import PAD_ID, START_ID, UNK_ID, train_tokenizer
from headway.errors import BundleError, ConfigError
from headway.interop.marian import hugging_face_export, hugging_face_files, import_marian
from headway.interop.marian.hugging_face_export import export

from .conftest import Files, Write

MakeBundle = Callable[..., Bundle]
TEXTS = ["abc", "", "ponm lkj", "ab_c ü q"]


@pytest.fixture
def make(make_bundle: MakeBundle) -> MakeBundle:
    """Return a function that makes a bundle whose heads are as wide as MarianMT's."""
    return lambda **changes: make_bundle(**{"num_heads": 2, "d_k": None, "d_v": None} | changes)


def _logits(bundle: Bundle) -> torch.Tensor:
    """Return the logits of padded sentences, of the tokens that Headway can put out."""
    source = torch.tensor([[5, 9, 22, 3, 0], [4, 1, 17, 6, 3]])
    target = torch.tensor([[2, 7, 7, 20], [2, 12, 0, 0]])
    with torch.inference_mode():
        logits = bundle.model(source, target)
    kept = [i for i in range(logits.size(-1)) if i not in (PAD_ID, START_ID)]
    return logits[target != PAD_ID][:, kept]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "silu", "output_bias": True, "zero_id": START_ID},
        {"activation": "gelu", "scale_embeddings": False, "sinusoid_layout": "split"},
        {"activation": "gelu_tanh", "shared_embeddings": "target", "zero_id": START_ID},
        {"attention_bias": False, "feed_forward_bias": False},
    ],
    ids=["paper", "marian", "split", "two tables", "no biases"],
)
def test_a_model_of_headway_computes_the_same_logits_there(
    make: MakeBundle, tmp_path: Path, changes: dict[str, Any]
) -> None:
    bundle = make(**changes)
    result = export(bundle, tmp_path / "out", TEXTS)
    assert result.folder == tmp_path / "out"
    assert result.sentences == 24 + 3
    assert result.largest_difference < 1e-9
    again = import_marian(tmp_path / "out", tmp_path / "again").bundle
    assert again.config.sinusoid_layout == "split"
    torch.testing.assert_close(_logits(again), _logits(bundle), rtol=0, atol=2e-5)
    # A start symbol of zeros is one again; another one keeps its row.
    assert again.config.zero_id == bundle.config.zero_id


def test_two_vocabularies_have_one_id_for_padding(make: MakeBundle, tmp_path: Path) -> None:
    target = train_tokenizer(["ABCDEFGH_QR"], kind="char", vocabulary_size=15)
    bundle = make(shared_embeddings="target", target_vocab_size=15)
    bundle = replace(bundle, target_tokenizer=target)
    export(bundle, tmp_path / "out", TEXTS)
    vocabularies = [
        json.loads((tmp_path / "out" / name).read_text("utf-8"))
        for name in ("vocab.json", "target_vocab.json")
    ]
    for ids, tokenizer in zip(vocabularies, (bundle.source_tokenizer, target), strict=True):
        assert sorted(ids.values()) == list(range(len(tokenizer) - 1))
        assert ids["<pad>"] == 13  # the last of the smaller
        assert {*ids, "<s>"} == {text for text, _, _ in tokenizer.table()}
    again = import_marian(tmp_path / "out", tmp_path / "again").bundle
    # Random sentences go to id 22, and these targets beyond the vocabulary of 15.
    source, targets = torch.tensor([[5, 9, 22, 3]]), torch.tensor([[2, 7, 14, 6]])
    kept = [1, *range(3, 15)]
    with torch.inference_mode():
        ours, theirs = (each.model(source, targets)[..., kept] for each in (bundle, again))
    torch.testing.assert_close(theirs, ours, rtol=0, atol=2e-5)


def test_an_imported_folder_is_written_back_bit_for_bit(
    files: Files, write: Write, tmp_path: Path
) -> None:
    files["README.md"] = "licence: CC-BY 4.0"
    pad = files["config.json"]["pad_token_id"]
    files["generation_config.json"] = {"num_beams": 3, "length_penalty": 0.5}
    bundle = import_marian(write(files), tmp_path / "bundle").bundle
    out = export(tmp_path / "bundle", tmp_path / "out", ["the cat", ">>fra<< a dog"]).folder
    assert json.loads((out / "vocab.json").read_text("utf-8")) == files["vocab.json"]
    written = load_file(out / "model.safetensors")
    assert written.keys() == files["model.safetensors"].keys()
    for name, tensor in files["model.safetensors"].items():
        assert torch.equal(written[name], tensor), name
    config = json.loads((out / "config.json").read_text())
    for name, value in files["config.json"].items():
        if name not in ("max_position_embeddings", "num_beams"):
            assert config[name] == value, name
    search = json.loads((out / "generation_config.json").read_text())
    assert (search["num_beams"], search["length_penalty"]) == (3, 0.5)
    assert search["bad_words_ids"] == [[pad], [files["vocab.json"]["<unk>"]]]
    assert "licence: CC-BY 4.0" in (out / "README.md").read_text("utf-8")

    imported = import_marian(out, tmp_path / "again")
    assert all(note.startswith("The model has the tags") for note in imported.notes)
    again = load_bundle(tmp_path / "again")
    assert (again.config, again.decoding) == (bundle.config, bundle.decoding)
    assert list(again.source_tokenizer.table()) == list(bundle.source_tokenizer.table())
    for name, weight in bundle.model.named_parameters():
        assert torch.equal(again.model.get_parameter(name), weight), name


def test_lengths_and_languages_come_back(make: MakeBundle, tmp_path: Path) -> None:
    decoding = DecodingConfig(
        beam_size=3, length_penalty=0.7, max_source_pieces=37, max_extra_pieces=700
    )
    bundle = replace(make(), decoding=decoding, source_language="Korean", target_language="pt")
    export(bundle, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["max_position_embeddings"] == 37 + 1 + 700
    again = import_marian(tmp_path / "out", tmp_path / "again").bundle
    assert again.decoding == decoding.replace({"max_extra_pieces": 50})  # which no file there has
    assert (again.source_language, again.target_language) == ("Korean", "pt")


REFUSED = {
    "decoder_past": ({"decoder_past": "ssru"}, "'ssru', but .* 'self_attention'.*--to firefox"),
    "norm_position": ({"norm_position": "pre"}, "'pre', but MarianMT has 'post'"),
    "norm_epsilon": ({"norm_epsilon": 1e-9}, "1e-09, but MarianMT has 1e-05"),
    "activation": ({"activation": "swiglu"}, "'swiglu', but MarianMT has "),
    "positions": ({"positions": "learned"}, "'learned', but MarianMT has 'sinusoidal'"),
    "sinusoid_layout": ({"sinusoid_layout": "halved"}, "'halved', but MarianMT has 'interleaved'"),
    "first_position": ({"first_position": 2}, "2, but MarianMT has 0"),
    "d_k": ({"d_k": 5}, "5, but MarianMT has None or 7"),
    "d_v": ({"d_v": 6}, "6, but MarianMT has None or 7"),
    "d_k of 14 / 3": ({"num_heads": 3, "d_k": 4, "d_v": 4}, "4, but MarianMT has None"),
    "zero_id": ({"zero_id": 7}, "7, but MarianMT has None or 2"),
    "shared_embeddings": ({"shared_embeddings": "none"}, "'none', but MarianMT has 'all' or 'tar"),
    "d_model": ({"d_model": 9, "num_heads": 3}, "9, but the sinusoids of MarianMT need an even"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_marian_mt_lacks_is_refused_by_name(
    make: MakeBundle, tmp_path: Path, name: str
) -> None:
    changes, message = REFUSED[name]
    with pytest.raises(ConfigError, match=f"^{name.split()[0]} is {message}"):
        export(make(**changes), tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_one_table_for_two_vocabularies_and_other_parts_are_refused(
    make: MakeBundle, tmp_path: Path
) -> None:
    other = train_tokenizer(["ABCDEFGHIJKLMNO_QR"], kind="char", vocabulary_size=23)
    with pytest.raises(ConfigError, match=r"^shared_embeddings is 'all', but MarianMT has 't"):
        export(replace(make(), target_tokenizer=other), tmp_path / "out")
    bundle = make()
    bundle.model.decoder.layers[1].feed_forward_residual.norm.eps = 1e-3
    with pytest.raises(ConfigError, match=r"^norm_epsilon is 0\.001"):
        export(bundle, tmp_path / "out")
    bundle.model.encoder.layers[0].register_forward_hook(lambda *_: None)
    with pytest.raises(ConfigError, match="MarianMT computes the equations of Headway's own parts"):
        export(bundle, tmp_path / "out")


def test_a_folder_that_differs_is_not_written(
    make: MakeBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = make()
    with monkeypatch.context() as patch:
        patch.setattr(hugging_face_files, "_ordered", lambda name, tensor, order: tensor)
        with pytest.raises(BundleError, match="logits of the written model differ from ours by"):
            export(bundle, tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(type(bundle.source_tokenizer), "encode", lambda self, _: [id(self) % 1009])
        with pytest.raises(BundleError, match="cuts 'abc' into other tokens"):
            hugging_face_export._compare_tokenizers(bundle, _copied(bundle), ["abc"])
    other = train_tokenizer(["ABCDEFGHIJKLMNO_QR"], kind="char", vocabulary_size=23)
    with pytest.raises(BundleError, match="vocabulary is not that of the bundle"):
        hugging_face_export._compare_tokenizers(bundle, replace(bundle, target_tokenizer=other), [])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(BundleError, match="full exists and is not empty"):
        export(bundle, tmp_path / "full")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "x"]


def _copied(bundle: Bundle) -> Bundle:
    tokenizer = type(bundle.source_tokenizer)(bundle.source_tokenizer.to_bytes())
    return replace(bundle, source_tokenizer=tokenizer)


def test_unknown_text_is_unknown_there_too(make: MakeBundle, tmp_path: Path) -> None:
    bundle = make()
    export(bundle, tmp_path / "out", ["ab Ω c"])
    again = import_marian(tmp_path / "out", tmp_path / "again").bundle
    ids = again.source_tokenizer.encode("ab Ω c")
    assert ids == bundle.source_tokenizer.encode("ab Ω c")
    assert UNK_ID in ids
