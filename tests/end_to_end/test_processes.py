"""Several processes make the run that one makes, and what becomes of one that dies."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from headway.bundle import load_bundle
from headway.config.run import RunConfig, dump_run_config

if TYPE_CHECKING:
    Trainings = Any

MakeConfig = Callable[..., RunConfig]
SameRun = Callable[[Path, Path], None]
AssertAlike = Callable[[Path, Path], None]

EVERY_STEP = {"record_every_steps": 1}


@pytest.fixture(scope="module")
def four_parts(make_config: MakeConfig) -> RunConfig:
    return make_config(training=EVERY_STEP | {"parts": 4, "batch_tokens": 30})


@pytest.fixture(scope="module")
def alone(
    trainings: "Trainings", four_parts: RunConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "run"
    assert trainings.run(four_parts, folder) == 0
    return folder


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_any_number_of_processes_makes_the_same_run_with_the_same_dropout(
    trainings: "Trainings",
    four_parts: RunConfig,
    alone: Path,
    assert_alike: AssertAlike,
    tmp_path: Path,
    processes: int,
) -> None:
    assert trainings.run(four_parts, tmp_path / "run", processes=processes) == 0

    assert_alike(tmp_path / "run", alone)


def test_two_parts_on_two_processes_are_the_same_bits_as_on_one(
    trainings: "Trainings", make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(training=EVERY_STEP | {"parts": 2, "accumulate": 1, "clip_norm": 0.7})
    assert trainings.run(config, tmp_path / "one") == 0

    assert trainings.run(config, tmp_path / "two", processes=2) == 0

    one, two = (
        load_bundle(tmp_path / run / "averaged").model.state_dict() for run in ("one", "two")
    )
    for name, tensor in one.items():
        assert torch.equal(tensor, two[name]), name
    reports = [json.loads((tmp_path / run / "report.json").read_text()) for run in ("one", "two")]
    assert reports[0]["valid"] == reports[1]["valid"]


def test_without_dropout_parts_do_not_matter(
    trainings: "Trainings",
    make_config: MakeConfig,
    assert_alike: AssertAlike,
    tmp_path: Path,
) -> None:
    config = make_config(training=EVERY_STEP | {"clip_norm": 0.5}, model={"dropout": 0.0})
    assert trainings.run(config, tmp_path / "one") == 0

    assert trainings.run(config, tmp_path / "two", processes=2) == 0

    assert_alike(tmp_path / "two", tmp_path / "one")


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)], ids=["stop", "kill"]
)
def test_processes_that_end_and_go_on_come_to_the_same_bytes(
    trainings: "Trainings",
    make_config: MakeConfig,
    assert_same_run: SameRun,
    tmp_path: Path,
    processes: int,
    number: int,
    status: int,
) -> None:
    config = make_config()
    assert trainings.run(config, tmp_path / "whole", processes=processes) == 0

    ended = trainings.run(
        config,
        tmp_path / "run",
        processes=processes,
        kill_process=processes - 1,
        kill_at_step=7,
        number=number,
    )
    assert ended == status
    assert not (tmp_path / "run" / "report.json").exists()
    assert (tmp_path / "run" / "encoded").is_dir()
    assert trainings.run(config, tmp_path / "run", processes=processes) == 0

    assert not (tmp_path / "run" / "encoded").exists()
    assert_same_run(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (2, 3)])
def test_another_number_of_processes_continues_the_same_run(
    trainings: "Trainings",
    four_parts: RunConfig,
    alone: Path,
    assert_alike: AssertAlike,
    tmp_path: Path,
    before: int,
    after: int,
) -> None:
    killed = {"kill_process": 0, "kill_at_step": 5}
    assert trainings.run(four_parts, tmp_path / "run", processes=before, **killed) == -9

    assert trainings.run(four_parts, tmp_path / "run", processes=after) == 0

    assert_alike(tmp_path / "run", alone)


def test_a_fine_tune_with_new_pieces_and_a_moving_average_does_not_depend_on_processes(
    trainings: "Trainings",
    make_config: MakeConfig,
    assert_alike: AssertAlike,
    tmp_path: Path,
) -> None:
    assert trainings.run(make_config(training={"max_steps": 2}), tmp_path / "old") == 0
    start = {"start_from": str(tmp_path / "old"), "ema_decay": 0.7}
    config = make_config(
        training=EVERY_STEP | start, tokenizer={"new_pieces": ["<2ko>"]}, model={"dropout": 0.0}
    )
    assert trainings.run(config, tmp_path / "one") == 0

    assert trainings.run(config, tmp_path / "two", processes=2) == 0

    assert_alike(tmp_path / "two", tmp_path / "one")
    assert load_bundle(tmp_path / "two").source_tokenizer.piece(10) == "▁<2ko>"


def test_mixing_sampling_and_kept_text_continue_bit_for_bit_after_a_kill(
    trainings: "Trainings", make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path
) -> None:
    corpora = [
        {"source": "tra*.source", "target": "tra*.target", "tag": "<back>", "weight": 0.7},
        {"source": "valid.source", "target": "valid.target", "reverse": True, "weight": 3.0},
    ]
    kept = str(tmp_path / "kept")
    config = make_config(
        data={"source": "", "target": "", "corpora": corpora, "shards": kept},
        tokenizer={"kind": "unigram", "vocabulary_size": 22, "sampling": 0.3},
    )
    assert trainings.run(config, tmp_path / "whole", processes=2) == 0

    for process, step in ((1, 4), (0, 8)):
        killed = {"kill_process": process, "kill_at_step": step}
        assert trainings.run(config, tmp_path / "run", processes=2, **killed) == -9
    assert trainings.run(config, tmp_path / "run", processes=2) == 0

    assert_same_run(tmp_path / "run", tmp_path / "whole")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def torchrun(folder: Path, processes: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Start them in the folder, and once more if one of them fails."""
    module = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [*module, f"--nproc-per-node={processes}", "--max-restarts=1", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


DIES_ONCE = """
import os, signal, sys
sys.modules["matplotlib"] = None  # a picture would take longer than all the rest
from headway.config.run import load_run_config
from headway.training.reporting import Reporter
from headway.training.run import train

class Dying(Reporter):
    def step(self, step, result):
        super().step(step, result)
        if step == 7 and os.environ["RANK"] + os.environ["TORCHELASTIC_RESTART_COUNT"] == "10":
            os.kill(os.getpid(), signal.SIGKILL)

train(load_run_config(sys.argv[1]), sys.argv[2], reporter=Dying(quiet=True))
"""


def test_torchrun_replaces_a_process_that_dies(
    trainings: "Trainings", make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path
) -> None:
    config = make_config()
    assert trainings.run(config, tmp_path / "whole", processes=2) == 0
    (tmp_path / "config.toml").write_text(dump_run_config(config), encoding="utf-8")
    (tmp_path / "train.py").write_text(DIES_ONCE, encoding="utf-8")

    ended = torchrun(tmp_path, 2, "train.py", "config.toml", "run")

    assert ended.returncode == 0, ended.stderr
    assert "exitcode: -9" in ended.stderr, "the process did not die"
    assert_same_run(tmp_path / "run", tmp_path / "whole")


SUMS_AND_LEAVES = """
import torch, torch.distributed as dist
from headway.training.distributed import joined

class Node:
    pass

def meet():
    with joined(torch.device("cpu")):
        node = Node()  # refers to the group in a cycle, as DistributedDataParallel does
        node.own, node.group = node, dist.group.WORLD
        for _ in range(20):
            values = torch.ones(2)
            dist.all_reduce(values)
            del values  # the last to hold it may be a thread of the group

meet()
"""


def test_processes_end_without_an_abort(tmp_path: Path) -> None:
    (tmp_path / "meet.py").write_text(SUMS_AND_LEAVES, encoding="utf-8")
    ended = torchrun(tmp_path, 4, "meet.py")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("processes", [1, 2])
def test_torchrun_does_not_take_a_run_that_was_there_for_its_own(
    trainings: "Trainings", make_config: MakeConfig, tmp_path: Path, processes: int
) -> None:
    config = make_config()
    assert trainings.run(config, tmp_path / "run", kill_process=0, kill_at_step=7) == -9
    (tmp_path / "config.toml").write_text(dump_run_config(config), encoding="utf-8")
    before = contents(tmp_path / "run")

    ended = torchrun(tmp_path, processes, "-m", "headway", "train", "config.toml", "--out", "run")

    assert ended.returncode != 0
    assert ended.stderr.count("holds another run already") == 2, ended.stderr
    assert "fault of Headway" not in ended.stderr  # what is refused is none, in no process
    assert contents(tmp_path / "run") == before
