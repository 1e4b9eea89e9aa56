"""Threads that wait are awake while they are alone, and sleep beside others."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from headway.processes import may_fork
from headway.training import waiting as module
from headway.training.waiting import WaitingThreads

linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux says of threads")


class Machine:
    """A machine of two cores, where time passes when it is told so."""

    def __init__(self) -> None:
        self.now, self.waited, self.crowds = 100.0, 7.0, 0

    def look_after(self, seconds: float, waited: float, threads: WaitingThreads) -> bool:
        self.now, self.waited = self.now + seconds, self.waited + waited
        threads.look()
        return threads.asleep


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    crowd = module._crowd

    def crowded() -> object:
        made.crowds += 1
        return crowd()

    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(module.threads, "can_divide", lambda: True)
    monkeypatch.setattr(module.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(module, "_waited_for_cores", lambda: made.waited)
    monkeypatch.setattr(module, "_crowd", crowded)
    yield made
    assert threading.active_count() == 1


def test_they_sleep_while_others_want_the_processor(machine: Machine) -> None:
    with closing(WaitingThreads()) as threads:
        shares = [0.02, 0.2, 0.6, 0.7, 0.2, 0.05, 0.2, 0.3]
        found = [machine.look_after(2, 2 * share, threads) for share in shares]
        assert found == [False, False, True, True, True, False, False, True]
    assert not threads.asleep
    assert machine.crowds == 2


def test_a_look_takes_its_time(machine: Machine) -> None:
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(0.1, 0.1, threads)
        assert machine.look_after(0.5, 0.1, threads)  # 0.2 of 0.6 seconds
        assert machine.look_after(0.1, 0, threads)
        assert not machine.look_after(0.5, 0, threads)


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"])
def test_what_a_person_has_chosen_stays(machine: Machine, name: str) -> None:
    os.environ[name] = "active"
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(2, 2, threads)


@pytest.mark.parametrize(
    ("platform", "cores", "used"),
    [("darwin", 2, 2), ("linux", 5, 5), ("linux", 1, 1), ("linux", 4, 2)],
)
def test_elsewhere_they_wait_as_they_did(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, platform: str, cores: int, used: int
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: used)
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(2, 2, threads)


def test_other_threads_are_no_matter(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.threads, "can_divide", lambda: False)
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(2, 2, threads)


@linux
def test_processes_may_still_be_forked(machine: Machine) -> None:
    with closing(WaitingThreads()) as threads:
        assert machine.look_after(2, 2, threads)
        assert may_fork()


@linux
def test_a_thread_that_could_run_and_does_not_has_waited() -> None:
    before = module._waited_for_cores()
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        command = [sys.executable, "-c", "while True: pass"]
        with subprocess.Popen(command) as other:  # on the same core
            try:
                for _ in range(20_000_000):
                    if module._waited_for_cores() > before + 0.02:
                        break
                else:
                    pytest.fail("Nothing was waited for.")
            finally:
                other.kill()
    finally:
        os.sched_setaffinity(0, allowed)


PROGRAM = """
import os, time
from pathlib import Path
import torch
torch.set_num_threads(2)
os.sched_getaffinity = lambda _: {0, 1}
from headway.training import waiting
numbers = torch.zeros(2**18)

def at_work():
    "Return how long its threads run while an operation is made from time to time."
    before = time.process_time()
    for _ in range(20):
        numbers.add_(1)
        time.sleep(0.05)
    return time.process_time() - before

def number_of_threads():
    return len(list(Path("/proc/self/task").iterdir()))

assert waiting._can_choose()
at_work()
awake, threads = at_work(), number_of_threads()
crowd = waiting._crowd()
asleep, more = at_work(), number_of_threads()
crowd.release()
for _ in range(1000):
    if number_of_threads() == threads:
        break
    time.sleep(0.01)
again = at_work()
print(awake, asleep, again, more - threads, number_of_threads() - threads)
"""


@linux
def test_beside_another_thread_the_library_soon_lets_them_sleep() -> None:
    unset = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS", "GOMP_CPU_AFFINITY"}
    named = {name: value for name, value in os.environ.items() if name not in unset}
    # The library counts the cores that it may use when PyTorch is imported.
    pair = sorted(os.sched_getaffinity(0))[:2]
    if len(pair) < 2:
        pytest.skip("There is one core, so that no thread waits for another.")
    program = f"import os; os.sched_setaffinity(0, {pair}){PROGRAM}"
    found = subprocess.run(
        [sys.executable, "-c", program], env=named, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    awake, asleep, again, more, left = map(float, found.stdout.split())
    assert asleep < awake / 2
    assert asleep < again / 2
    assert (more, left) == (2, 0)
