"""Which implementation computes an operation on this machine, and why.

This file has every capability, and the thresholds of compiled kernels and libraries. Each operation
has one function, which takes the operation's tensors or their sizes and returns a `Choice`: the
implementation and the reason. The code that computes calls these functions, and so does
`headway info --kernels`. `benchmarks/log` has the measurements.

These choices are elsewhere: the precision `auto` of training and of decoding, which is measured on
the user's machine; PyTorch's fused attention (`use_fused_kernel` in `model/attention.py`, because
the model knows no kernel); one product for several projections while learning on a GPU
(`_learns_on_a_gpu` in `training/accelerated/linear.py`); the share of the vocabulary from which a
list's weights are not gathered (`_NEARLY_ALL` in `decoding/packed/torch_backend.py`); and the sizes
of a search's batch (`_ROWS` and `_SENTENCES` in `decoding/build_search.py`).
"""

import functools
import os
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from typing import Literal, NamedTuple, assert_never

import torch
from torch import Tensor

from headway.errors import warn
from headway.kernels import COLUMNS, LANES, threads

Precision = Literal["float32", "bfloat16", "int8"]
"""Precisions of the matrix products in decoding."""

TYPES = (torch.float32, torch.bfloat16)
"""Types of the tensors that compiled kernels take."""

LONGEST_SENTENCE = 256
"""Pieces up to which the attention kernel is faster; longer sentences are nearly all products, and
PyTorch's are faster (benchmarks/log/028)."""
LEAST_PRODUCTS = 2**28
"""Scalar products from which the gradient kernels are faster (benchmarks/log/037)."""
LEAST_PRODUCTS_AMX = 2**22
"""The same with AMX: padding both matrices for oneDNN takes a tenth of a tiny model's step
(benchmarks/log/070, 071)."""
BLOCKS_PER_THREAD = 2
"""Blocks of `COLUMNS` columns that each thread needs in the gradient kernels (benchmarks/log/037).
"""
LOSS_ROWS = 512
"""Rows of logits computed at a time on a CPU: they stay in its cache (benchmarks/log/027)."""
LOSS_LOGITS = 2**26
"""Logits computed at a time on other devices, 256 MB in float32: each chunk takes about twenty
calls (benchmarks/log/066)."""
INT8_WEIGHTS = 2**14
"""Weights from which a product of integers is faster than one in float32 (benchmarks/log/010)."""
SMALL_WEIGHTS = 2**17
"""Weights up to which int8 gains little over bfloat16: nothing for few rows, 1.4 times for many.
Before VNNI, fewer bits lose more accuracy than they gain time (benchmarks/log/022, 054)."""
ONEDNN_ROWS_AMX, ONEDNN_ROWS_VNNI = 12, 64
"""Rows from which oneDNN multiplies integers faster than FBGEMM (benchmarks/log/011, 013)."""


class By(StrEnum):
    """The implementations."""

    NUMBA = "Numba kernel"
    NUMBA_AMX = "Numba kernel (AMX)"
    NUMBA_FLOAT32 = "Numba kernel, float32"
    NUMBA_BFLOAT16 = "Numba kernel, bfloat16"
    NUMBA_INT8 = "Numba kernel, int8"
    NUMBA_WHOLE = "one Numba kernel for all layers"
    NUMBA_STEPS = "one Numba kernel for all steps"
    SEPARATE = "one call for each operation"
    PYTORCH = "PyTorch"
    PYTORCH_FLOAT32 = "PyTorch, float32"
    PYTORCH_BFLOAT16 = "PyTorch, bfloat16"
    PYTORCH_INT8 = "PyTorch, int8"
    ONEDNN = "oneDNN"
    ONEDNN_AMX = "oneDNN, int8 (AMX)"
    ONEDNN_VNNI = "oneDNN, int8 (VNNI)"
    FBGEMM = "FBGEMM, int8"


class Choice(NamedTuple):
    """The implementation of an operation, and the reason for it."""

    by: By
    because: str


# Capabilities


@functools.cache
def has_numba() -> bool:
    """Return True if kernels can be compiled; warn once about a Numba that cannot be used."""
    if find_spec("numba") is None:
        return False
    try:
        import_module("headway.kernels.codegen.numba_compiler")
    except Exception as error:  # Numba and llvmlite raise several kinds, such as SystemError
        warn(
            f"Numba is installed, but cannot be used ({error}). PyTorch computes instead, "
            "and takes several times as long."
        )
        return False
    return True


