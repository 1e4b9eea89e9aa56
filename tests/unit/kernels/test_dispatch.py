"""The choice of an implementation, and its reason; an unusable Numba is reported once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from headway.errors import HeadwayWarning
from headway.kernels import dispatch
from headway.kernels.dispatch import By, Choice, Precision, has_numba

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    has_numba.cache_clear()
    yield
    has_numba.cache_clear()


@pytest.mark.parametrize("kind", [ImportError, OSError, SystemError, AttributeError])
def test_a_numba_that_cannot_be_imported_is_named_once(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise kind("Numba needs another NumPy")

    monkeypatch.setattr("headway.kernels.dispatch.import_module", fail)

    with pytest.warns(HeadwayWarning, match=r"cannot be used \(Numba needs another NumPy\)"):
        assert not has_numba()
    choice = dispatch.dropout(torch.zeros(2))  # a second warning would be an error
    assert choice == (By.PYTORCH, "Numba is not installed, or cannot be used")


def test_a_numba_that_compiles_nothing_is_not_used(tmp_path: Path) -> None:
    program = """
import warnings, os
os.environ["NUMBA_DISABLE_JIT"] = "1"
from headway.kernels.dispatch import has_numba
with warnings.catch_warnings(record=True) as caught:
    assert not has_numba()
assert "the environment variable NUMBA_DISABLE_JIT is set" in str(caught[0].message)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_numba_kernels_are_chosen_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "has_numba", lambda: False)
    x, low = torch.zeros(2, 3, 32), torch.zeros(1024, 512).bfloat16()
    cpu = torch.device("cpu")
    choices = [
        dispatch.attention(x, x, x, 16, 16),
        dispatch.weight_gradient(low, low),
        dispatch.input_gradient(low, low[:512], torch.float32),
        dispatch.relu(low),
        dispatch.dropout(x),
        dispatch.cross_entropy(x[0], 0),
        dispatch.decoder(cpu),
    ]
    assert {choice.by for choice in choices} == {By.PYTORCH}
    assert {choice.because for choice in choices} == {"Numba is not installed, or cannot be used"}


@pytest.mark.parametrize("precision", get_args(Precision))
@pytest.mark.parametrize("weights", [1, 2**14, 2**17, 2**17 + 1])
@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("instructions", ["none", "pairs", "vnni", "vnni and bfloat16"])
def test_the_numba_backend_multiplies_only_by_instructions_that_exist(
    precision: Precision,
    weights: int,
    sensitive: bool,
    instructions: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "has_vnni", lambda: "vnni" in instructions)
    monkeypatch.setattr(dispatch, "has_byte_pairs", lambda: instructions == "pairs")
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: "bfloat16" in instructions)
    by = dispatch.compiled_linear(precision, weights, sensitive=sensitive).by

    if by is By.NUMBA_INT8:
        assert precision == "int8"
        assert instructions != "none"
        assert weights > 2**17 or (instructions == "vnni" and weights >= 2**14)
        assert not (sensitive and "bfloat16" in instructions)
    if by is By.NUMBA_BFLOAT16:
        assert "bfloat16" in instructions
        assert precision == "bfloat16" or weights >= 2**14
    if by in (By.PYTORCH_INT8, By.PYTORCH_BFLOAT16):
        assert by == f"PyTorch, {precision}"
        assert instructions == "none" or precision == "bfloat16"
    if precision == "float32" or (precision == "int8" and weights < 2**14):
        assert by is By.NUMBA_FLOAT32
    elif precision == "bfloat16":
        assert (by is By.NUMBA_BFLOAT16) == ("bfloat16" in instructions)


def test_only_a_stack_of_equal_layers_is_one_call() -> None:
    facts = dict.fromkeys(("compiled", "activated", "one_size", "one_epsilon", "one_kind"), True)
    assert dispatch.whole_stack(**facts).by is By.NUMBA_WHOLE
    for name in facts:
        assert dispatch.whole_stack(**facts | {name: False}).by is By.SEPARATE


