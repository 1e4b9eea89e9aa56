"""What every search shares: slots that are refilled, and a budget."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from headway.data.tokenizer import END_ID
from headway.decoding.batch import StepwiseBatch
from headway.decoding.beam import BeamSearch
from headway.decoding.greedy import GreedySearch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search, until_refill

# The source names the number of words: sentence 10 + n is n words and the end.
COUNTING = {(10 + n, *([4] * k)): {4: 1.0} for n in range(8) for k in range(n)}


def requests(*lengths: int) -> Iterator[tuple[int, Request]]:
    return enumerate(Request([10 + n, END_ID], 9) for n in lengths)


def stepwise(
    engine: Any, search: Any, jobs: Iterable[tuple[int, Request]], *, slots: int, **limits: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    return run_search(StepwiseBatch(engine, search, slots), jobs, slots=slots, **limits)


@pytest.mark.parametrize("search", [GreedySearch, BeamSearch])
def test_slots_of_finished_sentences_go_to_those_that_wait(scripted: Any, search: Any) -> None:
    engine = scripted(COUNTING)
    options = SearchOptions(beam_size=1)

    order = [
        index for index, _ in stepwise(engine, search(options), requests(3, 0, 1, 5, 0), slots=2)
    ]

    # The first two start; number 1 ends at once and number 2 takes its slot, and so on.
    assert engine.encoded == [[13, 10], [11], [15], [10]]
    assert order == [1, 2, 0, 4, 3]
    # Never an idle slot while somebody waits: 3 + 0 + 1 + 5 + 0 words and 5 ends in two slots.
    assert [len(rows) for rows in engine.rows] == [2, 2, 2, 2, 2, 1, 1, 1, 1][: engine.steps]


def test_several_slots_are_refilled_together(scripted: Any) -> None:
    engine = scripted(COUNTING)
    lengths = [n % 5 for n in range(60)]

    found = dict(stepwise(engine, GreedySearch(SearchOptions(1)), requests(*lengths), slots=24))

    assert [len(found[i][0].ids) for i in range(60)] == lengths
    first, *later = [len(group) for group in engine.encoded]
    assert first == 24
    # A quarter of 24 at least, but for what is left at the end.
    assert all(size >= 6 for size in later[:-1])


def test_a_full_batch_is_left_alone_until_it_is_refilled(scripted: Any) -> None:
    wanted: list[int] = []

    class Noted(StepwiseBatch[Any]):
        def advance(self, enough: int = 1) -> list[tuple[int, list[Hypothesis]]]:
            wanted.append(enough)
            return super().advance(enough)

    batch = Noted(scripted(COUNTING), GreedySearch(SearchOptions(1)), 8)
    assert len(list(run_search(batch, requests(*[0] * 2, *[2] * 6, 0), slots=8))) == 9
    # Of eight, two end, and the last one takes a place. Of seven, it ends first, then one more.
    assert wanted == [2, 2, 1]


@pytest.mark.parametrize(
    ("at_work", "full", "ends"), [(24, 24, 6), (20, 24, 2), (18, 24, 0), (1, 24, 0), (1, 1, 1)]
)
def test_a_quarter_ends_before_a_refill(at_work: int, full: int, ends: int) -> None:
    assert until_refill(at_work, full) == ends


def test_a_long_sentence_does_not_keep_others_waiting(scripted: Any) -> None:
    engine = scripted(COUNTING)
    long = Request([17, *[9] * 79, END_ID], 9)  # 81 of 100 pieces for 8 steps
    jobs = [(0, long), *((index, Request([10, 9, END_ID], 9)) for index in range(1, 40))]

    list(
        stepwise(
            engine,
            GreedySearch(SearchOptions(1)),
            jobs,
            slots=40,
            max_tokens=100,
        )
    )

    # Six of three pieces beside it in each step, although most pieces are taken all the time.
    assert [len(rows) for rows in engine.rows[:6]] == [7] * 6


def test_pieces_that_become_free_are_given_away_together(scripted: Any) -> None:
    engine = scripted(COUNTING)
    jobs = [
        (index, Request([10 + n % 5, *[9] * 14, END_ID], 9)) for index, n in enumerate(range(60))
    ]

    found = stepwise(
        engine,
        GreedySearch(SearchOptions(1)),
        jobs,
        slots=60,
        max_tokens=16 * 24,
    )

    assert sorted(index for index, _ in found) == [*range(60)]
    first, *later = [len(group) for group in engine.encoded]
    assert first == 24
    # A quarter of the pieces of 24 sentences, although most slots are free all the time.
    assert all(size >= 6 for size in later[:-1])


def test_the_budget_holds_and_one_sentence_always_may(scripted: Any) -> None:
    engine = scripted(COUNTING)
    sources = [[10 + n, *([9] * extra), END_ID] for n, extra in [(2, 0), (3, 1), (1, 0), (0, 8)]]
    jobs = enumerate(Request(source, 9) for source in sources)

    found = stepwise(engine, GreedySearch(SearchOptions(1)), jobs, slots=4, max_tokens=5)
    finished = [index for index, _ in found]

    # 2 + 3 pieces fill the budget of 5; the sentence of 10 waits until it is alone.
    assert engine.encoded == [[12, 13], [11], [10]]
    assert sorted(finished) == [0, 1, 2, 3]
    assert finished[-1] == 3


def test_no_requests_give_nothing(scripted: Any) -> None:
    assert list(stepwise(scripted({}), GreedySearch(SearchOptions(1)), iter([]), slots=3)) == []
