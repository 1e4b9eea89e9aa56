"""A student's arrays compute what Marian's equations say, and what does not fit is refused."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch
from numpy.typing import NDArray

from headway.bundle import load_bundle
from headway.data.tokenizer import END_ID, START_ID
from headway.errors import BundleError
from headway.interop.marian import import_marian
from headway.interop.marian.recognition import recognize
from headway.interop.marian.student import read_student

from .conftest import D_MODEL, HEADS, StudentFiles, marian_pieces

Make = Callable[[], StudentFiles]
Array = NDArray[np.float64]


class Marian:
    """Marian's equations once more, from its arrays, for one sentence, in float64."""

    def __init__(self, student: StudentFiles) -> None:
        self.arrays = {name: array.astype(np.float64) for name, array in student.arrays.items()}

    def affine(self, x: Array, name: str) -> Array:
        path, last = name.rsplit("W", 1)
        return x @ self.arrays[name] + self.arrays[f"{path}b{last}"]

    def norm(self, x: Array, name: str) -> Array:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + 1e-6)
        return scaled * self.arrays[f"{name}_ln_scale"] + self.arrays[f"{name}_ln_bias"]

    def attend(self, x: Array, y: Array, name: str) -> Array:
        q, k, v = (self.affine(z, f"{name}_W{i}") for z, i in ((x, "q"), (y, "k"), (y, "v")))
        width, heads = D_MODEL // HEADS, []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            weights = np.exp(q[:, part] @ k[:, part].T / np.sqrt(width))
            heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, part])
        return self.norm(self.affine(np.concatenate(heads, -1), f"{name}_Wo") + x, f"{name}_Wo")

    def feed_forward(self, x: Array, name: str) -> Array:
        hidden = np.maximum(self.affine(x, f"{name}_W1"), 0)
        return self.norm(self.affine(hidden, f"{name}_W2") + x, f"{name}_ffn")

    def recur(self, x: Array, name: str) -> Array:
        cell, cells = np.zeros(D_MODEL), []
        for row in x:
            forget = 1 / (
                1 + np.exp(-(row @ self.arrays[f"{name}_Wf"] + self.arrays[f"{name}_bf"]))
            )
            cell = forget[0] * cell + (1 - forget[0]) * (row @ self.arrays[f"{name}_W"])
            cells.append(np.maximum(cell, 0))
        return self.norm(np.stack(cells) + x, f"{name}_ffn")

    def embed(self, vectors: Array) -> Array:
        at, half = np.arange(len(vectors))[:, None], D_MODEL // 2
        angles = at / 10000 ** (np.arange(half) / (half - 1))
        return vectors * np.sqrt(D_MODEL) + np.concatenate([np.sin(angles), np.cos(angles)], -1)

    def logits(self, source: list[int], target: list[int]) -> Array:
        """Return the logits of each piece of the target and of the one after it."""
        table = self.arrays["Wemb"]
        x = self.embed(table[source])
        for layer in (1, 2):
            x = self.attend(x, x, f"encoder_l{layer}_self")
            x = self.feed_forward(x, f"encoder_l{layer}_ffn")
        y = self.embed(np.concatenate([np.zeros((1, D_MODEL)), table[target]]))
        y = self.recur(y, "decoder_l1_rnn")
        y = self.feed_forward(self.attend(y, x, "decoder_l1_context"), "decoder_l1_ffn")
        return y @ table.T + self.arrays["decoder_ff_logit_out_b"]


def test_logits_are_those_of_marians_equations(make_student: Make, tmp_path: Path) -> None:
    student = make_student()
    theirs = sentencepiece.SentencePieceProcessor(model_proto=marian_pieces())
    bundle = read_student(recognize(student.write(tmp_path))).bundle
    source, target = "have a hand", "end dane"

    model = bundle.model.double()
    ours = model(
        torch.tensor([[*bundle.source_tokenizer.encode(source), END_ID]]),
        torch.tensor([[START_ID, *bundle.target_tokenizer.encode(target)]]),
    )[0]

    expected = Marian(student).logits([*theirs.encode(source), 0], theirs.encode(target))
    order = [1, 0, *range(2, 40)]  # <unk>, </s>, the others
    columns = ours[:, [1, 3, *range(4, 42)]].detach().numpy()
    np.testing.assert_allclose(columns, expected[:, order], rtol=0, atol=1e-10)
    assert (ours[:, [0, 2]] == -100).all()  # <pad> and <s>


def test_whole_numbers_are_divided_and_matrices_transposed(
    make_student: Make, tmp_path: Path
) -> None:
    student = make_student()
    exact = dict(
        read_student(recognize(student.write(tmp_path / "a"))).bundle.model.named_parameters()
    )
    student.exact = False
    rounded = read_student(recognize(student.write(tmp_path / "b"))).bundle.model

    for name, weight in rounded.named_parameters():
        step = exact[name].abs().max() / 127 if weight.dim() == 2 else 0.0
        assert (weight - exact[name]).abs().max() <= step / 2 + 1e-6
    assert not torch.equal(
        rounded.decoder.layers[0].ssru.w_x.weight, exact["decoder.layers.0.ssru.w_x.weight"]
    )


