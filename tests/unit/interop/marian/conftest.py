"""A student of Firefox, as small as it can be, written byte by byte from random arrays."""

import io
import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from numpy.typing import NDArray

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
