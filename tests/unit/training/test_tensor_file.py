"""Tensors come back as they were, and a file that is not whole is refused."""

import errno
import os
import signal
import time
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from headway.errors import RunError
from headway.training.estimate import forget_peak, peak_memory
from headway.training.tensor_file import read_tensors, write_tensors

CPU = torch.device("cpu")
TENSORS = {
    "half": torch.tensor([[1.5, -2.0, 0.1]], dtype=torch.bfloat16),
    "whole": torch.arange(6).reshape(2, 3),
    "one": torch.tensor(0.1, dtype=torch.float64),
    "none": torch.empty(0, 4),
}
VALUES = {"step": 7, "score": 0.1 + 0.2, "nothing": None, "list": [1, 2], "한국어": "값"}


def test_tensors_and_values_come_back_as_they_were(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", TENSORS, VALUES)

    tensors, values = read_tensors(tmp_path / "x")

    assert values == VALUES
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_equal_content_is_equal_bytes(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", TENSORS, VALUES)
    write_tensors(tmp_path / "y", dict(reversed(TENSORS.items())), VALUES)

    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_a_transposed_tensor_is_written_in_its_own_order(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", {"a": TENSORS["whole"].T})

    assert torch.equal(read_tensors(tmp_path / "x")[0]["a"], TENSORS["whole"].T)


@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(
    position: float, bit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("flip") / "x"
    write_tensors(path, TENSORS, VALUES)
    data = bytearray(path.read_bytes())
    data[int(position * len(data))] ^= 1 << bit
    path.write_bytes(data)

    with pytest.raises(RunError, match=r"cannot be read|has changed"):
        read_tensors(path)


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_is_refused(
    share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x"
    write_tensors(path, TENSORS, VALUES)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    with pytest.raises(RunError, match="cannot be read"):
        read_tensors(path)


def test_writing_takes_no_second_copy(tmp_path: Path) -> None:
    tensors = {"a": torch.ones(20_000_000), "b": torch.ones(5_000_000, dtype=torch.float64)}
    forget_peak(CPU)
    before = peak_memory(CPU)

    write_tensors(tmp_path / "x", tensors)

    assert (tmp_path / "x").stat().st_size > 120_000_000
    assert peak_memory(CPU) - before < 30_000_000


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="gone cannot be read"):
        read_tensors(tmp_path / "gone")


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "x")

    with pytest.raises(RunError, match="has changed since it was written"):
        read_tensors(tmp_path / "x")


def test_a_full_disk_leaves_the_earlier_file_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_tensors(path, {"a": torch.ones(3)})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"No space left on device.*free some space"):
        write_tensors(path, {"a": torch.zeros(3)})

    assert torch.equal(read_tensors(path)[0]["a"], torch.ones(3))
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


# Between the opening of a file and what closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_reading_is_not_taken_for_damage(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x", {f"t{number}": torch.randn(4, 5) for number in range(60)})
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupted = 0
    try:
        for number in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 5e-6 * number)
                end = time.monotonic() + 1  # Python drops what is raised while it frees an object
                while time.monotonic() < end:
                    read_tensors(tmp_path / "x")
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted >= 180
