"""A Numba that cannot be used is left aside, and said once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from headway.errors import HeadwayWarning
from headway.kernels.arrays import can_loop, has_numba

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    has_numba.cache_clear()
    yield
    has_numba.cache_clear()


@pytest.mark.parametrize("kind", [ImportError, OSError, SystemError, AttributeError])
def test_a_numba_that_cannot_be_imported_is_named_once(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise kind("Numba needs another NumPy")

    monkeypatch.setattr("headway.kernels.arrays.import_module", fail)

    with pytest.warns(HeadwayWarning, match=r"cannot be used \(Numba needs another NumPy\)"):
        assert not has_numba()
    assert not can_loop(torch.zeros(2))  # a second warning would be an error


def test_a_numba_that_compiles_nothing_is_not_used(tmp_path: Path) -> None:
    program = """
import warnings, os
os.environ["NUMBA_DISABLE_JIT"] = "1"
from headway.kernels.arrays import has_numba
with warnings.catch_warnings(record=True) as caught:
    assert not has_numba()
assert "the environment variable NUMBA_DISABLE_JIT is set" in str(caught[0].message)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