def _compiles_for(feature: str) -> bool:
    """Return True if Numba compiles for a processor with this feature of LLVM's list."""
    if not has_numba():
        return False
    from headway.kernels.codegen import numba_compiler

    return numba_compiler.host_has(feature)


@functools.cache
def has_avx512() -> bool:
    """Return True if kernels may use 32 registers of 16 float32 numbers."""
    if not has_numba():
        return False
    from headway.kernels.codegen import numba_compiler

    return numba_compiler.has_avx512()


@functools.cache
def has_vnni() -> bool:
    """Return True if one instruction sums four products of bytes in 32 bits."""
    if not has_numba():
        return False
    from headway.kernels.codegen import numba_compiler

    return numba_compiler.has_vnni()


@functools.cache
def has_byte_pairs() -> bool:
    """Return True if one instruction sums two products of bytes in 16 bits, as before VNNI."""
    return _compiles_for("avx512bw" if has_avx512() else "avx2")


def multiplies_bytes() -> bool:
    """Return True if kernels can multiply unsigned bytes with signed ones."""
    return has_vnni() or has_byte_pairs()


@functools.cache
def multiplies_bfloat16() -> bool:
    """Return True if one instruction sums products of bfloat16 (AVX512_BF16)."""
    return _compiles_for("avx512bf16")


@functools.cache
def has_amx() -> bool:
    """Return True if the processor has AMX tiles, and the system lets this process use them."""
    if not has_numba():
        return False
    from headway.kernels.codegen import numba_compiler

    return numba_compiler.has_amx()


@functools.cache
def onednn_multiplies_bfloat16() -> bool:
    """Return True if PyTorch has oneDNN, and oneDNN computes in bfloat16 on this processor."""
    try:
        torch.ops.mkldnn._linear_pointwise.default  # noqa: B018
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    except AttributeError:
        return False


