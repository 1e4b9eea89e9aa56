"""The arithmetic of the programs that run Firefox's students in 8 bits, written down in numpy.

    python benchmarks/student_arithmetic.py FOLDER TEXTS [--compare NAME=FILE …] [--out FILE]
    python benchmarks/student_arithmetic.py FOLDER TEXTS --margins

FOLDER: a student (`.bin`, `.spm`, perhaps `lex….bin`). TEXTS, and each FILE: a list of strings in
JSON, one translation for each text. Prints how many translations of each variant are equal to those
of each file and of the variants before. `--margins` prints how near the best tokens are.

Sources: `intgemm_interface.h`, `wasm_intgemm_fallback.cpp` and `layers/generic.h` of
browsermt/marian-dev, `multiply.h` and `ssse3_gemm.h` of kpu/intgemm, `ops.rs`, `engine.rs` and
`gemmology_shim.cpp` of fxtranslate.

An input x of a product becomes a = round(x * alpha), to the even one of two, cut to -127 … 127;
alpha is one number for each matrix, stored in the file. The weights are bytes b with one factor
beta for each matrix. The processor multiplies bytes without a sign by bytes with one, so a + 127
enters, and what it adds is taken off the bias:

    y = (sum of (a + 127) * b) * u + (bias - 127 * u * (sum of b)),   u = 1 / (alpha * beta)

Everything between products is float32: embeddings, positions, attention, softmax, norms, SSRU.

- Cut: before VNNI, one instruction (vpmaddubsw) adds two neighbouring products in 16 bits, and cuts
  the sum to -32768 … 32767. (a + 127) * b is up to 32,258, so two large weights can be cut.
- The two halves of y are large and nearly cancel. So the last bit of the factor that takes the 127
  off matters: it is -127 * u in fxtranslate, and -((127 / alpha) * (127 / beta)) / 127 in Marian.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.bundle import Bundle, model_tensors
from headway.data.tokenizer import END_ID, START_ID
from headway.interop.marian.binary import BinaryFile
from headway.interop.marian.recognition import recognize
from headway.interop.marian.student import QUANTIZATION, read_student, weight_names

Floats = NDArray[Any]  # of float32, unless the type of sums is another
SHIFT = 127
LARGEST = 2**15 - 1
EPSILON = np.float32(1e-6)  # of the norms in Marian's Transformer, layers/generic.h


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix of bytes, (in, out), and the factors of input and weights."""

    weights: NDArray[np.float64]
    alpha: np.float32
    beta: np.float32
    bias: Floats

    @cached_property
    def sums(self) -> NDArray[Any]:
        """Return the sum of each column."""
        return self.weights.sum(0)

    @cached_property
    def crowded(self) -> tuple[NDArray[Any], ...]:
        """Return the pairs of rows and the columns whose two products may not fit 16 bits."""
        pairs = self.weights.reshape(-1, 2, self.weights.shape[1])
        above = np.maximum(pairs, 0).sum(1) * 2 * SHIFT > LARGEST
        below = np.minimum(pairs, 0).sum(1) * 2 * SHIFT < -LARGEST - 1
        return np.nonzero(above | below)

    def __call__(self, x: Floats, *, is_cut: bool, as_marian: bool = True) -> Floats:
        """Return the product and its bias, (rows, out).

        as_marian: take the shift off with Marian's factor, or else with fxtranslate's.
        """
        a = np.clip(np.rint(x * self.alpha), -SHIFT, SHIFT).astype(np.float64) + SHIFT
        total = a @ self.weights  # whole numbers below 2^53, so exact
        if is_cut:
            total -= self._cut(a)
        one, shift = np.float32(1), np.float32(SHIFT)
        u = one / (self.alpha * self.beta)
        off = ((shift / self.alpha) * (shift / self.beta)) / shift if as_marian else shift * u
        prepared = self.bias - off * self.sums.astype(np.float32)
        return total.astype(np.float32) * u + prepared

    def _cut(self, a: NDArray[np.float64]) -> NDArray[Any]:
        """Return what 16 bits cut off each sum."""
        pairs, columns = self.crowded
        both = sum(a[:, 2 * pairs + i] * self.weights[2 * pairs + i, columns] for i in (0, 1))
        excess = both - np.clip(both, -LARGEST - 1, LARGEST)
        width = len(self.sums)
        return np.stack([np.bincount(columns, row, minlength=width) for row in excess])


Multiply = Callable[[Product, Floats], Floats]


