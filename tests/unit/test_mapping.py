"""Weights that stay in their file are the same weights, and come back after they were let go."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from headway.errors import BundleError
from headway.mapping import MappedTensors, map_file, read_tensors


@pytest.fixture
def tensors() -> dict[str, Tensor]:
    return {
        "a": torch.randn(3, 5),
        "b.c": torch.randn(7).bfloat16(),
        "one": torch.tensor(2.5),
        "half": torch.randn(2, 1, 4).half(),
        "double": torch.randn(2, 3).double(),
    }


@pytest.fixture
def file(tensors: dict[str, Tensor], tmp_path: Path) -> Path:
    save_file(tensors, tmp_path / "w.safetensors", {"format": "pt"})
    return tmp_path / "w.safetensors"


def mapped(file: Path) -> MappedTensors:
    return MappedTensors(file, map_file(file))


def assert_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_mapped_and_read_tensors_are_those_that_were_saved(
    file: Path, tensors: dict[str, Tensor]
) -> None:
    assert_equal(mapped(file).tensors(), tensors)
    assert_equal(read_tensors(file, file.read_bytes()), tensors)


def test_they_come_back_after_they_were_let_go(file: Path, tensors: dict[str, Tensor]) -> None:
    weights = mapped(file)
    found = weights.tensors()
    weights.let_go()

    assert_equal(found, tensors)


def test_they_outlive_the_name_of_their_file_and_changes_stay_here(
    file: Path, tensors: dict[str, Tensor]
) -> None:
    before, found = file.read_bytes(), mapped(file).tensors()

    found["a"].zero_()
    assert file.read_bytes() == before
    file.unlink()
    assert_equal(found, tensors | {"a": torch.zeros(3, 5)})


def header(**entry: object) -> bytes:
    text = json.dumps({"a": entry}).encode()
    return len(text).to_bytes(8, "little") + text + bytes(8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        b"\xff" * 40,
        header(dtype="F32", shape=[3], data_offsets=[0, 8]),
        header(dtype="F32", shape=[2], data_offsets=[-8, 0]),
        header(dtype="F32", shape=[4], data_offsets=[0, 16]),
        header(dtype="F32", shape=[2]),
        (2).to_bytes(8, "little") + b"[]",
    ],
)
def test_another_kind_of_file_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(data)

    with pytest.raises(BundleError, match=r"w is not a safetensors file\."):
        mapped(tmp_path / "w").tensors()
    mapped(tmp_path / "w").let_go()


def test_numbers_of_a_type_that_weights_do_not_have_are_named(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(header(dtype="U4", shape=[2], data_offsets=[0, 8]))
    with pytest.raises(BundleError, match=r"w holds numbers of type U4\. Save them as one"):
        mapped(tmp_path / "w").tensors()
