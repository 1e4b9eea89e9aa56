"""One process is a world of its own; several meet by name, whoever was there before."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from headway.errors import ConfigError
from headway.training.begin import _refused
from headway.training.distributed import (
    World,
    _meeting,
    _output_for_results,
    is_leader,
    own_device,
    restarted,
)
from headway.training.run_folder import RunFolder


def test_one_process_is_the_whole_world() -> None:
    world = World()
    module = torch.nn.Linear(2, 3)

    world.wait()

    assert world.leads
    assert world.sum(1.5, -2.0) == [1.5, -2.0]
    assert world.any(True)
    assert not world.any(False)
    assert world.gather(["a", "b", "c"]) == ["a", "b", "c"]
    assert world.wrap(module) is module


@pytest.mark.parametrize("shares", [[["a", "d"], ["b", "e"], ["c"]], [["a"], [], []]])
def test_what_is_dealt_in_turns_is_joined_in_order(
    monkeypatch: pytest.MonkeyPatch, shares: list[list[str]]
) -> None:
    def gather(found: list[list[str]], own: list[str]) -> None:
        found[:] = shares

    monkeypatch.setattr("torch.distributed.all_gather_object", gather)

    joined = World(rank=1, size=3).gather(shares[1])

    assert joined == ["a", "b", "c", "d", "e"][: len(joined)]
    assert len(joined) == sum(map(len, shares))


def test_those_who_are_there_agree_and_never_on_a_meeting_of_the_dead() -> None:
    from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

    store, size, names = HashStore(), 3, []
    for _ in range(4):  # the store of the last meeting is still there, as under torchrun
        with ThreadPoolExecutor(size) as pool:
            places = [pool.submit(_meeting, store, rank, size) for rank in reversed(range(size))]
            meetings = {place.result(timeout=20) for place in places}
        assert len(meetings) == 1
        names += meetings

    assert len(set(names)) == len(names)


def test_a_marker_reaches_the_processes_that_come_after() -> None:
    from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

    store = HashStore()
    World(store=store).post_marker("refused")

    assert World(1, 2, store).has_marker("refused")
    assert not World(1, 2, store).has_marker("begun")
    assert not World(1, 2, HashStore()).has_marker("refused")
    strange = _refused(RunFolder("caf\udce9"))  # a name that is not UTF-8
    World(store=store).post_marker(strange)
    assert World(1, 2, store).has_marker(strange)
    World().post_marker("refused")  # no process comes after
    assert not World().has_marker("refused")


@pytest.mark.parametrize(("rank", "leads"), [("0", True), ("2", False)])
def test_torchrun_says_who_leads_and_who_was_started_anew(
    monkeypatch: pytest.MonkeyPatch, rank: str, leads: bool
) -> None:
    assert is_leader()
    assert not restarted()

    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")

    assert is_leader() == leads
    assert restarted()


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("LOCAL_RANK", "2")

    with pytest.raises(ConfigError, match="Process 2 of this machine has no GPU: there are 2"):
        own_device("cuda")

    assert own_device("cpu") == torch.device("cpu")


def test_what_a_library_prints_as_processes_meet_is_no_result(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print("before")
    with pytest.raises(ZeroDivisionError), _output_for_results():
        print(1 / (os.write(1, b"connected\n") - 10))
    print("after", flush=True)

    assert capfd.readouterr() == ("before\nafter\n", "connected\n")


def test_without_a_standard_output_nothing_is_sent_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)  # as where it was closed from the beginning
    with _output_for_results():
        os.write(1, b"what another file has as its number 1\n")

    assert capfd.readouterr() == ("what another file has as its number 1\n", "")


def test_dividing_a_model_waits_for_no_other_process_on_a_machine_with_a_gpu_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Process 0 divides before it tells the others that the run has begun."""
    from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

    def waits(*_: object, **__: object) -> None:
        raise AssertionError("a new group needs all processes")

    torch.distributed.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr("torch.distributed.device_mesh.new_group", waits)
        model = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Linear(3, 2))
        World(0, 1).divide(model, [model[0]])
        assert model(torch.ones(4, 5)).shape == (4, 2)
    finally:
        torch.distributed.destroy_process_group()
