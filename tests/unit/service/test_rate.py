"""The rate of a client: laws of the algorithm, and bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ConfigError
from headway.service.rate import Rate, RateLimit, client_of, parse_rate

COSTS = st.lists(st.tuples(st.integers(1, 9), st.floats(0, 30)), max_size=40)


@given(COSTS, st.integers(1, 7), st.sampled_from([1, 60]))
def test_in_no_window_of_the_rate_does_a_client_use_twice_the_rate(
    asked: list[tuple[int, float]], count: int, seconds: int
) -> None:
    limit, now = RateLimit(Rate(count, seconds)), 0.0
    used: list[tuple[float, int]] = []
    for cost, pause in asked:
        now += pause
        if cost <= count and limit.use("a", cost, now) == 0:
            used.append((now, cost))
    for begin, _ in used:
        within = sum(cost for time, cost in used if begin <= time < begin + seconds)
        assert within <= 2 * count


@given(COSTS, st.integers(1, 7))
def test_who_waits_as_long_as_told_is_answered(asked: list[tuple[int, float]], count: int) -> None:
    limit, now = RateLimit(Rate(count, 60)), 0.0
    for cost, pause in asked:
        now += pause
        if wait := limit.use("a", cost, now):
            now += wait + 1e-6
            assert limit.use("a", cost, now) == 0


def test_the_whole_rate_may_come_at_once_and_clients_are_apart() -> None:
    limit = RateLimit(Rate(3, 60))
    assert [limit.use("a", 1, 0.0) for _ in range(4)] == [0, 0, 0, pytest.approx(20)]
    assert limit.use("b", 3, 0.0) == 0


def test_a_request_of_more_than_the_rate_is_answered_and_paid_for() -> None:
    limit = RateLimit(Rate(2, 60))
    assert limit.use("a", 5, 0.0) == 0
    assert limit.use("a", 1, 60.0) == pytest.approx(60)  # five thirds of a minute twice


def test_memory_is_bounded() -> None:
    limit = RateLimit(Rate(2, 60))
    for number in range(20_000):
        limit.use(str(number), 1, 0.0)
    assert len(limit._free_at) == 10_000


@pytest.mark.parametrize("text", ["", "5", "0/minute", "5/week", "x/minute", "-1/minute"])
def test_what_is_no_rate_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="120/minute"):
        parse_rate(text)


def test_ipv4_clients_of_a_server_on_ipv6_are_apart() -> None:
    addresses = ["192.0.2.7", "192.0.2.8", "::1", "2001:db8::1"]
    mapped = [client_of(f"::ffff:{address}") for address in addresses[:2]]
    assert mapped == addresses[:2]
    assert len({client_of(address) for address in addresses}) == 4
