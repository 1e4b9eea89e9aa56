"""Folders as small as they can be: a student of Firefox, byte by byte, and one of Hugging Face."""

import io
import json
import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

FLOAT32, INT8, INTGEMM8 = 0x404, 0x101, 0x4101
D_MODEL, D_FF, HEADS, ENCODER, DECODER = 6, 10, 3, 2, 1
SETTINGS = f"""\
dec-cell: ssru
dec-depth: {DECODER}
dim-emb: {D_MODEL}
dim-vocabs:
  - 40
  - 40
enc-depth: {ENCODER}
tied-embeddings-all: true
transformer-decoder-autoreg: rnn
transformer-dim-ffn: {D_FF}
transformer-ffn-activation: relu
transformer-guided-alignment-layer: last
transformer-heads: {HEADS}
transformer-postprocess: dan
transformer-postprocess-top: ""
transformer-preprocess: ""
transformer-tied-layers: []
type: transformer
"""


@cache
def marian_pieces(size: int = 40) -> bytes:
    """Return a SentencePiece model as Marian's: </s> is 0, <unk> is 1."""
    model = io.BytesIO()
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghij", k=draw.randrange(2, 6))) for _ in range(60)]
    sentences = [" ".join(draw.choices(words, k=7)) for _ in range(60)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=size,
        bos_id=-1, eos_id=0, unk_id=1, pad_id=-1, minloglevel=9, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


@dataclass
class StudentFiles:
    """The arrays of a student in float32, (in, out), and what else its folder holds."""

    arrays: dict[str, NDArray[np.float32]]
    settings: str = SETTINGS
    files: dict[str, bytes] = field(default_factory=lambda: {"vocab.xxyy.spm": marian_pieces()})
    exact: bool = True
    """Numbers of float32; otherwise matrices are rounded to bytes."""

    def write(self, folder: Path) -> Path:
        """Write all files; return the folder."""
        folder.mkdir(exist_ok=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        (folder / "model.xxyy.bin").write_bytes(self.content())
        return folder

    def content(self) -> bytes:
        """Return the bytes of the `.bin` file."""
        parts = [(name, *self._stored(name, array)) for name, array in self.arrays.items()]
        settings = self.settings.encode() + b"\0"
        parts.append(("special:model.yml", INT8, (len(settings),), settings))
        return bin_file(parts)

    def _stored(self, name: str, array: NDArray[np.float32]) -> tuple[int, tuple[int, ...], bytes]:
        if self.exact or array.shape[0] == 1:
            return FLOAT32, array.shape, padded(array.tobytes())
        factor = np.float32(127 / np.abs(array).max())
        whole = np.rint(array * factor).astype(np.int8)
        data = whole.tobytes() if "Wemb" in name else whole.T.tobytes()
        return INTGEMM8, array.shape, padded(data + factor.tobytes())


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 256)


def bin_file(parts: list[tuple[str, int, tuple[int, ...], bytes]]) -> bytes:
    """Return the bytes of Marian's form."""
    table = struct.pack("<2Q", 1, len(parts))
    for name, kind, shape, data in parts:
        table += struct.pack("<4Q", len(name) + 1, kind, len(shape), len(data))
    table += b"".join(name.encode() + b"\0" for name, *_ in parts)
    for _, _, shape, _ in parts:
        table += struct.pack(f"<{len(shape)}i", *shape)
    gap = -(len(table) + 8) % 256
    return b"".join([table, struct.pack("<Q", gap), bytes(gap), *(data for *_, data in parts)])


def shapes() -> Mapping[str, tuple[int, int]]:
    """Return the arrays that a student has."""
    d, f, names = D_MODEL, D_FF, {"Wemb": (40, D_MODEL), "decoder_ff_logit_out_b": (1, 40)}

    def attention(name: str) -> None:
        for x in "qkvo":
            names[f"{name}_W{x}"], names[f"{name}_b{x}"] = (d, d), (1, d)
        norm(f"{name}_Wo")

    def norm(name: str) -> None:
        names[f"{name}_ln_scale"] = names[f"{name}_ln_bias"] = (1, d)

    def feed_forward(name: str) -> None:
        names[f"{name}_W1"], names[f"{name}_b1"] = (d, f), (1, f)
        names[f"{name}_W2"], names[f"{name}_b2"] = (f, d), (1, d)
        norm(f"{name}_ffn")

    for layer in range(1, ENCODER + 1):
        attention(f"encoder_l{layer}_self")
        feed_forward(f"encoder_l{layer}_ffn")
    for layer in range(1, DECODER + 1):
        rnn = f"decoder_l{layer}_rnn"
        names[f"{rnn}_W"], names[f"{rnn}_Wf"], names[f"{rnn}_bf"] = (d, d), (d, d), (1, d)
        norm(f"{rnn}_ffn")
        attention(f"decoder_l{layer}_context")
        feed_forward(f"decoder_l{layer}_ffn")
    return names


@pytest.fixture
def make_student() -> Callable[[], StudentFiles]:
    """Return a function that draws the arrays of a student."""

    def make() -> StudentFiles:
        draw = np.random.default_rng(3)
        return StudentFiles(
            {name: draw.normal(0, 0.5, s).astype(np.float32) for name, s in shapes().items()}
        )

    return make


Files = dict[str, Any]
Write = Callable[[Files], Path]
LINES = ["the cat sat on the mat", "a dog ran far away", "the dogs and the cats sat there"]
TAGS = [">>deu<<", ">>fra<<"]


def spm(lines: list[str], size: int) -> bytes:
    """Return a SentencePiece model with the ids that Marian's training gives it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 4), model_writer=model, vocab_size=size,
        model_type="unigram", minloglevel=9, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


@pytest.fixture(scope="session")
def models() -> tuple[bytes, bytes]:
    """Return two SentencePiece models of different text."""
    return spm(LINES, 24), spm([line.upper() for line in LINES], 23)


def pieces_of(model: bytes) -> list[str]:
    """Return the pieces of a model without its special ones."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


@pytest.fixture
def files(models: tuple[bytes, bytes]) -> dict[str, Any]:
    """Return the content of the folder by file; a test changes it before it is written."""
    ids = ["</s>", "<unk>", *TAGS, *pieces_of(models[0])[:-2], *pieces_of(models[1]), "<pad>"]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(ids))}
    pad = len(vocabulary) - 1
    config = {
        "model_type": "marian", "d_model": 12, "encoder_layers": 1, "decoder_layers": 2,
        "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 7,
        "decoder_ffn_dim": 7, "activation_function": "swish", "scale_embedding": True,
        "pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad,
        "vocab_size": pad + 1, "decoder_vocab_size": pad + 1, "max_position_embeddings": 64,
        "num_beams": 6, "normalize_before": False,
    }  # fmt: skip
    return {
        "config.json": config,
        "vocab.json": vocabulary,
        "tokenizer_config.json": {"source_lang": "en", "target_lang": "de"},
        "source.spm": models[0],
        "target.spm": models[1],
        "model.safetensors": tensors_of(config),
    }


