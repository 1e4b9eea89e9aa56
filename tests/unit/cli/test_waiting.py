"""Threads that wait sleep, where the library that holds them can still be told so."""

import os
import subprocess
import sys

import pytest

from headway.cli.waiting import let_waiting_threads_sleep

linux = pytest.mark.skipif(sys.platform != "linux", reason="a setting of GCC's OpenMP")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    variables: dict[str, str] = {"HOME": "/"}
    monkeypatch.setattr(os, "environ", variables)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return variables


def test_on_few_cores_they_sleep_soon(environment: dict[str, str]) -> None:
    let_waiting_threads_sleep()
    assert environment["GOMP_SPINCOUNT"] == "1000"


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"])
def test_what_a_person_has_chosen_stays(environment: dict[str, str], name: str) -> None:
    environment[name] = "active"
    before = environment.copy()
    let_waiting_threads_sleep()
    assert environment == before


@pytest.mark.parametrize(("platform", "cores"), [("linux", 5), ("darwin", 2)])
def test_elsewhere_nothing_is_said(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, platform: str, cores: int
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    let_waiting_threads_sleep()
    assert "GOMP_SPINCOUNT" not in environment


def answer_of(program: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an environment that says nothing about waiting."""
    unset = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
    named = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(
        [sys.executable, "-c", program, *command],
        env=named | {"OMP_DISPLAY_ENV": "verbose"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@linux
def test_the_library_reads_what_is_said() -> None:
    # It prints what it has read when PyTorch was imported, and not later.
    program = (
        "import os; os.sched_getaffinity = lambda _: {0}; from headway.cli import main; main()"
    )
    found = answer_of(program, "train")
    assert "GOMP_SPINCOUNT = '1000'" in found.stderr
    assert found.returncode == 2  # no text was given


@linux
def test_every_command_that_trains_says_it_before_pytorch_is_there() -> None:
    program = """
import os, sys
from headway.cli import main
os.sched_getaffinity = lambda _: {0}
sys.modules["torch"] = None
for command in (["train"], ["check"], ["demo"], ["bench", "train"]):
    os.environ.pop("GOMP_SPINCOUNT", None)
    try:
        main(command)
    except SystemExit as end:
        assert end.code == 1, command
    assert os.environ["GOMP_SPINCOUNT"] == "1000", command
"""
    found = answer_of(program)
    assert found.returncode == 0, found.stderr
    assert found.stderr.count("import of torch halted") == 4
