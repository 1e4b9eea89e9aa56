"""What was measured is found again, whoever measured it."""

import json
import threading
import time
from pathlib import Path

import pytest

from headway.runtime.cached_benchmark import measured_once


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "headway"


def test_of_several_that_measure_at_once_all_have_what_the_first_found() -> None:
    found: list[str] = []
    begun, counted = threading.Barrier(4), iter("abcd")

    def measure() -> str:
        time.sleep(0.05)  # long enough for all to measure, if nobody waited
        return next(counted)

    def ask() -> None:
        begun.wait()
        found.append(measured_once("key", tuple("abcd"), measure))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["a"] * 4


def test_other_keys_are_kept(cache: Path) -> None:
    def measure() -> str:
        (cache / "precision.json").write_text(json.dumps({"other": "x"}))
        return "y"

    assert measured_once("key", ("x", "y"), measure) == "y"
    assert json.loads((cache / "precision.json").read_text()) == {"other": "x", "key": "y"}


@pytest.mark.parametrize("content", ["", "[1]", '{"key": ["x"]}', '{"key": 3}', '{"key": "old"}'])
def test_what_is_not_known_is_measured(cache: Path, content: str) -> None:
    cache.mkdir()
    (cache / "precision.json").write_text(content)
    assert measured_once("key", ("x", "y"), lambda: "y") == "y"
    assert measured_once("key", ("x", "y"), lambda: "x") == "y"


def test_where_nothing_can_be_kept_it_is_measured_each_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    for value in ("x", "y"):
        assert measured_once("key", ("x", "y"), lambda value=value: value) == value
