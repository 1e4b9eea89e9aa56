"""Workers that live on do what new ones would, and are gone when nobody has work for them."""

import copy
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

from headway.decoding import worker_pool
from headway.decoding.attention import AttentionReader
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search, search_all
from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import Search
from headway.decoding.workers import search_with_workers
from headway.errors import DataError, HeadwayError
from headway.model.transformer import Transformer

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are forked on Linux only"
)
REQUESTS = [Request([4 + (i * j) % 17 for j in range(1, 3 + i % 7)] + [3], 9) for i in range(60)]
others: set[BaseProcess] = set()


@pytest.fixture(autouse=True)
def _(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run beside a thread of the test runner, which does nothing meanwhile.
    monkeypatch.setattr(worker_pool, "may_fork", lambda: True)
    others.clear()
    others.update(multiprocessing.active_children())  # of engines that other tests still have


@pytest.fixture
def engine(tiny: Transformer) -> Engine:
    return build_engine(tiny)


@pytest.fixture
def other(tiny: Transformer) -> Transformer:
    model = copy.deepcopy(tiny)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.2)
    return model


def found_by(engine: Engine, workers: int = 2, beam_size: int = 1) -> dict[int, list[Hypothesis]]:
    search = partial(build_search, SearchOptions(beam_size))
    numbered = enumerate(REQUESTS)
    return dict(
        search_with_workers(engine, search, numbered, workers=workers, slots=5, lasting=True)
    )


def ids_of(found: dict[int, list[Hypothesis]]) -> dict[int, tuple[int, ...]]:
    return {number: tuple(hypotheses[0].ids) for number, hypotheses in found.items()}


def at_work() -> set[int]:
    return {p.pid or 0 for p in multiprocessing.active_children() if p not in others}


def fails() -> Search:
    raise DataError("It is odd.", "Mend it.")


