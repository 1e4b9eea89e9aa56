"""Small runs in processes of their own, which may be killed."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.config.run import RunConfig, dump_run_config, parse_run_config

WORDS = ["one", "two", "three", "four", "five", "six"]

# Reads one job a line and runs each in a fork of a process that has trained once: what a run
# imports, and reads from Numba's cache, takes longer than its steps. A job may kill itself before
# its n-th change of the disk.
SERVER = """
import faulthandler, json, os, resource, signal, sys, traceback
faulthandler.enable()  # where a process crashed, its stack says how
sys.modules["matplotlib"] = None  # a picture would take longer than all the rest
import torch
torch.set_num_threads(1)
from headway.config.run import load_run_config
from headway.errors import HeadwayError
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.trainer import Trainer

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}

# Ends its process at a certain step, or asks all of them to stop.
class Killer(Reporter):
    def __init__(self, step, number):
        super().__init__(quiet=True)
        self.at_step, self.number = step, number

    def step(self, step, result):
        super().step(step, result)
        if step == self.at_step:
            os.kill(os.getpid(), self.number)

# Has each process write down, after its last step, how many numbers it holds in memory.
def weigh(folder):
    run_steps = Trainer.run
    def run(trainer, waiting=None):
        finished = run_steps(trainer, waiting)
        state = trainer.optimizer.state.values()
        tensors_of = {
            "weights": list(trainer.bundle.model.parameters()),
            "moments": [value for values in state for value in values.values() if value.dim()],
            "average": list(trainer.average.model.parameters()) if trainer.average else [],
        }
        held = {
            name: sum(
                getattr(tensor, "_local_tensor", tensor).untyped_storage().nbytes() // 4
                for tensor in tensors
            )
            for name, tensors in tensors_of.items()
        }
        with open(os.path.join(folder, "held-" + os.environ.get("RANK", "0")), "w") as file:
            json.dump(held, file)
        return finished
    Trainer.run = run