def pytorch_has(instructions: str) -> bool:
    """Return True if PyTorch says that the processor has these instructions, such as amx_int8."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get(instructions))


def is_traced() -> bool:
    """Return True while torch.compile or a transform of torch.func traces the operations."""
    if torch.compiler.is_compiling():
        return True
    return bool(torch._C._are_functorch_transforms_active())  # pyright: ignore[reportAttributeAccessIssue]


def is_watched() -> bool:
    """Return True while a dispatch mode watches PyTorch's operations, to count them for example.

    Products, attention and ReLU are left to PyTorch then. Dropout and the loss are not: they have
    no products to count, and PyTorch's dropout would draw other masks.
    """
    return torch._C._len_torch_dispatch_stack() > 0


def _obstacle(*tensors: Tensor) -> str | None:
    """Return the reason why compiled kernels cannot take these tensors; None if they can."""
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return "compiled kernels are for the CPU"
    if any(tensor.dtype not in TYPES for tensor in tensors):
        return "compiled kernels take float32 and bfloat16"
    if is_traced():
        return "torch.compile or torch.func traces the operation"
    return None if has_numba() else "Numba is not installed, or cannot be used"


_WATCHED = "a dispatch mode watches PyTorch's operations"
_NO_THREADS = "PyTorch has several threads, and they are not those of GNU OpenMP"
_NO_SUMS = "the processor has no sums of bfloat16 products (AVX512_BF16)"
_COMPILES = "Numba compiles it for this processor"


def capabilities() -> dict[str, bool]:
    """Return the capabilities on which the choices depend, and whether this machine has them."""
    return {
        "numba": has_numba(),
        "avx512": has_avx512(),
        "byte_sums": multiplies_bytes(),
        "vnni": has_vnni(),
        "avx512_bf16": multiplies_bfloat16(),
        "amx": has_amx(),
        "onednn_bfloat16": onednn_multiplies_bfloat16(),
        "shared_threads": threads.can_divide(),
    }


# Operations of training


def attention(
    query: Tensor, key: Tensor, value: Tensor, d_k: int, d_v: int, dropout: float = 0.0
) -> Choice:
    """Choose for equation 1 and its gradient, from (B, T, d_model), 2 of (B, S, d_model)."""
    if dropout > 0.0:
        return Choice(By.PYTORCH, "dropout of attention weights needs the weights")
    if obstacle := _obstacle(query, key, value):
        return Choice(By.PYTORCH, obstacle)
    if is_watched():
        return Choice(By.PYTORCH, _WATCHED)
    lowered = torch.is_autocast_enabled("cpu")
    if lowered and torch.get_autocast_dtype("cpu") not in TYPES:
        return Choice(By.PYTORCH, "compiled kernels take float32 and bfloat16")
    if not lowered and not query.dtype == key.dtype == value.dtype:
        return Choice(By.PYTORCH, "queries, keys and values have different types")
    if d_k % LANES or d_v % LANES:
        return Choice(By.PYTORCH, f"d_k or d_v is not a multiple of {LANES}")
    if not query.size(0) == key.size(0) == value.size(0):
        return Choice(By.PYTORCH, "queries, keys and values differ in their number of sentences")
    if query.size(0) == 0:
        return Choice(By.PYTORCH, "the batch has no sentence")
    if not (0 < query.size(1) <= LONGEST_SENTENCE and 0 < key.size(1) <= LONGEST_SENTENCE):
        return Choice(By.PYTORCH, f"a sentence is empty or has over {LONGEST_SENTENCE} tokens")
    if not threads.can_divide():
        return Choice(By.PYTORCH, _NO_THREADS)
    return Choice(By.NUMBA, f"sentences have at most {LONGEST_SENTENCE} tokens")


def linear(rows: Tensor, bias: Tensor | None) -> Choice:
    """Choose for rows W^T + b."""
    if rows.device.type != "cpu" or rows.dtype != torch.bfloat16:
        return Choice(By.PYTORCH, "oneDNN is used only for bfloat16 on a CPU")
    if bias is None:
        return Choice(By.PYTORCH, "there is no bias to add to the product")
    if is_watched():
        return Choice(By.PYTORCH, _WATCHED)
    if not onednn_multiplies_bfloat16():
        return Choice(By.PYTORCH, "oneDNN does not compute in bfloat16 here")
    return Choice(By.ONEDNN, "it adds the bias while it writes the product")


def pads_rows(device: torch.device, dtype: torch.dtype) -> bool:
    """Return True if oneDNN computes products there, so there should be few different row counts.

    It makes machine code for each new number of rows (benchmarks/log/071).
    """
    low = device.type == "cpu" and dtype == torch.bfloat16
    return low and not is_traced() and not is_watched()


def _gradient_obstacle(grad: Tensor, rows: Tensor) -> str | None:
    """Return the reason why the gradient kernels do not multiply these; None if they do."""
    if not grad.dtype == rows.dtype == torch.bfloat16:
        return "the gradient kernels are for bfloat16"
    if rows.size(1) % COLUMNS:
        return f"the input's width is not a multiple of {COLUMNS}"
    if max(grad.size(1), rows.size(1)) < BLOCKS_PER_THREAD * COLUMNS * torch.get_num_threads():
        return f"under {BLOCKS_PER_THREAD * COLUMNS} columns a thread"
    if type(grad) is not Tensor or type(rows) is not Tensor:
        return "the tensors are of a subclass of Tensor"
    if obstacle := _obstacle(grad, rows):
        return obstacle
    if is_watched():
        return _WATCHED
    if not multiplies_bfloat16():
        return _NO_SUMS
    least = LEAST_PRODUCTS_AMX if has_amx() else LEAST_PRODUCTS
    if grad.numel() * rows.size(1) < least:
        return f"under {least:,} scalar products"
    return None if threads.can_divide() else _NO_THREADS


def weight_gradient(grad: Tensor, rows: Tensor) -> Choice:
    """Choose for grad^T rows, the gradient of a weight, from (N, d_out) and (N, d_in)."""
    if obstacle := _gradient_obstacle(grad, rows):
        return Choice(By.PYTORCH, obstacle)
    if has_amx():
        return Choice(By.NUMBA_AMX, "the processor multiplies tiles")
    return Choice(By.NUMBA, "sums in float32 cost no time with AVX512_BF16")


def input_gradient(grad: Tensor, weight: Tensor, dtype: torch.dtype) -> Choice:
    """Choose for grad W, the gradient of a projection's input in this type.

    From (N, d_out) and (d_out, d_in). Measured in benchmarks/log/049 and 050.
    """
    if weight.size(1) > weight.size(0) or weight.size(0) % 2:
        return Choice(By.PYTORCH, "it is faster if the result has more columns")
    if dtype not in TYPES:
        return Choice(By.PYTORCH, "compiled kernels take float32 and bfloat16")
    if obstacle := _gradient_obstacle(grad, weight):
        return Choice(By.PYTORCH, obstacle)
    if has_amx():
        return Choice(By.PYTORCH, "it is faster with AMX")
    return Choice(By.NUMBA, "it rounds once, to the type of the result")


def relu(*tensors: Tensor) -> Choice:
    """Choose for ReLU in place, or for its gradient, from its output and that output's gradient."""
    if any(tensor.dtype != torch.bfloat16 for tensor in tensors):
        return Choice(By.PYTORCH, "the kernel is for bfloat16")
    if is_watched():
        return Choice(By.PYTORCH, _WATCHED)
    if obstacle := _obstacle(*tensors):
        return Choice(By.PYTORCH, obstacle)
    return Choice(By.NUMBA, "PyTorch takes two to three times as long")


