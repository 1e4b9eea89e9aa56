"""Several processes give what one gives, in order, and end with the one that began them."""

import errno
import gc
import multiprocessing.context
import multiprocessing.synchronize
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from headway.errors import DataError, HeadwayError
from headway.runtime import processes
from headway.runtime.processes import ending_is_named, mapped, trim_heap

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="forked on Linux only")


def squared(number: int) -> tuple[int, int]:
    if number % 3 == 0:
        time.sleep(0.002)  # so that later ones are done first
    return number**2, os.getpid()


@linux_only
@pytest.mark.parametrize("count", [4, 5, 37])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    found = list(mapped(squared, iter(range(count)), 2))

    assert [square for square, _ in found] == [number**2 for number in range(count)]
    workers = {worker for _, worker in found}
    assert len(workers) == 2
    assert os.getpid() not in workers


@pytest.mark.parametrize(("count", "processes"), [(0, 2), (3, 2), (9, 1)])
def test_few_items_are_worked_on_here(count: int, processes: int) -> None:
    found = list(mapped(squared, range(count), processes))

    assert found == [(number**2, os.getpid()) for number in range(count)]


@linux_only
def test_items_are_asked_for_as_they_are_needed() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    results = mapped(squared, items(), 2)
    next(results)

    assert len(asked) < 20
    results.close()  # type: ignore[attr-defined]


@linux_only
@pytest.mark.parametrize("refused", ["Lock", "Process"])
@pytest.mark.parametrize("allowed", [0, 1])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_where_the_system_refuses_others_this_process_does_all(
    refused: str, allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system may have no semaphores, or no more descriptors or memory for a process."""
    made = []
    original = multiprocessing.context.Process.start

    def refuse(self: object, *arguments: object, **options: object) -> None:
        if len(made) == allowed:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        made.append(self)
        if refused == "Process":
            original(self)

    if refused == "Lock":
        monkeypatch.setattr(multiprocessing.synchronize.SemLock, "__init__", refuse)
    else:
        monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", refuse)
    children = multiprocessing.active_children()

    results = list(mapped(squared, iter(range(20)), 2))
    gc.collect()

    assert results == [(number**2, os.getpid()) for number in range(20)]
    assert multiprocessing.active_children() == children


@linux_only
def test_random_numbers_of_a_run_stay_as_they_are() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)

    list(mapped(squared, range(10), 2))

    assert torch.equal(torch.rand(3), expected)


@linux_only
def test_what_is_raised_for_an_item_is_raised_here() -> None:
    def refuse(number: int) -> int:
        if number == 7:
            raise DataError("The line is odd.", "Mend it.")
        return number

    def odd() -> Iterator[int]:
        yield from range(6)
        raise DataError("The file ends early.", "Copy it again.")

    with pytest.raises(DataError, match="The line is odd"):
        list(mapped(refuse, range(10), 2))
    with pytest.raises(DataError, match="The file ends early"):
        list(mapped(refuse, odd(), 2))


@linux_only
def test_a_process_that_is_killed_is_named() -> None:
    def die(number: int) -> int:
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(HeadwayError, match=r"was ended.*OMP_NUM_THREADS=1"), ending_is_named():
        list(mapped(die, range(10), 2))


def test_other_errors_keep_their_names() -> None:
    with pytest.raises(RuntimeError, match="something else"), ending_is_named():
        raise RuntimeError("something else")


@linux_only
def test_processes_end_with_the_one_that_began_them_even_if_it_is_killed() -> None:
    program = """if True:
        import os, sys, time
        from headway.runtime.processes import mapped
        def work(number):
            time.sleep(0.05)
            return os.getpid()
        for worker in mapped(work, range(10_000), 2):
            print(worker, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        workers = {int(parent.stdout.readline()) for _ in range(4)}
        parent.kill()

    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while any(map(_is_there, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _is_there(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nothing_is_forked_beside_another_thread() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not processes.may_fork()
        assert processes.cores() == 1
    finally:
        stop.set()
        thread.join()


@linux_only
def test_as_many_processes_as_threads_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "may_fork", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5, 7})
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert processes.cores() == 3
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    assert processes.cores() == 4


def test_the_heap_is_trimmed_where_the_system_can_and_never_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "headway.runtime.processes.ctypes.CDLL", lambda _: SimpleNamespace(malloc_trim=asked.append)
    )
    trim_heap()
    assert asked == [0]
    monkeypatch.setattr("headway.runtime.processes.ctypes.CDLL", lambda _: SimpleNamespace())
    trim_heap()


FORK = """
import os
import torch
import headway.runtime.processes

torch.set_num_threads(2)
x = torch.randn(600, 600)
x @ x  # begins the threads
child = os.fork()
if child == 0:
    os._exit(int((x @ x).shape != (600, 600)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@linux_only
def test_a_child_that_somebody_forks_can_compute() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=100, check=False
    )

    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
