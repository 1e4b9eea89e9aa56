"""The system decides which cores and which registers a process may use."""

import math
import os
from pathlib import Path

import pytest

from headway.runtime import processor


@pytest.mark.parametrize(("answer", "lets"), [(0, True), (-1, False)])
def test_tiles_are_used_where_the_system_lets_us(
    answer: int, lets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Library:
        def __init__(self, name: None) -> None:
            pass

        def syscall(self, *numbers: int) -> int:
            asked.append(numbers)
            return answer

    monkeypatch.setattr(processor.ctypes, "CDLL", Library)
    monkeypatch.setattr(processor.sys, "platform", "linux")
    assert processor.request_tiles() == lets
    assert asked == [(158, 0x1023, 18)]

    monkeypatch.setattr(processor.sys, "platform", "darwin")
    assert not processor.request_tiles()
    assert len(asked) == 1


def test_cores_are_those_of_this_process_where_the_system_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(processor.sys, "platform", "linux")
    assert processor.num_cores() == 3
    monkeypatch.setattr(processor.sys, "platform", "win32")
    assert processor.num_cores() == 8


@pytest.mark.parametrize(
    ("content", "cores"), [("max 100000\n", math.inf), ("150000 100000\n", 1.5), (None, math.inf)]
)
def test_the_quota_of_a_container_is_in_cores(
    content: str | None, cores: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "cpu.max"
    if content is not None:
        limit.write_text(content)
    monkeypatch.setattr(processor, "_QUOTA", limit)
    assert processor.quota.__wrapped__() == cores
