"""All parts of divided work are done, once each, whatever the number of threads."""

import ctypes
from collections.abc import Iterator

import numba
import numpy as np
import pytest
import torch

from headway.kernels import threads
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.threads import can_divide, divide
from headway.runtime.openmp import parallel_region

_LIBRARY = ctypes.CDLL(None)
_OWN, _SLEEP = _LIBRARY.pthread_self, _LIBRARY.usleep
_OWN.restype, _OWN.argtypes = ctypes.c_uint64, []
_SLEEP.restype, _SLEEP.argtypes = ctypes.c_int, [ctypes.c_uint32]


@numba.njit(nogil=True)
def _mark_part(sizes, calls, owners, first, last):
    calls[first] += last - first
    owners[first] = _OWN()
    for i in range(first, last):
        sizes[0][i] += sizes[1]


@numba.njit(nogil=True)
def _mark(sizes, calls, owners, count, parts, region):
    return in_parts(_mark_part, (sizes, calls, owners), count, parts, region)


@numba.njit(nogil=True)
def _meet_part(owners, number, first, last):
    owners[first] = _OWN()
    for _ in range(10_000):  # milliseconds; until each part has begun, which takes a thread each
        if np.count_nonzero(owners) == number:
            break
        _SLEEP(1_000)


@numba.njit(nogil=True)
def _meet(owners, number, count, parts, region):
    return in_parts(_meet_part, (owners, number), count, parts, region)


@numba.njit(nogil=True)
def _count_part(calls, first, last):
    for i in range(first, last):
        calls[i] += 1


@numba.njit(nogil=True)
def _count(calls, count, parts, region):
    return in_parts(_count_part, (calls,), count, parts, region)


@numba.njit(nogil=True)
def _run_out_part(done, first, last):
    if first == 0:
        done[0] = len(np.empty(1 << 60, np.float64))
    done[first] = last


@numba.njit(nogil=True)
def _run_out(done, count, parts, region):
    return in_parts(_run_out_part, (done,), count, parts, region)


@pytest.fixture(params=[1, 2, 3])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_parts_make_up_the_whole(count: int, number: int) -> None:
    seen, calls, owners = np.zeros(count), np.zeros(count, int), np.zeros(count, np.uint64)

    divide(_mark, (seen, 0.5), calls, owners, count=count)

    assert (seen == 0.5).all()
    assert calls.sum() == count
    parts = calls[calls > 0]
    assert len(parts) == min(number, count)
    assert not len(parts) or parts.max() - parts.min() <= 1


@pytest.mark.skipif(not parallel_region(), reason="PyTorch's threads are not GCC's")
def test_each_thread_takes_parts(number: int) -> None:
    owners = np.zeros(12, np.uint64)

    divide(_meet, owners, number, count=12)

    assert can_divide()
    assert len(set(owners[owners > 0])) == number


@pytest.mark.skipif(not parallel_region(), reason="PyTorch's threads are not GCC's")
def test_no_part_is_taken_twice_by_threads_in_a_hurry(number: int) -> None:
    calls = np.zeros(40_007, int)

    for parts in (40_007, 20_011):  # so short that a counter which is not atomic would repeat some
        assert _count(calls, len(calls), parts, parallel_region())

    assert (calls == 2).all()


def test_without_that_library_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "parallel_region", lambda: 0)
    seen, calls, owners = np.zeros(5), np.zeros(5, int), np.zeros(5, np.uint64)

    divide(_mark, (seen, 1.0), calls, owners, count=5)

    assert (seen == 1).all()
    assert set(owners[calls > 0]) == {_OWN()}


def test_no_memory_is_an_error_and_not_a_wrong_result(number: int) -> None:
    done = np.zeros(6, int)

    with pytest.raises(MemoryError, match="no memory left"):
        divide(_run_out, done, count=6)

    assert done[0] == 0
