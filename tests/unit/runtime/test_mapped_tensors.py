"""Weights that stay in their file are the same weights, and come back after they were let go."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save, save_file
from torch import Tensor

from headway.errors import BundleError
from headway.runtime.mapped_tensors import MappedTensors, map_file, read_tensors, safetensors_parts


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


KINDS = [
    *(torch.int64, torch.float64, torch.float32, torch.int32),
    *(torch.bfloat16, torch.float16, torch.uint8, torch.bool),
]
SHAPES = st.lists(st.integers(0, 4), max_size=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)


@given(
    st.dictionaries(TEXTS, st.tuples(st.sampled_from(KINDS), SHAPES), max_size=9),
    # With several, safetensors has no order that stays.
    st.none() | st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=1),
)
def test_a_file_in_parts_is_the_one_that_safetensors_makes(
    found: dict[str, tuple[torch.dtype, list[int]]], metadata: dict[str, str] | None
) -> None:
    tensors = {
        name: (1 + torch.arange(torch.Size(shape).numel())).view(shape).to(kind)
        for name, (kind, shape) in found.items()
    }
    assert b"".join(safetensors_parts(tensors, metadata)) == save(tensors, metadata)


def test_parts_are_the_tensors_themselves() -> None:
    tensor = torch.randn(5, 3)

    _, part = safetensors_parts({"a": tensor})

    assert torch.frombuffer(part, dtype=torch.float32).data_ptr() == tensor.data_ptr()


def test_what_would_not_be_read_is_not_written() -> None:
    with pytest.raises(BundleError, match=r"b holds numbers of type complex64\..*Save them as"):
        list(safetensors_parts({"a": torch.ones(2), "b": torch.ones(3, dtype=torch.complex64)}))
