"""The precision is the wanted one, or the one that is measured to be faster."""

from pathlib import Path

import pytest
import torch

from headway.training import precision
from headway.training.precision import choose_precision

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("wanted", ["float32", "bfloat16"])
def test_a_wanted_precision_is_not_measured(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_time_product", lambda _: 1 / 0)

    assert choose_precision(wanted, CPU) == wanted


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [(0.9, "float32"), (0.7, "float32"), (0.6, "bfloat16"), (2.0, "float32")],
    ids=["a-little-faster", "faster", "much-faster", "slower"],
)
def test_auto_wants_a_gain_of_one_and_a_half(
    seconds: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {torch.float32: 1.0, torch.bfloat16: seconds}
    monkeypatch.setattr(precision, "_time_product", times.__getitem__)

    assert choose_precision("auto", CPU) == chosen


def test_a_choice_is_made_once_for_each_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {torch.float32: 1.0, torch.bfloat16: 0.5}
    monkeypatch.setattr(precision, "_time_product", times.__getitem__)
    assert choose_precision("auto", CPU) == "bfloat16"

    times[torch.bfloat16] = 2.0  # in a busy moment
    assert choose_precision("auto", CPU) == "bfloat16"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 97)
    assert choose_precision("auto", CPU) == "float32"


def test_the_first_slow_product_of_a_type_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {torch.float32: 0, torch.bfloat16: 0}

    def seconds(dtype: torch.dtype) -> float:
        calls[dtype] += 1
        if calls[dtype] == 1:
            return 0.0  # were it counted, neither could be 1.5 times faster
        return 1.0 if dtype == torch.float32 else 0.5

    monkeypatch.setattr(precision, "_time_product", seconds)

    assert choose_precision("auto", CPU) == "bfloat16"


def test_a_real_measurement_takes_time() -> None:
    assert precision._time_product(torch.float32) > 0
    assert choose_precision("auto", CPU) in ("float32", "bfloat16")


def test_other_devices_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_time_product", lambda _: 1 / 0)

    assert choose_precision("auto", torch.device("mps")) == "float32"
