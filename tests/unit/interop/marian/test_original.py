"""A folder of Marian itself: every array has its place, and what does not fit is named."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from numpy.typing import NDArray

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.errors import BundleError
from headway.interop.marian import import_marian

LINES = ["the cat sat on the mat", "a dog ran far away", "the dogs and the cats sat there"]
WIDTH, INNER = 6, 10
SETTINGS = f"""\
type: transformer
dim-emb: {WIDTH}
transformer-dim-ffn: {INNER}
transformer-heads: 3
enc-depth: 1
dec-depth: 2
transformer-decoder-autoreg: self-attention
transformer-ffn-activation: swish
transformer-preprocess: ""
transformer-postprocess: dan
transformer-tied-layers: []
"""
DECODER = """\
models:
  - opus.npz
vocabs:
  - opus.vocab.yml
  - opus.vocab.yml
beam-size: 6
normalize: 0.6
"""
Change = Callable[[dict[str, Any], dict[str, NDArray[Any]]], object]


@pytest.fixture(scope="session")
def spm() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 4), model_writer=model, vocab_size=24,
        model_type="unigram", minloglevel=9, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


def _arrays(size: int) -> dict[str, NDArray[Any]]:
    draw = np.random.default_rng(4)
    shapes: dict[str, tuple[int, int]] = {
        "Wemb": (size, WIDTH),
        "decoder_ff_logit_out_b": (1, size),
    }
    layers = [("encoder_l1", ["self"]), *((f"decoder_l{i}", ["self", "context"]) for i in (1, 2))]
    for layer, attentions in layers:
        for name in attentions:
            for x in "qkvo":
                shapes[f"{layer}_{name}_W{x}"] = (WIDTH, WIDTH)
                shapes[f"{layer}_{name}_b{x}"] = (1, WIDTH)
        shapes |= {f"{layer}_ffn_W1": (WIDTH, INNER), f"{layer}_ffn_b1": (1, INNER)}
        shapes |= {f"{layer}_ffn_W2": (INNER, WIDTH), f"{layer}_ffn_b2": (1, WIDTH)}
        for name in (*(f"{name}_Wo" for name in attentions), "ffn_ffn"):
            shapes |= {f"{layer}_{name}_ln_{kind}": (1, WIDTH) for kind in ("scale", "bias")}
    arrays = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return arrays | {"special:model.yml": _text(SETTINGS)}


def _text(settings: str) -> NDArray[np.int8]:
    return np.frombuffer(settings.encode() + b"\0", np.int8)


def _pieces(spm: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    pieces = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
    return ["</s>", "<unk>", ">>deu<<", *pieces, '"', "\\", "'", "\x85", "a:b"]


@pytest.fixture
def write(tmp_path: Path, spm: bytes) -> Callable[..., Path]:
    """Return a function that writes a folder, after a change of its files and arrays."""

    def write_folder(change: Change = lambda files, arrays: None) -> Path:
        pieces = _pieces(spm)
        lines = [f"{_quoted(piece)}: {i}" for i, piece in enumerate(pieces)]
        files: dict[str, Any] = {
            "decoder.yml": DECODER,
            "opus.vocab.yml": "\n".join(lines) + "\n",
            "source.spm": spm,
            "target.spm": spm,
        }
        arrays = _arrays(len(pieces))
        change(files, arrays)
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        if "opus.npz" not in files:
            np.savez(folder / "opus.npz", **arrays)
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (folder / name).write_bytes(data)
        return folder

    return write_folder


def _quoted(piece: str) -> str:
    if piece == "'":
        return "''''"
    if piece.isalpha():
        return piece
    return '"' + piece.replace("\\", "\\\\").replace('"', '\\"').replace("\x85", "\\x85") + '"'


def _imported(folder: Path, tmp_path: Path) -> Bundle:
    return import_marian(folder, tmp_path / "out").bundle


def test_each_array_has_its_place(write: Callable[..., Path], tmp_path: Path, spm: bytes) -> None:
    bundle = _imported(write(), tmp_path)
    pieces = _pieces(spm)
    arrays = _arrays(len(pieces))
    ours = {name: p.detach().numpy() for name, p in bundle.model.named_parameters()}
    by_name = {"w_1": "W1", "w_2": "W2"}
    for name, values in ours.items():
        part = name.split(".")
        if part[1] != "layers":
            continue
        layer, sub, kind = f"{part[0]}_l{int(part[2]) + 1}", part[3], part[-1]
        short = {"self": "self", "cros": "context", "feed": "ffn"}[sub[:4]]
        if "residual" in sub:
            ending = "ffn" if short == "ffn" else "Wo"
            theirs = f"{layer}_{short}_{ending}_ln_{'scale' if kind == 'weight' else 'bias'}"
        else:
            weight = by_name.get(part[4], f"W{part[4][-1]}")
            theirs = f"{layer}_{short}_{weight if kind == 'weight' else 'b' + weight[1:]}"
        expected = arrays[theirs].T if kind == "weight" and "norm" not in name else arrays[theirs]
        assert np.array_equal(values, expected.reshape(values.shape)), name
    table, bias = ours["source_embedding.tokens.weight"], ours["output_projection.bias"]
    tokenizer = bundle.source_tokenizer
    for old, piece in enumerate(pieces):
        new = {"</s>": END_ID, "<unk>": UNK_ID}.get(piece, tokenizer.id(piece))
        assert np.array_equal(table[new], arrays["Wemb"][old]), piece
        assert bias[new] == arrays["decoder_ff_logit_out_b"][0, old]
    assert not table[[PAD_ID, START_ID]].any()
    assert bias[PAD_ID] == bias[START_ID] == -100


def test_the_settings_are_marians_own(write: Callable[..., Path], tmp_path: Path) -> None:
    bundle = _imported(write(), tmp_path)
    config = bundle.config
    assert (config.sinusoid_layout, config.norm_epsilon, config.zero_id) == ("halved", 1e-6, 2)
    assert (config.activation, config.num_heads, config.shared_embeddings) == ("silu", 3, "all")
    assert (bundle.decoding.beam_size, bundle.decoding.length_penalty) == (6, 0.6)
    assert bundle.tags == [">>deu<<"]
    bundle.model(torch.tensor([[5, 6, END_ID]]), torch.tensor([[START_ID, 7]]))


def test_a_script_that_normalizes_punctuation_is_noted(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    folder = write()
    assert import_marian(folder, tmp_path / "before").notes == []
    (folder / "preprocess.sh").write_text("spm_encode --model source.spm\n")
    assert import_marian(folder, tmp_path / "cut").notes == []
    (folder / "preprocess.sh").write_text("perl normalize-punctuation.perl -l $1 | spm_encode\n")
    (note,) = import_marian(folder, tmp_path / "after").notes
    assert "normalizes punctuation" in note


def test_two_vocabularies_and_a_table_for_the_output(
    write: Callable[..., Path], tmp_path: Path, spm: bytes
) -> None:
    def separate(files: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        lines = files["opus.vocab.yml"].splitlines()
        files["trg.vocab.yml"] = "\n".join(lines[:-1])
        files["decoder.yml"] = DECODER.replace(
            "  - opus.vocab.yml\nbeam", "  - trg.vocab.yml\nbeam"
        )
        table = arrays.pop("Wemb")
        arrays["encoder_Wemb"], arrays["decoder_Wemb"] = table, table[:-1] + 1
        arrays["decoder_ff_logit_out_W"] = table[:-1].T * 2
        arrays["decoder_ff_logit_out_b"] = arrays["decoder_ff_logit_out_b"][:, :-1]

    bundle = _imported(write(separate), tmp_path)
    table = _arrays(len(_pieces(spm)))["Wemb"]
    assert bundle.config.shared_embeddings == "none"
    model = bundle.model
    assert np.array_equal(model.source_embedding.tokens.weight[END_ID].detach(), table[0])
    assert np.array_equal(model.target_embedding.tokens.weight[END_ID].detach(), table[0] + 1)
    assert np.array_equal(model.output_projection.weight[END_ID].detach(), table[0] * 2)


def _setting(old: str, new: str) -> Change:
    def change(files: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        arrays["special:model.yml"] = _text(SETTINGS.replace(old, new))

    return change


def _zip_with(name: str, data: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        archive.writestr(name, data)
    return content.getvalue()


def _code() -> bytes:
    content = io.BytesIO()
    np.save(content, np.array([object]), allow_pickle=True)
    return _zip_with("Wemb.npy", content.getvalue())


BIAS = "decoder_l2_ffn_b1"
BROKEN: dict[str, tuple[Change, str]] = {
    "average attention": (
        _setting("autoreg: self-attention", "autoreg: average-attention"),
        "transformer-decoder-autoreg is 'average-attention'",
    ),
    "pre-norm": (_setting('preprocess: ""', "preprocess: n"), "transformer-preprocess is 'n'"),
    "tied layers": (_setting("layers: []", "layers: 1 1"), "transformer-tied-layers is '1 1'"),
    "heads": (_setting("heads: 3", "heads: 4"), "transformer-heads is 4"),
    "depth": (_setting("dec-depth: 2", "dec-depth: 3"), "dec-depth is 3, but the model's"),
    "activation": (_setting("swish", "gelu"), "transformer-ffn-activation is 'gelu'"),
    "missing": (lambda files, arrays: arrays.pop(BIAS), f"lacks '{BIAS}'"),
    "extra": (lambda files, arrays: arrays.update(Wpos=np.zeros((9, 6), np.float32)), "has 'Wpos'"),
    "shape": (lambda files, arrays: arrays.update({BIAS: arrays[BIAS][:, 1:]}), "has shape"),
    "type": (lambda files, arrays: arrays.update({BIAS: arrays[BIAS].astype(int)}), "not a matrix"),
    "infinite": (lambda files, arrays: arrays.update({BIAS: arrays[BIAS] / 0}), "is not finite"),
    "vocabulary": (
        lambda files, arrays: arrays.update(Wemb=arrays["Wemb"][1:]), "tokens, but the vocabulary"
    ),
    "two models": (
        lambda files, arrays: files.update(
            {"decoder.yml": DECODER.replace("vocabs", "  - b.npz\nvocabs")}
        ),
        "has 2 models",
    ),
    "beam": (
        lambda files, arrays: files.update({"decoder.yml": DECODER.replace("6\nn", "six\nn")}),
        "beam-size 'six'",
    ),
    "no decoder.yml": (lambda files, arrays: files.pop("decoder.yml"), "decoder.yml is missing"),
    "byte pairs": (lambda files, arrays: files.pop("source.spm"), "has no source.spm"),
    "list": (lambda files, arrays: files.update({"opus.vocab.yml": "what"}), "the line 'what'"),
    "ids": (
        lambda files, arrays: files.update({"opus.vocab.yml": "</s>: 0\n<unk>: 2"}),
        "not 0 to",
    ),
    "no zip": (lambda files, arrays: files.update({"opus.npz": b"abc"}), "is not a file of arrays"),
    "code": (lambda files, arrays: files.update({"opus.npz": _code()}), "no array of numbers"),
    "bomb": (
        lambda files, arrays: files.update(
            {"opus.npz": _zip_with("Wemb.npy", bytes(10**6), zipfile.ZIP_DEFLATED)}
        ),
        "many times larger than its file",
    ),
    "cut": (
        lambda files, arrays: files.update({"opus.npz": _zip_with("Wemb.npy", b"\x93NUMPY")}),
        "no array of numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_does_not_fit_is_named(write: Callable[..., Path], tmp_path: Path, case: str) -> None:
    change, message = BROKEN[case]
    folder = write(change)
    with pytest.raises(BundleError, match=message):
        import_marian(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
