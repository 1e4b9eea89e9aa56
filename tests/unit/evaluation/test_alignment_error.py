"""Alignment error rate: the formula by hand, its laws, and files that do not fit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.alignment import pharaoh
from headway.errors import DataError
from headway.evaluation.alignment_error import (
    AlignmentScore,
    GoldAlignment,
    alignment_error,
    best_of,
    check_gold,
    parse_gold,
    read_gold,
)

links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8)
some_links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=8)


def gold_of(sure: frozenset, also: frozenset = frozenset()) -> GoldAlignment:
    return GoldAlignment(sure, sure | also)


def test_the_formula_by_hand() -> None:
    # A has 5 links: 2 sure of 4, 1 more possible, 2 wrong.
    gold = [parse_gold("0-0 1-1 2-2 3p3"), parse_gold("0-0 0?1")]
    ours = [((0, 0), (1, 1), (2, 0), (3, 3)), ((1, 1),)]

    score = alignment_error(ours, gold)

    assert score.precision == pytest.approx(3 / 5)
    assert score.recall == pytest.approx(2 / 4)
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (5 + 4))
    assert (score.num_links, score.num_sure) == (5, 4)


@given(sure=some_links, also=links, wrong=links)
def test_between_sure_and_possible_there_is_no_error(
    sure: frozenset, also: frozenset, wrong: frozenset
) -> None:
    gold = gold_of(sure, also)

    assert alignment_error([tuple(sure)], [gold]).error_rate == 0
    assert alignment_error([tuple(sure | also)], [gold]).error_rate == 0
    if apart := wrong - sure - also:
        score = alignment_error([tuple(apart)], [gold])
        assert (score.error_rate, score.precision, score.recall) == (1, 0, 0)


@given(ours=some_links, sure=some_links, also=links)
def test_possible_links_lower_the_error_and_sure_ones_alone_make_it_one_minus_f1(
    ours: frozenset, sure: frozenset, also: frozenset
) -> None:
    strict = alignment_error([tuple(ours)], [gold_of(sure)])
    loose = alignment_error([tuple(ours)], [gold_of(sure, also)])

    assert 0 <= loose.error_rate <= strict.error_rate <= 1
    assert loose.recall == strict.recall
    total = strict.precision + strict.recall
    f1 = 2 * strict.precision * strict.recall / total if total else 0.0
    assert strict.error_rate == pytest.approx(1 - f1)


@given(pairs=st.lists(st.tuples(some_links, some_links, links), min_size=2, max_size=4))
def test_counts_of_all_sentences_are_added_up(pairs: list[tuple]) -> None:
    def far(links_of_one: frozenset, number: int) -> frozenset:
        """Move links away, so that those of no two sentences meet."""
        return frozenset((source + 10 * number, target) for source, target in links_of_one)

    apart = alignment_error([tuple(a) for a, *_ in pairs], [gold_of(s, p) for _, s, p in pairs])
    moved = [[far(part, n) for part in pair] for n, pair in enumerate(pairs)]
    joined = [frozenset().union(*column) for column in zip(*moved, strict=True)]

    assert apart == alignment_error([tuple(joined[0])], [gold_of(joined[1], joined[2])])


@given(sure=links)
def test_what_pharaoh_writes_can_be_read(sure: frozenset) -> None:
    assert parse_gold(pharaoh(sorted(sure))) == gold_of(sure)


def test_counting_may_begin_at_one() -> None:
    assert parse_gold("1-1 2p3", first=1) == parse_gold("0-0 1?2")
    with pytest.raises(DataError, match=r"'0-3' has a word before the first, which has the numb"):
        parse_gold("1-1 0-3", first=1)


@pytest.mark.parametrize("link", ["3", "3-", "3:4", "3-4-5", "-1-2", "3s4", "a-b"])
def test_what_is_no_link_is_named_with_its_line(tmp_path: Path, link: str) -> None:
    path = tmp_path / "gold"
    path.write_text(f"0-0\n\n1-1 {link}\n", encoding="utf-8")

    with pytest.raises(DataError, match=rf"gold, line 3: '{link}' is not a link.*3p4"):
        read_gold(path)


def test_a_blank_line_aligns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-0\n\n", encoding="utf-8")

    assert read_gold(path) == [parse_gold("0-0"), parse_gold("")]


def test_no_links_have_no_error_rate() -> None:
    with pytest.raises(DataError, match="0 links, and 1 sure ones"):
        alignment_error([()], [parse_gold("0-0")])
    with pytest.raises(DataError, match="1 links, and 0 sure ones"):
        alignment_error([((0, 0),)], [parse_gold("0p0")])
    with pytest.raises(DataError, match="2 alignments and 1 made by hand"):
        alignment_error([(), ()], [parse_gold("0-0")])


def test_the_best_is_the_first_of_those_with_the_lowest_error() -> None:
    def score(rate: float) -> AlignmentScore:
        return AlignmentScore(rate, 0.5, 0.5, 3, 4)

    assert best_of({"a": score(0.3), "b": score(0.2), "c": score(0.2)}) == "b"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["the cat sat on the mat"], kind="char", vocabulary_size=20)


@pytest.mark.parametrize(
    ("line", "source", "target", "message"),
    [
        ("0-0 2-1", "the cat", "the cat", "pair 2 has source word 2, counted from 0, but there"),
        ("0-0 1p2", "the cat", "the cat", "pair 2 has target word 2, counted from 0, but there"),
        # U+00B4, which NFKC makes a space and an accent.
        ("0-0", "the\u00b4cat", "cat", "source of pair 2 has 1 words, but 2 as the tokenizer"),
    ],
)
def test_gold_that_is_of_other_words_is_refused(
    tokenizer: Tokenizer, line: str, source: str, target: str, message: str
) -> None:
    gold = [parse_gold("0-0"), parse_gold(line)]
    with pytest.raises(DataError, match=message):
        check_gold(gold, ["the", source], ["cat", target], tokenizer, tokenizer)


def test_gold_of_other_pairs_is_refused(tokenizer: Tokenizer) -> None:
    gold = [parse_gold("0-0"), parse_gold("")]
    check_gold(gold, ["the  cat ", ""], [" cat", ""], tokenizer, tokenizer)
    with pytest.raises(DataError, match="2 gold alignments for 1 pairs"):
        check_gold(gold, ["the"], ["cat"], tokenizer, tokenizer)