class Student:
    """A student and its greedy search, as its 8-bit engines compute it."""

    def __init__(self, folder: Path) -> None:
        """Read the files in a folder."""
        files = recognize(folder)
        self.bundle: Bundle = read_student(files).bundle
        (path,) = (f for f in folder.glob("*.bin") if not f.name.startswith("lex"))
        file = BinaryFile(path)
        config = self.bundle.config
        tensors = {n: t.float().numpy() for n, t in model_tensors(self.bundle.model).items()}
        self._tensors = tensors
        self._products: dict[str, Product] = {}
        for theirs, ours in weight_names(config):
            if theirs + QUANTIZATION in file.items:
                alpha = np.float32(file.numbers(theirs + QUANTIZATION).item())
                bias = tensors.get(ours.removesuffix("weight") + "bias")
                self._products[ours.removesuffix(".weight")] = _product(
                    tensors[ours].T, alpha, bias
                )
        self.source = tensors["source_embedding.tokens.weight"]
        self.target = tensors.get("target_embedding.tokens.weight", self.source)
        self.output = _product(
            self.target.T,
            np.float32(file.numbers("none" + QUANTIZATION).item()),
            tensors["output_projection.bias"],
        )
        half = config.d_model // 2
        self._frequencies = 1e-4 ** (np.arange(half) / (half - 1))

    def translate(self, text: str, multiply: Multiply, wide: type = np.float32) -> str:
        """Return the greedy translation; wide: the type of sums outside products."""
        found, _ = _Search(self, multiply, wide).run(self.ids(text))
        return self.bundle.target_tokenizer.decode(found)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a source, end included."""
        return [*self.bundle.source_tokenizer.encode(text), END_ID]

    def logits(self, text: str, target: Sequence[int], multiply: Multiply) -> list[Floats]:
        """Return the logits of the allowed tokens at each step of a translation, end included."""
        return _Search(self, multiply, np.float32).run(self.ids(text), target)[1]


class _Search:
    """A greedy search with one way to multiply."""

    def __init__(self, student: Student, multiply: Multiply, wide: type) -> None:
        self._student, self._multiply, self._wide = student, multiply, wide

    def run(
        self, ids: Sequence[int], target: Sequence[int] | None = None
    ) -> tuple[list[int], list[Floats]]:
        """Return the translation, or the target if there is one, and the logits of each step."""
        student = self._student
        config = student.bundle.config
        memory = self._encode(ids)
        layers = [f"decoder.layers.{n}." for n in range(config.num_decoder_layers)]
        read = [
            [self._affine(f"{layer}cross_attention.w_{x}", memory) for x in "kv"]
            for layer in layers
        ]
        cells = [np.zeros((1, config.d_model), np.float32) for _ in layers]
        shortlist = student.bundle.shortlist
        allowed = (
            np.arange(2, config.target_vocab_size) if shortlist is None
            else np.setdiff1d(shortlist.pieces_for(ids), (0, START_ID))
        )  # fmt: skip
        output = student.output
        output = Product(
            output.weights[:, allowed], output.alpha, output.beta, output.bias[allowed]
        )
        last, found, seen = START_ID, [], []
        forced = None if target is None else [*target, END_ID]
        for step in range(len(forced) if forced else 2 * len(ids) + 4):
            x = self._embed(student.target[[last]], step)  # that of <s> is zero
            for n, layer in enumerate(layers):
                candidate = self._affine(layer + "ssru.w_x", x)
                forget = _sigmoid(self._affine(layer + "ssru.w_f", x))
                cells[n] = forget * cells[n] + (1 - forget) * candidate
                x = self._norm(layer + "ssru", x, np.maximum(cells[n], 0))
                query = self._affine(layer + "cross_attention.w_q", x)
                heard = self._attend(query, *read[n])
                x = self._norm(
                    layer + "cross_attention", x,
                    self._affine(layer + "cross_attention.w_o", heard),
                )  # fmt: skip
                x = self._feed_forward(layer, x)
            seen.append(self._multiply(output, x)[0])
            last = forced[step] if forced else int(allowed[seen[-1].argmax()])
            if last == END_ID:
                break
            found.append(last)
        return found, seen

    def _encode(self, ids: Sequence[int]) -> Floats:
        x = self._embed(self._student.source[list(ids)], 0)
        for n in range(self._student.bundle.config.num_encoder_layers):
            layer = f"encoder.layers.{n}."
            q, k, v = (self._affine(f"{layer}self_attention.w_{name}", x) for name in "qkv")
            heard = self._affine(layer + "self_attention.w_o", self._attend(q, k, v))
            x = self._norm(layer + "self_attention", x, heard)
            x = self._feed_forward(layer, x)
        return x

    def _embed(self, rows: Floats, start: int) -> Floats:
        angles = np.arange(start, start + len(rows))[:, None] * self._student._frequencies
        positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
        return np.float32(np.sqrt(rows.shape[1])) * rows + positions

    def _affine(self, name: str, x: Floats) -> Floats:
        return self._multiply(self._student._products[name], x)

    def _feed_forward(self, layer: str, x: Floats) -> Floats:
        hidden = np.maximum(self._affine(layer + "feed_forward.w_1", x), 0)
        return self._norm(
            layer + "feed_forward", x, self._affine(layer + "feed_forward.w_2", hidden)
        )

    def _attend(self, q: Floats, k: Floats, v: Floats) -> Floats:
        heads = self._student.bundle.config.num_heads
        q, k, v = (
            m.reshape(len(m), heads, -1).transpose(1, 0, 2).astype(self._wide) for m in (q, k, v)
        )
        scores = q @ k.transpose(0, 2, 1) * self._wide(q.shape[-1] ** -0.5)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1).astype(np.float32)

    def _norm(self, name: str, x: Floats, branch: Floats) -> Floats:
        tensors = self._student._tensors
        total = (x + branch).astype(self._wide)
        centred = total - total.mean(-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(-1, keepdims=True) + EPSILON)
        scale, bias = (tensors[f"{name}_residual.norm.{w}"] for w in ("weight", "bias"))
        return scale * (centred / spread).astype(np.float32) + bias


def _product(matrix: Floats, alpha: np.float32, bias: Floats | None) -> Product:
    beta = np.float32(127 / np.abs(matrix).max())  # the largest became 127
    whole = np.rint(matrix * beta).astype(np.float64)
    zeros = np.zeros(matrix.shape[1], np.float32)
    return Product(whole, alpha, beta, zeros if bias is None else bias)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def whole(product: Product, x: Floats) -> Floats:
    """Multiply as Marian does with VNNI: nothing is cut."""
    return product(x, is_cut=False)


def marian(product: Product, x: Floats) -> Floats:
    """Multiply as Marian does before VNNI, and in WebAssembly."""
    return product(x, is_cut=True)


def fxtranslate(product: Product, x: Floats) -> Floats:
    """Multiply as fxtranslate does with AVX2."""
    return product(x, is_cut=True, as_marian=False)


def plain(product: Product, x: Floats) -> Floats:
    """Multiply in float32, with the weights that the file holds."""
    return x @ (product.weights / product.beta).astype(np.float32) + product.bias


VARIANTS: dict[str, tuple[Multiply, type]] = {
    "float32": (plain, np.float32),
    "Marian, VNNI": (whole, np.float32),
    "Marian": (marian, np.float32),
    "fxtranslate": (fxtranslate, np.float32),
    # The same rules; only the last digits of norms and attention differ.
    "Marian, other sums in float64": (marian, np.float64),
}


def report_margins(student: Student, texts: Sequence[str], multiply: Multiply) -> None:
    """Print how near the two best tokens are in float32, and how far bytes move them.

    Both follow the translation of float32.
    """
    least, moved = [], []
    for text in texts:
        found, plainly = _Search(student, plain, np.float32).run(student.ids(text))
        margins, moves = [], []
        for one, other in zip(plainly, student.logits(text, found, multiply), strict=True):
            second, first = np.argsort(one)[-2:]
            margins.append(one[first] - one[second])
            moves.append(other[first] - other[second] - margins[-1])
        least.append(min(margins))
        moved += moves
    spread = float(np.std(moved))
    print(
        f"{len(texts)} sentences, {len(moved)} steps: bytes move the distance of the two best "
        f"logits by {spread:.3f} (standard deviation); the smallest distance is below this in "
        f"{np.mean(np.array(least) < spread):.1%} of the sentences"
    )


def main() -> None:
    """Translate the texts in each variant and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--compare", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--margins", action="store_true")
    parser.add_argument("--only", action="append", choices=VARIANTS, metavar="VARIANT")
    arguments = parser.parse_args()
    texts = json.loads(arguments.texts.read_text())[: arguments.sentences]
    others = dict(pair.split("=", 1) for pair in arguments.compare)
    theirs = {
        name: json.loads(Path(file).read_text())[: len(texts)] for name, file in others.items()
    }
    student = Student(arguments.folder)
    if arguments.margins:
        report_margins(student, texts, marian)
        return
    for name in arguments.only or VARIANTS:
        multiply, wide = VARIANTS[name]
        theirs[name] = [student.translate(text, multiply, wide) for text in texts]
        equal = {o: sum(map(str.__eq__, theirs[name], theirs[o])) for o in theirs if o != name}
        print(
            f"{name}: {len(texts)} sentences,",
            ", ".join(f"{o} {n}" for o, n in equal.items()),
            flush=True,
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(theirs, ensure_ascii=False))


if __name__ == "__main__":
    main()
