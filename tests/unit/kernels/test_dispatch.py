"""The choice of an implementation, and its reason; an unusable Numba is reported once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from headway.errors import HeadwayWarning
from headway.kernels import dispatch
from headway.kernels.dispatch import By, has_numba

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
        dispatch.best_pieces(cpu),
    ]
    assert {choice.by for choice in choices} == {By.PYTORCH}
    assert {choice.because for choice in choices} == {"Numba is not installed, or cannot be used"}


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("weights", [1, 2**14, 2**17, 2**17 + 1])
@pytest.mark.parametrize("fine", [True, False])
@pytest.mark.parametrize("instructions", ["none", "pairs", "vnni", "vnni and bfloat16"])
def test_the_numba_backend_multiplies_only_by_instructions_that_exist(
    precision: str, weights: int, fine: bool, instructions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "has_vnni", lambda: "vnni" in instructions)
    monkeypatch.setattr(dispatch, "has_byte_pairs", lambda: instructions == "pairs")
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: "bfloat16" in instructions)
    by = dispatch.compiled_linear(precision, weights, fine=fine).by

    if by is By.NUMBA_INT8:
        assert precision == "int8"
        assert instructions != "none"
        assert weights > 2**17 or (instructions == "vnni" and weights >= 2**14)
        assert not (fine and "bfloat16" in instructions)
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


def test_only_a_decoder_of_equal_layers_with_relu_is_one_call() -> None:
    facts = dict.fromkeys(("compiled", "relu", "one_size", "one_epsilon", "one_kind"), True)
    assert dispatch.decoder_step(**facts).by is By.NUMBA_WHOLE
    for name in facts:
        assert dispatch.decoder_step(**facts | {name: False}).by is By.SEPARATE
