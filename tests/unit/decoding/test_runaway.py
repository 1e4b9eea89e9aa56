"""What runs away: repetition that the source has not, and too many pieces."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import END_ID, Tokenizer, train_tokenizer
from headway.data.word_merges import WordMerges
from headway.decoding.flags import FLAGS, flags_where, is_copy
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.runaway import (
    LONGEST_NGRAM,
    better,
    most_pieces,
    most_repeats,
    runs_away,
    shortened,
    tightened,
)
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer

few = st.lists(st.integers(4, 6), max_size=24)
PLAIN = SearchOptions()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c d e ........ ha"], kind="bpe", vocabulary_size=24)


def request(tokenizer: Tokenizer, text: str, **more: object) -> Request:
    return Request([*tokenizer.encode(text), END_ID], 99, **more)  # type: ignore[arg-type]


@given(few)
def test_repeats_are_counted_as_their_definition_says(items: list[int]) -> None:
    def occurs(gram: Sequence[int], times: int) -> bool:
        whole = [*gram] * times
        return any(items[i : i + len(whole)] == whole for i in range(len(items)))

    grams = [
        items[i : i + size]
        for size in range(1, LONGEST_NGRAM + 1)
        for i in range(len(items) - size + 1)
    ]
    most = max(
        (times for gram in grams for times in range(1, len(items) + 1) if occurs(gram, times)),
        default=0,
    )
    assert most_repeats(items) == most


def test_an_ngram_four_times_in_a_row_runs_away_unless_the_source_repeats_as_often(
    tokenizer: Tokenizer,
) -> None:
    one, many = request(tokenizer, "a b"), request(tokenizer, "ha ha ha ha ha")
    three, four = [7, 8] * 3, [7, 8] * 4
    assert not runs_away([5, *three, 6], one, PLAIN, tokenizer)
    assert runs_away([5, *four, 6], one, PLAIN, tokenizer)
    assert not runs_away([7, 8] * 5, many, PLAIN, tokenizer)
    assert runs_away([7, 8] * 6, many, PLAIN, tokenizer)
    assert runs_away([9] * 4, one, PLAIN, tokenizer)
    assert not runs_away(four, request(tokenizer, "a b", prefix=four), PLAIN, tokenizer)
    assert not runs_away(four, request(tokenizer, "a b", terms=[four]), PLAIN, tokenizer)


def test_a_row_of_dots_may_be_one_piece_of_the_source(tokenizer: Tokenizer) -> None:
    dots = request(tokenizer, "........")
    assert len(dots.source_ids) < 8
    assert not runs_away([7] * 8, dots, PLAIN, tokenizer)
    assert runs_away([7] * 9, dots, PLAIN, tokenizer)


def test_more_than_three_pieces_for_each_of_the_source_and_twenty_run_away(
    tokenizer: Tokenizer,
) -> None:
    short = request(tokenizer, "a b")
    pieces = len(short.source_ids) - 1
    assert most_pieces(short, PLAIN) == 3 * pieces + 20
    longest = list(range(5, 5 + 3 * pieces + 20))
    assert not runs_away(longest, short, PLAIN, tokenizer)
    assert runs_away([*longest, 4], short, PLAIN, tokenizer)
    assert not runs_away([*longest, 4], short, SearchOptions(min_length=60), tokenizer)
    wanted = request(tokenizer, "a b", prefix=[5, 6], terms=[[7], [8, 9]])
    assert most_pieces(wanted, PLAIN) == 3 * pieces + 25


def test_the_second_search_has_rules_and_keeps_stricter_ones(tokenizer: Tokenizer) -> None:
    short = request(tokenizer, "a b")
    assert shortened(short, PLAIN).max_length == most_pieces(short, PLAIN)
    assert shortened(Request([5, END_ID], 9), PLAIN).max_length == 9
    sizes = {given: tightened(SearchOptions(no_repeat_ngram=given)).no_repeat_ngram
             for given in (0, 1, 2, 3, 4, 9)}  # fmt: skip
    assert sizes == {0: 3, 1: 1, 2: 2, 3: 3, 4: 3, 9: 3}


def test_a_loop_does_not_win_by_its_score(tokenizer: Tokenizer) -> None:
    short, options = request(tokenizer, "a b"), SearchOptions(n_best=2)
    loop, other = Hypothesis((7,) * 9, -0.1, -0.05), Hypothesis((7, 8), -5.0, -4.0)
    second = [Hypothesis((7, 9), -3.0, -2.0), Hypothesis((9, 7), -9.0, -8.0)]
    assert better([loop, other], second, short, options, tokenizer) == [second[0], other]
    assert better([loop], [], short, options, tokenizer) == [loop]


def test_a_term_is_not_lost_to_the_rules(tokenizer: Tokenizer) -> None:
    wanted = request(tokenizer, "a b", terms=[[5, 6]])
    loop = Hypothesis((7, 7, 7, 7, 5, 6), -0.1, -0.05)
    without, with_term = Hypothesis((7, 8), -1.0, -0.5), Hypothesis((5, 6), -9.0, -8.0)
    assert better([loop], [without], wanted, PLAIN, tokenizer) == [loop]
    assert better([loop], [without, with_term], wanted, PLAIN, tokenizer) == [with_term]


def test_flags_have_an_order_and_a_copy_has_a_letter() -> None:
    facts = dict.fromkeys(FLAGS, False)
    assert flags_where(**facts) == ()
    assert flags_where(**facts | {"copied": True, "split": True}) == ("split", "copied")
    assert is_copy(" J-10  ok", "J-10 ok", ())
    assert is_copy(">>deu<< Berlin", "Berlin", [">>deu<<"])
    assert not is_copy(">>deu<< Berlin", "Berlin", ())
    assert not is_copy("12.50", "12.50", ())
    assert not is_copy("", "", ())


def test_a_source_that_merges_cut_repeats_as_its_text_does() -> None:
    """Its pieces have `@@` between them, and the text has not."""
    merges = WordMerges.read(b"#version: 0.2\n. .\n.. ..\n")
    dots = [".@@", ".", "..@@", "..", "....@@", "...."]
    cut = plain_tokenizer(dots, "word", trimmed=True, merges=merges)
    ids = cut.encode(24 * ".")
    alone, last = cut.id(".@@"), cut.id(".")
    assert not runs_away([*23 * [alone], last], Request([*ids, END_ID], 99), PLAIN, cut)
    assert runs_away([*35 * [alone], last], Request([*ids, END_ID], 99), PLAIN, cut)
