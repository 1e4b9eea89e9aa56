"""The sentences that a run shows are few, different, of medium length, and always the same."""

from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.training.samples import choose_examples, choose_samples

PAIRS = [Pair("a" * length, str(length)) for length in (9, 1, 4, 100, 6, 5, 2)]


def test_they_are_of_medium_length_in_the_order_of_the_text() -> None:
    assert [pair.target for pair in choose_samples(PAIRS)] == ["4", "6", "5"]


@given(st.lists(st.builds(Pair, st.text("ab ", max_size=9), st.text("c", max_size=1))))
def test_they_are_three_different_pairs_or_all(pairs: list[Pair]) -> None:
    chosen = choose_samples(pairs)
    with_source = {pair for pair in pairs if pair.source.strip()}

    assert set(chosen) <= with_source
    assert len(chosen) == len(set(chosen)) == min(3, len(with_source))


@given(st.integers(1, 50).flatmap(lambda count: st.permutations(range(1, 3 * count))))
def test_a_third_of_the_text_at_least_is_not_longer_and_not_shorter(lengths: list[int]) -> None:
    chosen = choose_samples([Pair("a" * length, "") for length in lengths])

    if len(lengths) >= 5:
        for pair in chosen:
            assert len(lengths) / 3.5 <= len(pair.source) <= len(lengths) * 0.75 + 1


def test_examples_are_the_first_different_short_sources() -> None:
    sources = ["a long one " * 20, "", " one", "one ", "two", "three", "four", "five", "six"]
    pairs = [Pair(source, "x") for source in sources]

    assert choose_examples(pairs) == ["one", "two", "three", "four", "five"]
    assert choose_examples(pairs[:2]) == []
