"""The average is the mean of the kept files, and only those are kept."""

from pathlib import Path

import pytest
import torch

from headway.errors import RunError
from headway.model.transformer import Transformer
from headway.training.averaging import (
    average_snapshots,
    prune_snapshots,
    save_snapshot,
    snapshot_path,
)
from headway.training.tensor_file import write_tensors


def write(folder: Path, step: int, value: float) -> None:
    tensors = {"w": torch.full((2, 3), value), "b": torch.tensor([value, -value])}
    write_tensors(snapshot_path(folder, step), tensors)


def test_the_mean_of_three_known_files(tmp_path: Path) -> None:
    for step, value in ((4, 1.0), (8, 2.0), (12, 6.0), (16, 1000.0)):
        write(tmp_path, step, value)

    mean = average_snapshots(tmp_path, [4, 8, 12])

    assert torch.equal(mean["w"], torch.full((2, 3), 3.0))
    assert torch.equal(mean["b"], torch.tensor([3.0, -3.0]))


def test_the_average_of_one_file_is_that_file(tmp_path: Path, model: Transformer) -> None:
    save_snapshot(tmp_path, 3, model)

    mean = average_snapshots(tmp_path, [3])

    assert mean.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert torch.equal(mean[name], parameter)


def test_small_differences_survive_the_sum(tmp_path: Path) -> None:
    # In float32 2^24 + 1 is 2^24, so a float32 sum of these four would be 2^24 / 4.
    for step, value in enumerate((2.0**24, 1.0, 1.0, 2.0)):
        write(tmp_path, step, value)

    assert average_snapshots(tmp_path, [0, 1, 2, 3])["b"][0] == 2.0**22 + 1


def test_other_weights_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for step in (4, 8, 12):
        write(tmp_path, step, 1.0)
    (tmp_path / "last.safetensors").touch()

    prune_snapshots(tmp_path, [8, 12])

    assert {path.name for path in tmp_path.iterdir()} == {
        "weights-00000008.safetensors",
        "weights-00000012.safetensors",
        "last.safetensors",
    }


def test_missing_weights_are_named(tmp_path: Path) -> None:
    write(tmp_path, 4, 1.0)

    with pytest.raises(RunError, match=r"weights-00000005\.safetensors cannot be read"):
        average_snapshots(tmp_path, [4, 5])


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    write(tmp_path, 4, 1.0)
    path = snapshot_path(tmp_path, 4)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")

    with pytest.raises(RunError, match="has changed"):
        average_snapshots(tmp_path, [4])
