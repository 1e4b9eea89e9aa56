"""A checkpoint brings everything back: weights, optimizer, position."""

import copy
import errno
from pathlib import Path

import pytest
import torch

from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.errors import RunError
from headway.model.transformer import Transformer
from headway.training.averaging import save_snapshot
from headway.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.tensor_file import read_tensors, write_tensors
from headway.training.update import TrainingStep

PROGRESS = Progress(7, 2, 3, 411, 1.25, -0.1, 4, 1, [4, 6], "bfloat16")


def make_step(model: Transformer) -> TrainingStep:
    schedule = Schedule("constant", 0.01, 1, 9)
    objective = Objective(model, 0.1, "float32")
    return TrainingStep(objective, build_optimizer(model), schedule, clip_norm=None)


@pytest.fixture
def trained(model: Transformer, pairs: list[EncodedPair]) -> TrainingStep:
    step = make_step(model)
    for number in (1, 2):
        step(number, [collate(pairs)])
    return step


def test_weights_optimizer_and_progress_come_back(tmp_path: Path, trained: TrainingStep) -> None:
    save_checkpoint(tmp_path / "x", trained.model, trained.optimizer, PROGRESS)
    other = make_step(copy.deepcopy(trained.model))
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.zero_()

    progress = load_checkpoint(tmp_path / "x", other.model, other.optimizer)

    assert progress == PROGRESS
    for one, two in zip(trained.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(one, two)
    old, new = trained.optimizer.state_dict()["state"], other.optimizer.state_dict()["state"]
    assert old.keys() == new.keys()
    for index in old:
        assert old[index].keys() == new[index].keys() == {"step", "exp_avg", "exp_avg_sq"}
        for key in old[index]:
            assert old[index][key].dtype == new[index][key].dtype
            assert torch.equal(old[index][key], new[index][key])


def test_the_next_update_is_the_same_bit_for_bit(
    tmp_path: Path, trained: TrainingStep, pairs: list[EncodedPair]
) -> None:
    save_checkpoint(tmp_path / "x", trained.model, trained.optimizer, PROGRESS)
    trained(3, [collate(pairs)])
    other = make_step(copy.deepcopy(trained.model))

    load_checkpoint(tmp_path / "x", other.model, other.optimizer)
    other(3, [collate(pairs)])

    for one, two in zip(trained.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_checkpoint_before_the_first_update_comes_back(
    tmp_path: Path, model: Transformer
) -> None:
    optimizer = build_optimizer(model)
    save_checkpoint(tmp_path / "x", model, optimizer, Progress())

    assert load_checkpoint(tmp_path / "x", model, optimizer) == Progress()
    assert not optimizer.state


def test_a_full_disk_leaves_the_last_good_checkpoint(
    tmp_path: Path, trained: TrainingStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "last.safetensors"
    save_checkpoint(path, trained.model, trained.optimizer, PROGRESS)
    good = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match=r"last\.safetensors.*No space left.*unchanged"):
        save_checkpoint(path, trained.model, trained.optimizer, Progress(step=8))

    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_checkpoint_is_refused_and_changes_nothing(
    tmp_path: Path, trained: TrainingStep
) -> None:
    path = tmp_path / "x"
    save_checkpoint(path, trained.model, trained.optimizer, PROGRESS)
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with torch.no_grad():
        for parameter in trained.model.parameters():
            parameter.fill_(0.5)

    with pytest.raises(RunError, match="has changed since it was written"):
        load_checkpoint(path, trained.model, trained.optimizer)

    assert all((parameter == 0.5).all() for parameter in trained.model.parameters())


def test_weights_alone_are_no_checkpoint(tmp_path: Path, trained: TrainingStep) -> None:
    save_snapshot(tmp_path, 2, trained.model)

    with pytest.raises(RunError, match="is not a checkpoint"):
        load_checkpoint(tmp_path / "weights-00000002.safetensors", trained.model, trained.optimizer)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path, trained: TrainingStep) -> None:
    save_checkpoint(tmp_path / "x", trained.model, trained.optimizer, PROGRESS)
    other = torch.nn.Linear(2, 3)

    with pytest.raises(RunError, match=r"of another model.*weights lack"):
        load_checkpoint(tmp_path / "x", other, build_optimizer(other))


def test_a_checkpoint_of_the_order_without_blocks_is_refused(
    tmp_path: Path, trained: TrainingStep
) -> None:
    save_checkpoint(tmp_path / "x", trained.model, trained.optimizer, PROGRESS)
    tensors, values = read_tensors(tmp_path / "x")
    del values["progress"]["block"]
    write_tensors(tmp_path / "x", tensors, values)

    with pytest.raises(RunError, match="of an earlier version"):
        load_checkpoint(tmp_path / "x", trained.model, trained.optimizer)