def test_the_bundle_says_what_the_files_say(make_student: Make, tmp_path: Path) -> None:
    imported = import_marian(make_student().write(tmp_path / "in"), tmp_path / "out")

    bundle = load_bundle(tmp_path / "out")
    config = bundle.config
    assert (bundle.source_language, bundle.target_language) == ("xx", "yy")
    # As Mozilla trains them; a fine-tune with either would undo what the student has learned.
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0, 0, 0)
    assert bundle.record == {"imported": {"kind": "student", "label_smoothing": 0.0}}
    assert (config.d_model, config.d_ff, config.num_heads) == (6, 10, 3)
    assert (config.num_encoder_layers, config.num_decoder_layers) == (2, 1)
    assert (config.decoder_past, config.sinusoid_layout, config.norm_epsilon) == (
        "ssru", "halved", 1e-6,
    )  # fmt: skip
    assert bundle.decoding.beam_size == 1
    assert (bundle.decoding.alignment_layer, bundle.decoding.alignment_head) == (0, 0)
    assert bundle.shortlist is None
    assert any("8 bits" in note for note in imported.notes)


def test_two_vocabularies(make_student: Make, tmp_path: Path) -> None:
    student = make_student()
    student.arrays["encoder_Wemb"] = student.arrays["Wemb"][:35] + 1
    student.arrays["decoder_Wemb"] = student.arrays.pop("Wemb")
    student.files = {
        "srcvocab.xxyy.spm": marian_pieces(35), "trgvocab.xxyy.spm": marian_pieces(40),
    }  # fmt: skip

    bundle = read_student(recognize(student.write(tmp_path))).bundle

    assert bundle.config.shared_embeddings == "target"
    assert (len(bundle.source_tokenizer), len(bundle.target_tokenizer)) == (37, 42)
    source = bundle.model.source_embedding.tokens.weight
    np.testing.assert_array_equal(source[4:].detach(), student.arrays["encoder_Wemb"][2:])


Spoil = Callable[[StudentFiles], object]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s.arrays.pop("decoder_l1_rnn_bf"), "lacks the array 'decoder_l1_rnn_bf'"),
        (lambda s: s.arrays.update(Wpos=np.ones((3, 6), np.float32)), "array 'Wpos', which Head"),
        (
            lambda s: s.arrays.update(decoder_l1_rnn_W=np.ones((6, 5), np.float32)),
            r"'decoder_l1_rnn_W' has the shape \(6, 5\), but must have \(6, 6\)",
        ),
        (
            lambda s: s.arrays.update(Wemb=np.ones((39, 6), np.float32)),
            r"'Wemb' has 39 tokens, but the \.spm file has 40",
        ),
        (
            lambda s: s.arrays["encoder_l1_self_Wq"].fill(np.nan),
            "'encoder_l1_self_Wq' has numbers that are not finite",
        ),
        (lambda s: s.arrays.pop("Wemb"), "no table of embeddings"),
        (lambda s: s.files.pop("vocab.xxyy.spm"), r"has 0 vocabularies \(.spm\): none"),
        (lambda s: s.files.update({"vocab.xxyy.spm": b"no model"}), "SentencePiece model"),
        (lambda s: s.files.update({"b.spm": marian_pieces()}), "names begin with src and trg"),
        (lambda s: s.files.update({"other.bin": b""}), r"has 2 weights \(.bin\): model.x.*, other"),
        (lambda s: s.files.update({"lex.bin": b"", "lex2.bin": b""}), "has 2 shortlists"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    make_student: Make, tmp_path: Path, spoil: Spoil, message: str
) -> None:
    student = make_student()
    spoil(student)
    with pytest.raises(BundleError, match=message):
        import_marian(student.write(tmp_path / "in"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sizes_of_settings_cannot_make_a_large_model(make_student: Make, tmp_path: Path) -> None:
    student = make_student()
    wide = 2**20
    student.arrays["Wemb"] = np.zeros((1, wide), np.float32)
    student.settings = student.settings.replace("dim-emb: 6", f"dim-emb: {wide}").replace(
        "transformer-heads: 3", "transformer-heads: 4"
    )
    with pytest.raises(BundleError, match=rf"has the shape \(6, 6\), but must have \({wide}"):
        read_student(recognize(student.write(tmp_path)))


def test_a_file_of_another_kind_under_the_name_of_weights(
    make_student: Make, tmp_path: Path
) -> None:
    student = make_student()
    folder = student.write(tmp_path)
    (folder / "model.xxyy.bin").write_bytes(struct.pack("<2Q", 0x04034B50, 7) + bytes(300))
    with pytest.raises(BundleError, match=r"begins with 67324752; a \.bin file of Marian begins"):
        read_student(recognize(folder))


def test_a_student_has_no_tags(make_student: Make, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"tags of the model are: none, and needs none"):
        import_marian(make_student().write(tmp_path / "files"), tmp_path / "out", tag=">>deu<<")
    assert not (tmp_path / "out").exists()