def test_the_search_is_one_call_if_all_its_parts_are_kernels_of_one_vocabulary() -> None:
    facts = dict.fromkeys(("whole", "compiled", "one_vocabulary"), True)
    assert dispatch.search_loop(**facts).by is By.NUMBA_STEPS
    for name in facts:
        assert dispatch.search_loop(**facts | {name: False}).by is By.SEPARATE


@pytest.mark.parametrize("choose", [dispatch.compiled_linear, dispatch.pytorch_linear])
def test_a_misspelt_precision_is_no_other_one(choose: Any) -> None:
    with pytest.raises(AssertionError, match="flaot32"):
        choose("flaot32", 2**20)


@pytest.mark.parametrize(
    ("precision", "weights", "choice"),
    [
        ("float32", 2**20, (By.PYTORCH_FLOAT32, "this precision was chosen")),
        ("bfloat16", 1, (By.PYTORCH_BFLOAT16, "this precision was chosen")),
        ("int8", 16_383, (By.PYTORCH_FLOAT32, "under 16,384 weights integers are not faster")),
        ("int8", 16_384, (By.PYTORCH_INT8, "from 16,384 weights integers are faster")),
    ],
)
def test_the_pytorch_backend_multiplies_integers_where_they_are_faster(
    precision: Precision, weights: int, choice: Choice
) -> None:
    assert dispatch.pytorch_linear(precision, weights) == choice


LIMITED = "an environment variable limits the instructions of oneDNN"


@pytest.mark.parametrize(
    ("limited", "onednn", "instructions", "choice"),
    [
        (True, True, "amx_int8", (By.FBGEMM, LIMITED)),
        (False, False, "amx_int8", (By.FBGEMM, "this PyTorch has no oneDNN")),
        (False, True, "amx_int8 avx512_vnni", (By.ONEDNN_AMX, "from 12 rows; FBGEMM below")),
        (False, True, "avx512_vnni", (By.ONEDNN_VNNI, "from 64 rows; FBGEMM below")),
        (False, True, "", (By.FBGEMM, "without AMX or VNNI oneDNN takes many times as long")),
    ],
)  # fmt: skip
def test_the_library_for_integers_follows_from_the_instructions(
    limited: bool, onednn: bool, instructions: str, choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)
    if limited:
        monkeypatch.setenv("DNNL_MAX_CPU_ISA", "AVX2")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: onednn)
    monkeypatch.setattr(dispatch, "pytorch_has", lambda name: name in instructions.split())

    assert dispatch.pytorch_int8() == choice


LOW = torch.zeros(3, 5).bfloat16()


@pytest.mark.parametrize(
    ("rows", "bias", "onednn", "choice"),
    [
        (LOW.float(), LOW[0], True, (By.PYTORCH, "oneDNN is used only for bfloat16 on a CPU")),
        (LOW.to("meta"), LOW[0], True, (By.PYTORCH, "oneDNN is used only for bfloat16 on a CPU")),
        (LOW, None, True, (By.PYTORCH, "there is no bias to add to the product")),
        (LOW, LOW[0], False, (By.PYTORCH, "oneDNN does not compute in bfloat16 here")),
        (LOW, LOW[0], True, (By.ONEDNN, "it adds the bias while it writes the product")),
    ],
)
def test_a_projection_is_onednns_if_it_has_a_bias_in_bfloat16(
    rows: Tensor, bias: Tensor | None, onednn: bool, choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "onednn_multiplies_bfloat16", lambda: onednn)

    assert dispatch.linear(rows, bias) == choice


X = torch.zeros(3, 5, 64)
DIFFERENT_BATCHES = "queries, keys and values differ in their number of sentences"
EMPTY_OR_LONG = "a sentence is empty or has over 256 tokens"


