"""The rate follows equation 3, and every schedule rises to its peak and then never rises again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ConfigError
from headway.training.schedule import SCHEDULES, Schedule, paper_peak, paper_rate

WARMUPS = st.integers(1, 50)


def test_equation_3_by_hand() -> None:
    # d_model 16, warm-up 4: 16^-0.5 = 1/4, and 4^-1.5 = 1/8.
    assert paper_rate(1, 16, 4) == 1 / 32  # 1/4 * 1/8
    assert paper_rate(2, 16, 4) == 1 / 16  # 1/4 * 2/8
    assert paper_rate(4, 16, 4) == 1 / 8  # both terms are 1/2
    assert paper_rate(16, 16, 4) == 1 / 16  # 1/4 * 16^-0.5
    assert paper_rate(100, 16, 4) == pytest.approx(1 / 40, rel=1e-15)


def test_the_peak_of_the_base_model() -> None:
    assert paper_peak(512, 4000) == pytest.approx(6.98771e-4, rel=1e-6)  # (512 * 4000)^-0.5


@given(step=st.integers(1, 100_000), warmup=st.integers(1, 8000), d_model=st.integers(1, 2048))
def test_inverse_sqrt_from_the_papers_peak_is_equation_3(
    step: int, warmup: int, d_model: int
) -> None:
    schedule = Schedule("inverse_sqrt", paper_peak(d_model, warmup), warmup, max_steps=7)

    assert schedule(step) == pytest.approx(paper_rate(step, d_model, warmup), rel=1e-12)


@given(name=st.sampled_from(sorted(SCHEDULES)), warmup=WARMUPS, extra=st.integers(1, 60))
def test_the_rate_rises_in_a_straight_line_to_the_peak_and_never_rises_again(
    name: str, warmup: int, extra: int
) -> None:
    schedule = Schedule(name, 0.5, warmup, warmup + extra)

    rates = [schedule(step) for step in range(1, warmup + extra + 1)]

    for step in range(1, warmup + 1):
        assert rates[step - 1] == pytest.approx(0.5 * step / warmup, rel=1e-12)
    assert max(rates) == rates[warmup - 1] == 0.5
    fall = rates[warmup - 1 :]
    assert fall == sorted(fall, reverse=True)
    assert fall[-1] > 0


@given(name=st.sampled_from(["linear", "cosine"]), warmup=WARMUPS, extra=st.integers(1, 60))
def test_linear_and_cosine_reach_zero_right_after_the_last_step(
    name: str, warmup: int, extra: int
) -> None:
    schedule = Schedule(name, 0.5, warmup, warmup + extra)

    assert schedule(warmup + extra) > 0
    assert schedule(warmup + extra + 1) == pytest.approx(0, abs=1e-15)
    assert schedule(warmup + extra + 9) == pytest.approx(0, abs=1e-15)


def test_linear_and_cosine_half_way_down() -> None:
    # Warm-up 2, 9 steps: 8 steps from the peak at 2 to zero at 10, half way at 6.
    assert Schedule("linear", 3.0, 2, 9)(6) == pytest.approx(1.5)
    assert Schedule("cosine", 3.0, 2, 9)(6) == pytest.approx(1.5)
    assert Schedule("linear", 3.0, 2, 9)(4) == pytest.approx(2.25)
    assert Schedule("cosine", 3.0, 2, 9)(4) == pytest.approx(3 * 0.8535533905932737)


def test_a_constant_rate_stays() -> None:
    assert Schedule("constant", 0.3, 2, 5)(5000) == 0.3


def test_a_misspelt_schedule_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"'cosin'.*Did you mean 'cosine'"):
        Schedule("cosin", 1.0, 2, 5)


@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_a_fall_without_steps_to_fall_in_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="max_steps 5 is not more than warmup_steps 5"):
        Schedule(name, 1.0, 5, 5)


def test_a_schedule_that_counts_from_0_is_told_to_add_1() -> None:
    with pytest.raises(ConfigError, match=r"^The step is 0, but steps count from 1\. .* step \+ 1"):
        paper_rate(0, 512, 4000)


@given(
    name=st.sampled_from(["constant", "inverse_sqrt"]),
    warmup=WARMUPS,
    before=st.integers(0, 40),
    decay=st.integers(1, 40),
)
def test_the_last_steps_fall_in_a_straight_line_to_zero(
    name: str, warmup: int, before: int, decay: int
) -> None:
    most = warmup + before + decay
    plain, schedule = Schedule(name, 0.5, warmup, most), Schedule(name, 0.5, warmup, most, decay)

    start = warmup + before
    assert [schedule(n) for n in range(1, start + 1)] == [plain(n) for n in range(1, start + 1)]
    for n in range(start, most + 9):
        expected = plain(start) * max(most + 1 - n, 0) / (decay + 1)
        assert schedule(n) == pytest.approx(expected, rel=1e-12)


def test_a_straight_fall_needs_steps_after_warm_up_and_a_schedule_that_does_not_end_at_zero() -> (
    None
):
    with pytest.raises(ConfigError, match="decay_steps is 6, but 5 steps at most follow the 7"):
        Schedule("constant", 0.5, 7, 12, 6)
    with pytest.raises(ConfigError, match="linear schedule falls to zero by itself"):
        Schedule("linear", 0.5, 7, 12, 3)