def tensors_of(config: dict[str, Any]) -> dict[str, Tensor]:
    """Return random weights under Hugging Face's names; the row of padding is zero."""
    torch.manual_seed(2)
    width, inner, size = config["d_model"], config["encoder_ffn_dim"], config["vocab_size"]
    shared = torch.randn(size, width)
    shared[config["pad_token_id"]] = 0
    tensors = {"model.shared.weight": shared, "final_logits_bias": torch.randn(1, size)}
    for stack, layers in (("encoder", 1), ("decoder", 2)):
        for layer in range(layers):
            at = f"model.{stack}.layers.{layer}."
            attentions = ["self_attn"] + ["encoder_attn"] * (stack == "decoder")
            for name in attentions:
                for linear in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    tensors[f"{at}{name}.{linear}.weight"] = torch.randn(width, width)
                    tensors[f"{at}{name}.{linear}.bias"] = torch.randn(width)
            for name in (*(f"{a}_layer_norm" for a in attentions), "final_layer_norm"):
                tensors[f"{at}{name}.weight"] = torch.randn(width)
                tensors[f"{at}{name}.bias"] = torch.randn(width)
            for name, (rows, columns) in {"fc1": (inner, width), "fc2": (width, inner)}.items():
                tensors[f"{at}{name}.weight"] = torch.randn(rows, columns)
                tensors[f"{at}{name}.bias"] = torch.randn(rows)
    return tensors


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Return a function that writes files into a folder."""

    def write_folder(files: dict[str, Any]) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            if name.endswith(".safetensors") and isinstance(content, dict):
                save_file(
                    {key: tensor.contiguous() for key, tensor in content.items()}, folder / name
                )
            elif isinstance(content, bytes):
                (folder / name).write_bytes(content)
            elif isinstance(content, str):
                (folder / name).write_text(content, encoding="utf-8")
            else:
                (folder / name).write_text(json.dumps(content), encoding="utf-8")
        return folder

    return write_folder