@pytest.mark.parametrize(
    ("tensors", "widths", "because"),
    [
        ((X, X, X), (16, 16, 0.1), "dropout of attention weights needs the weights"),
        ((X, X.to("meta"), X), (16, 16), "compiled kernels are for the CPU"),
        ((X, X, X.double()), (16, 16), "compiled kernels take float32 and bfloat16"),
        ((X, X.bfloat16(), X), (16, 16), "queries, keys and values have different types"),
        ((X, X, X), (16, 24), "d_k or d_v is not a multiple of 16"),
        ((X, X[:2], X[:2]), (16, 16), DIFFERENT_BATCHES),
        ((X, X, X[:2]), (16, 16), DIFFERENT_BATCHES),
        ((X[:0], X[:0], X[:0]), (16, 16), "the batch has no sentence"),
        ((X, X[:, :0], X[:, :0]), (16, 16), EMPTY_OR_LONG),
        ((X.repeat(1, 52, 1), X, X), (16, 16), EMPTY_OR_LONG),
    ],
)  # fmt: skip
def test_attention_that_kernels_do_not_compute_has_its_reason(
    tensors: tuple[Tensor, Tensor, Tensor], widths: Any, because: str
) -> None:
    assert dispatch.attention(*tensors, *widths) == (By.PYTORCH, because)


def test_attention_depends_on_autocast_threads_and_dispatch_modes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_kernel = (By.NUMBA, "sentences have at most 256 tokens")
    monkeypatch.setattr(dispatch.threads, "can_divide", lambda: True)
    assert dispatch.attention(X, X, X, 16, 32) == by_kernel
    with torch.autocast("cpu", torch.bfloat16):  # which makes the types equal
        assert dispatch.attention(X, X.bfloat16(), X, 16, 32) == by_kernel
    with torch.autocast("cpu", torch.float16):
        because = dispatch.attention(X, X, X, 16, 32).because
    assert because == "compiled kernels take float32 and bfloat16"
    with FlopCounterMode(display=False):
        because = dispatch.attention(X, X, X, 16, 32).because
    assert because == "a dispatch mode watches PyTorch's operations"

    monkeypatch.setattr(dispatch.threads, "can_divide", lambda: False)
    because = dispatch.attention(X, X, X, 16, 32).because
    assert because == "PyTorch has several threads, and they are not those of GNU OpenMP"


@pytest.mark.parametrize(("tiles", "least"), [(True, 2**22), (False, 2**28)])
@pytest.mark.parametrize("share", [0.001, 0.999, 1])
def test_the_reason_of_a_small_gradient_is_the_limit_that_decides(
    share: float, tiles: bool, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "BLOCKS_PER_THREAD", 0)
    monkeypatch.setattr(dispatch, "has_amx", lambda: tiles)
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: True)
    monkeypatch.setattr(dispatch.threads, "can_divide", lambda: True)
    rows = int(share * least) // 2**11
    grad, inputs = torch.empty(rows, 2**5).bfloat16(), torch.empty(rows, 2**6).bfloat16()

    choice = dispatch.weight_gradient(grad, inputs)

    if share < 1:
        assert choice == (By.PYTORCH, f"under {least:,} scalar products")
    else:
        assert choice.by == (By.NUMBA_AMX if tiles else By.NUMBA)


@pytest.mark.parametrize(
    ("instructions", "weights", "expected"),
    [
        ("vnni and bfloat16", 2**20, {"float32", "bfloat16", "int8"}),
        ("vnni", 2**20, {"float32", "int8"}),
        ("pairs", 2**20, {"float32"}),  # fewer bits than with VNNI
        ("pairs", 2**17, {"float32", "int8"}),  # int8 is float32 there, except the vocabulary
        ("vnni and bfloat16", 2**14 - 1, {"float32"}),  # nothing is gained
        ("none", 2**20, {"float32"}),
    ],
)
def test_auto_chooses_among_precisions_that_score_as_float32(
    instructions: str, weights: int, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "has_vnni", lambda: "vnni" in instructions)
    monkeypatch.setattr(dispatch, "multiplies_bytes", lambda: instructions != "none")
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: "bfloat16" in instructions)

    def names(device: str) -> set[str]:
        where = torch.device(device)
        return {
            name for name in get_args(Precision) if dispatch.scores_as_float32(name, where, weights)
        }

    assert names("cpu") == expected
    assert names("cuda") == {"float32"}  # its scores in bfloat16 were not compared