def dropout(*tensors: Tensor) -> Choice:
    """Choose for dropout of one tensor, or for x + Dropout(y) of two."""
    if obstacle := _obstacle(*tensors):
        return Choice(By.PYTORCH, obstacle)
    return Choice(By.NUMBA, "masks are drawn again for the gradient instead of kept")


def cross_entropy(logits: Tensor, pad_id: int) -> Choice:
    """Choose for the smoothed losses of (rows, V) and their gradient."""
    if obstacle := _obstacle(logits):
        return Choice(By.PYTORCH, obstacle)
    if logits.size(1) < LANES:
        return Choice(By.PYTORCH, f"the vocabulary has under {LANES} tokens")
    if not 0 <= pad_id < logits.size(1):
        return Choice(By.PYTORCH, "pad_id is no token of the vocabulary")
    if not threads.can_divide():
        return Choice(By.PYTORCH, _NO_THREADS)
    return Choice(By.NUMBA, "losses and gradient take one pass over the logits")


def loss_rows(device: torch.device, vocabulary: int) -> int:
    """Return the number of rows whose logits are computed at a time."""
    return LOSS_ROWS if device.type == "cpu" else max(LOSS_LOGITS // vocabulary, LOSS_ROWS)


# Operations of decoding


def decoder(device: torch.device) -> Choice:
    """Choose for all operations of decoding except products.

    They are attention, LayerNorm, the shortlist, and the best logits of each row with
    log(sum(exp)). The choice is also the backend of the packed engine.
    """
    if device.type != "cpu":
        return Choice(By.PYTORCH, "compiled kernels are for the CPU")
    if not has_numba():
        return Choice(By.PYTORCH, "Numba is not installed, or cannot be used")
    return _COMPILED_DECODER


_COMPILED_DECODER = Choice(By.NUMBA, _COMPILES)
"""Made once, because each step of a search asks for it."""


def compiled_linear(precision: Precision, weights: int, *, sensitive: bool = False) -> Choice:
    """Choose for a product of the Numba backend; weights: their number.

    sensitive: rounding to 8 bits would cost more accuracy than its speed is worth.
    """
    match precision:
        case "float32":
            return Choice(By.NUMBA_FLOAT32, _COMPILES)
        case "bfloat16" if multiplies_bfloat16():
            return Choice(By.NUMBA_BFLOAT16, "the processor sums bfloat16 products (AVX512_BF16)")
        case "bfloat16":
            return Choice(By.PYTORCH_BFLOAT16, _NO_SUMS)
        case "int8":
            return _compiled_int8(weights, sensitive)
        case _:
            assert_never(precision)


def _compiled_int8(weights: int, sensitive: bool) -> Choice:
    if weights < INT8_WEIGHTS:
        return Choice(By.NUMBA_FLOAT32, f"under {INT8_WEIGHTS:,} weights integers are not faster")
    small = weights <= SMALL_WEIGHTS
    if multiplies_bfloat16() and (sensitive or small):
        reason = f"at most {SMALL_WEIGHTS:,} weights" if small else "8 bits would cost accuracy"
        return Choice(By.NUMBA_BFLOAT16, reason)
    if small and multiplies_bytes() and not has_vnni():
        return Choice(By.NUMBA_FLOAT32, f"at most {SMALL_WEIGHTS:,} weights, and no VNNI")
    if multiplies_bytes():
        instructions = "VNNI" if has_vnni() else "AVX2 or AVX-512, without VNNI"
        return Choice(By.NUMBA_INT8, f"the processor sums byte products ({instructions})")
    return Choice(By.PYTORCH_INT8, "the processor has no sums of byte products that kernels use")


def scores_as_float32(precision: Precision, device: torch.device, weights: int) -> bool:
    """Return True if translations in this precision score as well as in float32.

    That is within 0.1 BLEU and 0.1 chrF on 1,000 sentences (benchmarks/log/022, 053, 054). Only
    compiled kernels were measured, so on a GPU, and without Numba, only float32 does. weights: the
    number of weights in the largest product of a layer.
    """
    if precision == "float32":
        return True
    if device.type != "cpu" or weights < INT8_WEIGHTS or not multiplies_bytes():
        return False
    if precision == "bfloat16":
        return multiplies_bfloat16()
    return has_vnni() or weights <= SMALL_WEIGHTS


def pytorch_linear(precision: Precision, weights: int) -> Choice:
    """Choose for a product of the PyTorch backend; weights: their number."""
    match precision:
        case "float32":
            return Choice(By.PYTORCH_FLOAT32, "this precision was chosen")
        case "bfloat16":
            return Choice(By.PYTORCH_BFLOAT16, "this precision was chosen")
        case "int8" if weights < INT8_WEIGHTS:
            reason = f"under {INT8_WEIGHTS:,} weights integers are not faster"
            return Choice(By.PYTORCH_FLOAT32, reason)
        case "int8":
            return Choice(By.PYTORCH_INT8, f"from {INT8_WEIGHTS:,} weights integers are faster")
        case _:
            assert_never(precision)


def pytorch_int8() -> Choice:
    """Choose the library that multiplies integers for PyTorch, from its fewest rows on."""
    if any(name in os.environ for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")):
        return Choice(By.FBGEMM, "an environment variable limits the instructions of oneDNN")
    if not torch.backends.mkldnn.is_available():
        return Choice(By.FBGEMM, "this PyTorch has no oneDNN")
    if pytorch_has("amx_int8"):
        return Choice(By.ONEDNN_AMX, f"from {ONEDNN_ROWS_AMX} rows; FBGEMM below")
    if pytorch_has("avx512_vnni"):
        return Choice(By.ONEDNN_VNNI, f"from {ONEDNN_ROWS_VNNI} rows; FBGEMM below")
    return Choice(By.FBGEMM, "without AMX or VNNI oneDNN takes many times as long")


def whole_stack(
    *, compiled: bool, activated: bool, one_size: bool, one_epsilon: bool, one_kind: bool
) -> Choice:
    """Choose for all layers of an encoder or decoder: one call, or one for each operation.

    compiled: all products are compiled kernels. activated: all feed-forward networks have ReLU, or
    all SiLU. one_size: all layers have the same sizes. one_epsilon: all norms have the same
    epsilon. one_kind: each product is of the same kind in all layers.
    """
    if not compiled:
        return Choice(By.SEPARATE, "a product is not a compiled kernel")
    if not activated:
        return Choice(By.SEPARATE, "PyTorch computes activations other than ReLU and SiLU")
    if not (one_size and one_epsilon and one_kind):
        return Choice(By.SEPARATE, "the layers differ in sizes or in the kinds of their products")
    return Choice(By.NUMBA_WHOLE, "one call for all layers saves the overhead of many")


def search_loop(*, whole: bool, compiled: bool, one_vocabulary: bool) -> Choice:
    """Choose for the steps of greedy and beam search: one call for many, or one for each.

    whole: one call computes all decoder layers. compiled: the projection to the vocabulary is a
    compiled kernel. one_vocabulary: every piece of the projection has an embedding.
    """
    if not whole:
        return Choice(By.SEPARATE, "the decoder layers are not one call")
    if not compiled:
        return Choice(By.SEPARATE, "the projection to the vocabulary is not a compiled kernel")
    if not one_vocabulary:
        return Choice(
            By.SEPARATE, "the projection to the vocabulary has more pieces than embeddings"
        )
    return Choice(By.NUMBA_STEPS, "Python is called only when a sentence ends")
