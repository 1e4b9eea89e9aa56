"""Threads that wait are awake while they are alone, and sleep beside others."""

import _thread
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headway.runtime import openmp_spin as module
from headway.runtime.openmp import parallel_region
from headway.runtime.openmp_spin import WaitingThreads
from headway.runtime.processes import may_fork

linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux says of threads")


class Machine:
    """A machine of two cores, where time passes when it is told so."""

    def __init__(self) -> None:
        self.now, self.waits, self.crowds = 100.0, {"3": 7.0, "5": 1.0}, 0

    def look_after(self, seconds: float, waited: float, threads: WaitingThreads) -> bool:
        self.now += seconds
        self.waits = {name: wait + waited / 2 for name, wait in self.waits.items()}
        threads.look()
        return threads.asleep


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made, others = Machine(), _thread._count()
    crowd = WaitingThreads._start_extra

    def crowded(threads: WaitingThreads) -> None:
        made.crowds += 1
        crowd(threads)

    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(module, "parallel_region", lambda: 1)
    monkeypatch.setattr(module.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(module, "_waits_for_cores", lambda: made.waits.copy())
    monkeypatch.setattr(WaitingThreads, "_start_extra", crowded)
    yield made
    monkeypatch.undo()
    end = time.monotonic() + 10
    while _thread._count() != others and time.monotonic() < end:
        time.sleep(0.01)
    assert _thread._count() == others


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
    ("platform", "cores", "used", "crowds"),
    [
        ("darwin", 2, 2, 0),
        ("linux", 1, 1, 0),
        ("linux", 2, 1, 0),
        ("linux", 2, 4, 0),
        ("linux", 5, 5, 0),
        ("linux", 2, 2, 1),
        ("linux", 3, 2, 2),
        ("linux", 4, 2, 3),  # a thread for each core, and not for what shares it
        ("linux", 4, 3, 1),
        ("linux", 4, 4, 1),
    ],
)
def test_there_are_as_many_crowds_as_it_takes(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    cores: int,
    used: int,
    crowds: int,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: used)
    with closing(WaitingThreads()) as threads:
        assert machine.look_after(2, 2, threads) == (crowds > 0)
    assert machine.crowds == crowds
    if crowds:
        assert used + crowds * (used - 1) > cores >= used + (crowds - 1) * (used - 1)


def test_other_threads_are_no_matter(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parallel_region", lambda: 0)
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(2, 2, threads)


def test_what_an_ended_thread_waited_is_forgotten(machine: Machine) -> None:
    with closing(WaitingThreads()) as threads:
        assert machine.look_after(2, 2, threads)
        del machine.waits["3"]
        assert machine.look_after(2, 2, threads)  # half of it is the other's
        machine.waits["9"] = 50.0
        assert not machine.look_after(2, 0, threads)


def test_where_no_thread_can_begin_they_wait_as_they_did(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module._thread, "start_new_thread", refuse)
    with closing(WaitingThreads()) as threads:
        assert not machine.look_after(2, 2, threads)


@linux
def test_processes_may_still_be_forked(machine: Machine) -> None:
    before = threading.active_count()  # of which others of this suite may be
    with closing(WaitingThreads()) as threads:
        assert machine.look_after(2, 2, threads)
        assert threading.active_count() == before
        assert may_fork() or before > 1


@linux
def test_a_thread_that_could_run_and_does_not_has_waited() -> None:
    task = Path("/proc/thread-self/schedstat")
    if not task.exists() or not int(task.read_text().split()[0]):
        pytest.skip("The kernel does not say how long threads wait.")
    this, allowed = str(threading.get_native_id()), os.sched_getaffinity(0)
    before, end = module._waits_for_cores()[this], time.monotonic() + 60
    os.sched_setaffinity(0, {min(allowed)})
    try:
        command = [sys.executable, "-c", "while True: pass"]
        with subprocess.Popen(command) as other:  # on the same core
            try:
                while module._waits_for_cores()[this] < before + 0.02:
                    assert time.monotonic() < end
            finally:
                other.kill()
    finally:
        os.sched_setaffinity(0, allowed)


PROGRAM = """
import time
from pathlib import Path
import torch
torch.set_num_threads(2)
from headway.runtime.openmp_spin import WaitingThreads, _extra_threads_needed
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

assert _extra_threads_needed() == 1
at_work()
awake, some = at_work(), number_of_threads()
threads = WaitingThreads()
threads._start_extra()
asleep, more = at_work(), number_of_threads()
threads.close()
for _ in range(1000):
    if number_of_threads() == some:
        break
    time.sleep(0.01)
again = at_work()
print(awake, asleep, again, more - some, number_of_threads() - some)
"""


@linux
@pytest.mark.skipif(not parallel_region(), reason="PyTorch's threads are not GCC's")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere a look takes no time")
def test_beside_another_thread_the_library_soon_lets_them_sleep() -> None:
    # The library counts the cores that it may use when PyTorch is imported.
    pair = sorted(os.sched_getaffinity(0))[:2]
    if len(pair) < 2:
        pytest.skip("There is one core, so that no thread waits for another.")
    named = {name: value for name, value in os.environ.items() if name[:4] not in ("OMP_", "GOMP")}
    program = f"import os; os.sched_setaffinity(0, {pair}){PROGRAM}"
    found = subprocess.run(
        [sys.executable, "-c", program], env=named, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    awake, asleep, again, more, left = map(float, found.stdout.split())
    assert asleep < awake / 2
    assert asleep < again / 2
    assert (more, left) == (2, 0)