def run(job):
    if job["weigh"]:
        weigh(job["weigh"])
    changes = []
    def hook(event, arguments):
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (
            os.O_WRONLY | os.O_RDWR | os.O_CREAT
        )
        if event in CHANGES or writes:
            if len(changes) == job["kill_before"]:
                os.kill(os.getpid(), signal.SIGKILL)
            changes.append(f"{event} {arguments[0]}")
    sys.addaudithook(hook)
    if job["largest_file"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"], job["largest_file"]))
    config = load_run_config(job["config"])
    resume = os.path.exists(os.path.join(job["out"], "config.toml"))
    reporter = Reporter(quiet=True)
    if job["kill_process"] == int(os.environ.get("RANK", "0")):
        reporter = Killer(job["kill_at_step"], job["number"])
    result = train(config, job["out"], resume=resume, reporter=reporter)
    done = changes.copy()
    with open(job["log"], "w") as file:
        json.dump({"finished": result.finished, "changes": done}, file)

def start(line, environment):
    child = os.fork()
    if child == 0:
        os.environ |= environment
        try:
            run(json.loads(line))
        except HeadwayError as error:
            with open(json.loads(line)["log"], "w") as file:
                json.dump({"error": str(error), "kind": type(error).__name__}, file)
            os._exit(error.exit_status)
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            os._exit(99)
        os._exit(0)
    return child

train(load_run_config(sys.argv[1]), sys.argv[2], reporter=Reporter(quiet=True))
for line in sys.stdin:
    job = json.loads(line)
    places = [{"RANK": str(rank), **job["world"]} for rank in range(job["processes"])]
    children = [start(line, place if job["processes"] > 1 else {}) for place in places]
    print(children[0], flush=True)
    statuses = {}
    while len(statuses) < len(children):
        child, status = os.wait()
        ended = {child: os.waitstatus_to_exitcode(status)}
        if ended[child] not in (0, 1):
            for other in set(children) - set(statuses) - {child}:
                found, status = os.waitpid(other, os.WNOHANG)
                if found:
                    ended[other] = os.waitstatus_to_exitcode(status)
                else:
                    os.kill(other, signal.SIGKILL)  # as torchrun would
        # Of those that ended at once, who was killed comes before who lost it.
        statuses.update(sorted(ended.items(), key=lambda item: item[1]))
    print(next((code for code in statuses.values() if code), 0), flush=True)
"""


@dataclass
class Trainings:
    """Run trainings one after another, each in a process that can be killed."""

    server: subprocess.Popen[str]
    folder: Path

    def run(
        self,
        config: RunConfig,
        out: Path,
        *,
        kill_before: int | None = None,
        kill_after_seconds: float | None = None,
        number: int = signal.SIGKILL,
        largest_file: int | None = None,
        processes: int = 1,
        kill_process: int | None = None,
        kill_at_step: int | None = None,
        weigh: Path | None = None,
    ) -> int:
        """Train, or continue, and return the exit status; -9 when the process was killed.

        With several processes it is the status of the first that failed. kill_process: send
        `number` to that one at step `kill_at_step`. weigh: a folder where each writes down what
        it holds.
        """
        path = self.folder / "config.toml"
        path.write_text(dump_run_config(config), encoding="utf-8")
        job = {
            "config": str(path),
            "out": str(out),
            "kill_before": kill_before,
            "largest_file": largest_file,
            "processes": processes,
            "kill_process": kill_process,
            "kill_at_step": kill_at_step,
            "number": number,
            "weigh": str(weigh) if weigh else None,
            "world": {
                "WORLD_SIZE": str(processes),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(_free_port()),
            },
            "log": str(self.folder / "log.json"),
        }
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(job) + "\n")
        self.server.stdin.flush()
        child = int(self.server.stdout.readline())
        timer = None
        if kill_after_seconds is not None:
            timer = threading.Timer(kill_after_seconds, _send, (child, number))
            timer.start()
        status = int(self.server.stdout.readline())
        if timer is not None:
            timer.cancel()
            timer.join()
        return status

    def log(self) -> dict[str, Any]:
        """Return what the last process that came to its end did."""
        return json.loads((self.folder / "log.json").read_text())


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


@pytest.fixture(scope="session")
def trainings(
    tmp_path_factory: pytest.TempPathFactory, make_config: Callable[..., RunConfig]
) -> Iterator[Trainings]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    folder = tmp_path_factory.mktemp("trainings")
    config = folder / "first.toml"
    config.write_text(dump_run_config(make_config()), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(config), str(folder / "first")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        yield Trainings(server, folder)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make_config(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunConfig]:
    """Return a maker of configurations of runs with dropout that take a quarter of a second."""
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(5)
    for name, count in (("train", 31), ("valid", 7)):
        lines = [[rng.choice(WORDS) for _ in range(rng.randint(1, 5))] for _ in range(count)]
        for side, order in (("source", 1), ("target", -1)):
            text = "".join(" ".join(words[::order]) + "\n" for words in lines)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")

    def make(**changes: dict[str, Any]) -> RunConfig:
        values: dict[str, dict[str, Any]] = {
            "data": {
                "directory": str(folder),
                "source": "train.source",
                "target": "train.target",
                "valid_source": "valid.source",
                "valid_target": "valid.target",
            },
            "tokenizer": {"kind": "word", "vocabulary_size": 30},
            "model": {
                "d_model": 12,
                "d_ff": 20,
                "num_heads": 2,
                "num_encoder_layers": 1,
                "num_decoder_layers": 2,
            },
            "training": {
                "max_steps": 12,
                "batch_tokens": 40,
                "accumulate": 2,
                "warmup_steps": 4,
                "validate_every_steps": 4,
                "validation_sentences": 2,
                "checkpoint_every_steps": 3,
                "average_checkpoints": 2,
                "record_every_steps": 5,
                "precision": "float32",
            },
            "decoding": {"max_extra_pieces": 3, "beam_size": 2},
        }
        for section, settings in changes.items():
            values.setdefault(section, {}).update(settings)
        return parse_run_config(values)

    return make


@pytest.fixture(scope="session")
def assert_same_run() -> Callable[[Path, Path], None]:
    return _assert_same_run


def _assert_same_run(run: Path, whole: Path) -> None:
    """Check that an interrupted run came to exactly what the uninterrupted one came to."""
    from headway.bundle import load_bundle
    from headway.training.tensor_file import read_tensors

    def files(folder: Path) -> list[str]:
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    assert files(run) == files(whole)
    for name in ("averaged", "best"):
        weights = f"{name}/model.safetensors"
        assert (run / weights).read_bytes() == (whole / weights).read_bytes()
        load_bundle(run / name)
    for name in ("source.model", "target.model", "config.toml", "data.json"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()
    for path in (run / "checkpoints").iterdir():
        tensors, values = read_tensors(path)
        expected, expected_values = read_tensors(whole / "checkpoints" / path.name)
        assert _without_time(values) == _without_time(expected_values)
        assert tensors.keys() == expected.keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, expected[name]), name
    assert _records(run / "metrics.jsonl") == _records(whole / "metrics.jsonl")
    assert _records(run / "report.json", whole=True) == _records(whole / "report.json", whole=True)


@pytest.fixture(scope="session")
def assert_alike() -> Callable[[Path, Path], None]:
    return _assert_alike


def _of_kind(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def _assert_alike(run: Path, other: Path) -> None:
    """Check that two runs differ by rounding alone, in every step and in the end."""
    from headway.bundle import load_bundle

    steps, expected = _of_kind(run, "step"), _of_kind(other, "step")
    assert [step["step"] for step in steps] == [step["step"] for step in expected]
    assert [s["loss"] for s in steps] == pytest.approx([s["loss"] for s in expected], rel=1e-5)
    for one, two in zip(_of_kind(run, "validation"), _of_kind(other, "validation"), strict=True):
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-5)
        assert one["scores"] == two["scores"]
    reports = [json.loads((folder / "report.json").read_text()) for folder in (run, other)]
    assert reports[0]["valid"] == reports[1]["valid"]
    weights = [load_bundle(folder / "averaged").model.state_dict() for folder in (run, other)]
    for name, tensor in weights[0].items():
        if name.endswith("w_k.bias"):
            continue  # softmax does not see it: its gradient is rounding, which Adam makes large
        torch.testing.assert_close(tensor, weights[1][name], rtol=1e-4, atol=1e-5)


def _records(path: Path, *, whole: bool = False) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    return [_without_time(json.loads(part)) for part in ([text] if whole else text.splitlines())]


_OF_TIME_AND_MEMORY = {
    "seconds",
    "trained_on",
    "target_tokens_per_second",
    "step_seconds",
    "peak_memory",
    "estimate",
}


def _without_time(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: _without_time(inner) for key, inner in value.items() if key not in _OF_TIME_AND_MEMORY
    }