def dies() -> Search:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def is_gone(process: int, seconds: float = 20.0) -> bool:
    """Wait for the end of a process that need not be a child of this one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":  # ended, and nobody has asked how yet
            return True
        time.sleep(0.05)
    return False


def test_the_same_processes_do_one_job_after_the_other(engine: Engine) -> None:
    pids = None
    for beam_size in (1, 3, 1):
        assert ids_of(found_by(engine, 2, beam_size)) == ids_of(found_by(engine, 1, beam_size))
        assert pids is None or at_work() == pids
        pids = at_work()
    assert len(pids or ()) == 2


def test_an_ensemble_has_workers_that_stay_unless_one_of_its_engines_follows_its_model(
    tiny: Transformer, other: Transformer
) -> None:
    packed = EnsembleEngine([build_engine(tiny, "packed"), build_engine(other, "packed")])
    assert ids_of(found_by(packed, 2)) == ids_of(found_by(packed, 1))
    assert len(at_work()) == 2

    mixed = EnsembleEngine([build_engine(tiny, "packed"), build_engine(other, "reference")])
    assert ids_of(found_by(mixed, 2)) == ids_of(found_by(packed, 1))
    assert len(at_work()) == 2


def test_workers_come_when_more_are_asked_for_and_may_be_idle(engine: Engine) -> None:
    alone = ids_of(found_by(engine, 1))
    for workers, there in ((2, 2), (3, 3), (2, 3)):
        assert ids_of(found_by(engine, workers)) == alone
        assert len(at_work()) == there


def test_workers_end_with_their_engine(tiny: Transformer) -> None:
    engine = build_engine(tiny)
    found_by(engine)
    assert len(at_work()) == 2

    del engine
    gc.collect()

    assert at_work() == set()


@pytest.mark.parametrize(
    ("search", "error", "message"),
    [
        (fails, DataError, r"It is odd\. Mend it\."),
        (dies, HeadwayError, r"worker process ended \(exit status -9\)"),
    ],
)
def test_after_an_error_others_take_their_place(
    engine: Engine, search: Callable[[], Search], error: type[Exception], message: str
) -> None:
    found_by(engine)
    before = at_work()

    with pytest.raises(error, match=message):
        list(
            search_with_workers(
                engine, search, enumerate(REQUESTS), workers=2, slots=5, lasting=True
            )
        )

    assert at_work() == set()
    assert ids_of(found_by(engine)) == ids_of(found_by(engine, 1))
    assert len(at_work()) == 2
    assert not at_work() & before


def test_whoever_stops_early_leaves_nothing_behind(engine: Engine) -> None:
    found_by(engine)
    search = partial(build_search, SearchOptions(1))
    results = search_with_workers(
        engine, search, enumerate(REQUESTS), workers=2, slots=5, lasting=True
    )
    next(results)
    results.close()

    assert at_work() == set()
    assert len(found_by(engine)) == len(REQUESTS)


def test_one_that_was_killed_while_idle_is_replaced(engine: Engine) -> None:
    found_by(engine)
    killed = min(at_work())
    os.kill(killed, signal.SIGKILL)
    assert is_gone(killed)

    assert len(found_by(engine)) == len(REQUESTS)
    assert len(at_work() - {killed}) == 2


def test_idle_workers_give_their_memory_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = multiprocessing.get_context("fork").Event()
    monkeypatch.setattr(worker_pool, "trim_heap", given_back.set)
    monkeypatch.setattr(worker_pool, "_SECONDS", 0.01)

    found_by(engine)

    assert given_back.wait(20)


def test_an_interrupt_at_the_keyboard_leaves_idle_workers_alone(engine: Engine) -> None:
    found_by(engine)
    pids = at_work()
    for pid in pids:
        os.kill(pid, signal.SIGINT)

    assert len(found_by(engine)) == len(REQUESTS)
    assert at_work() == pids


def test_beside_another_thread_those_are_used_that_are_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_by(engine)
    pids = at_work()
    monkeypatch.setattr(worker_pool, "may_fork", lambda: False)

    assert ids_of(found_by(engine, 3)) == ids_of(found_by(engine, 1))
    assert at_work() == pids


def test_where_nothing_may_be_forked_none_are_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert len(found_by(engine)) == len(REQUESTS)
        assert at_work() == set()
        assert worker_pool.acquire_pool(engine, 2) is None
    finally:
        stop.set()
        thread.join()


def test_where_no_process_can_be_had_the_next_call_may_try_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no more processes")

    with monkeypatch.context() as patch:
        patch.setattr(worker_pool, "fork", refuse)
        assert ids_of(found_by(engine)) == ids_of(found_by(engine, 1))
        assert at_work() == set()

    assert len(found_by(engine)) == len(REQUESTS)
    assert len(at_work()) == 2


def test_where_the_system_refuses_more_those_there_are_do_the_work(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[BaseProcess] = []
    fork = worker_pool.fork

    def limited(*given: object) -> BaseProcess:
        if started:
            raise BlockingIOError("no more processes")
        started.append(fork(*given))
        return started[0]

    monkeypatch.setattr(worker_pool, "fork", limited)

    assert ids_of(found_by(engine)) == ids_of(found_by(engine, 1))
    assert at_work() == {started[0].pid}


def test_workers_that_are_busy_are_not_disturbed(engine: Engine) -> None:
    claimed = worker_pool.acquire_pool(engine, 2)
    assert claimed is not None
    pids = at_work()

    assert worker_pool.acquire_pool(engine, 2) is None

    claimed.claimed.release()
    assert worker_pool.acquire_pool(engine, 2) is claimed
    claimed.claimed.release()
    assert at_work() == pids


def test_a_fork_of_this_process_has_workers_of_its_own(engine: Engine) -> None:
    expected = ids_of(found_by(engine))
    pids = at_work()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work() -> None:
        torch.set_num_threads(1)
        theirs.send((ids_of(found_by(engine)), at_work()))

    process = context.Process(target=work)
    process.start()
    assert ours.poll(60)
    found, its_own = ours.recv()
    process.join()

    assert found == expected
    assert len(its_own) == 2
    assert not its_own & pids
    assert all(is_gone(pid) for pid in its_own)
    assert ids_of(found_by(engine)) == expected
    assert at_work() == pids


def test_an_engine_that_looks_at_the_model_has_no_workers_that_stay(tiny: Transformer) -> None:
    engine = build_engine(tiny, "reference")
    before = ids_of(found_by(engine))
    with torch.no_grad():
        tiny.output_projection.weight.neg_()

    after = ids_of(found_by(engine))

    assert at_work() == set()
    assert after == ids_of(found_by(engine, 1))
    assert after != before


def test_a_search_that_looks_at_the_model_has_no_workers_that_stay(
    engine: Engine, tiny: Transformer
) -> None:
    options = SearchOptions(2, coverage_penalty=0.1)
    attend = AttentionReader([tiny], None)

    one, two = (search_all(engine, options, REQUESTS, attend=attend, workers=w) for w in (1, 2))

    assert [found[0].ids for found in one] == [found[0].ids for found in two]
    assert at_work() == set()

    search_all(engine, SearchOptions(2), REQUESTS, attend=attend, workers=2)
    assert len(at_work()) == 2  # without the penalty nobody looks


def test_many_requests_are_not_copied(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.decoding.workers._SENT", 20)
    monkeypatch.setattr("headway.decoding.workers.may_fork", lambda: True)

    assert len(found_by(engine)) == len(REQUESTS)
    assert at_work() == set()


def test_without_a_list_of_open_files_none_are_kept(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.runtime.forking._OPEN_FILES", "/nowhere")

    assert worker_pool.acquire_pool(engine, 2) is None


def test_a_file_beyond_the_limit_is_closed(tmp_path: Path) -> None:
    """Its number cannot be taken again once the limit is lower."""
    program = f"""
import os, resource
from headway.runtime.forking import _let_go_of_files
high, low = os.dup2(os.open({str(tmp_path)!r}, os.O_RDONLY), 90), os.open({str(tmp_path)!r}, 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
_let_go_of_files(0)
assert not os.path.exists("/proc/self/fd/90")
assert os.readlink(f"/proc/self/fd/{{low}}") == os.devnull
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_worker_holds_no_file_of_its_parent_open(engine: Engine) -> None:
    reading, writing = os.pipe()
    found_by(engine)
    os.close(writing)

    assert os.read(reading, 1) == b""  # it would wait for ever
    os.close(reading)
    assert len(at_work()) == 2


SCRIPT = """
import multiprocessing, os, signal, sys
from functools import partial
import torch
from headway import presets
from headway.decoding.build_engine import build_engine
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.build_search import build_search
from headway.decoding.workers import search_with_workers
from headway.model.transformer import Transformer

engine = build_engine(Transformer.from_config(presets.tiny(vocab_size=23)))
search = partial(build_search, SearchOptions(1))
requests = enumerate([Request([4, 5, 3], 5)] * 30)
list(search_with_workers(engine, search, requests, workers=2, slots=5, lasting=True))
print(*(process.pid for process in multiprocessing.active_children()), flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "failed":
    raise RuntimeError("on purpose")
"""


@pytest.mark.parametrize("end", ["done", "failed", "killed"])
def test_workers_do_not_outlive_their_parent(end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, end], capture_output=True, text=True, timeout=120
    )

    pids = [int(pid) for pid in done.stdout.split()]
    assert done.returncode == {"done": 0, "failed": 1, "killed": -signal.SIGKILL}[end]
    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)
