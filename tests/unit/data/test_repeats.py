"""What stands in a text twice, or in two of them, is named with the line of its first time."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.finding import Finding
from headway.data.repeats import HeldOutPairs, Repeats, repeats
from headway.data.survey import overlap

PAIRS = st.lists(st.builds(Pair, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x", "y"])))
SHARED = "target that many different sources share"
EXCHANGED = "source that many different targets share"
OTHER = "other translation of a source seen before"


def of_corpora(*corpora: tuple[list[Pair], str]) -> list[Finding]:
    seen = Repeats()
    return list(itertools.chain.from_iterable(seen.of_next(*corpus) for corpus in corpora))


def lines_of(problem: str, pairs: list[Pair]) -> tuple[int, ...]:
    (finding,) = (found for found in repeats(pairs) if found.problem == problem)
    return finding.lines


@given(PAIRS)
def test_each_line_is_named_with_the_first_that_it_repeats(pairs: list[Pair]) -> None:
    repeated, other, *_ = repeats(pairs)

    assert repeated.lines == tuple(
        line for line, pair in enumerate(pairs, 1) if any(pair) and pair in pairs[: line - 1]
    )
    assert repeated.earlier == tuple(pairs.index(pairs[n - 1]) + 1 for n in repeated.lines)
    sources = [pair.source if all(pair) else None for pair in pairs]
    assert other.earlier == tuple(sources.index(sources[n - 1]) + 1 for n in other.lines)
    assert not set(other.lines) & set(repeated.lines)
    assert all(sources[n - 1] for n in other.lines)


def exchanged(pairs: list[Pair]) -> list[Pair]:
    return [Pair(target, source) for source, target in pairs]


def test_a_side_that_was_pasted_is_found() -> None:
    pairs = [Pair(f"source {n}", f"target {n}") for n in range(100)]
    pasted = [Pair(f"other {n}", "No translation.") for n in range(20)]
    few = [*pairs, *pasted[1:], pasted[1], Pair("", "No translation.")]  # of 19 sources
    enough = [*pairs, *pasted, pasted[1], Pair("", "No translation.")]

    assert lines_of(SHARED, few) == lines_of(EXCHANGED, exchanged(few)) == ()
    assert lines_of(SHARED, enough) == tuple(range(101, 122))
    assert lines_of(EXCHANGED, exchanged(enough)) == tuple(range(101, 122))


def test_a_source_that_was_pasted_is_not_said_to_be_translated_in_many_ways() -> None:
    pasted = [Pair("Click here.", f"target {n}") for n in range(20)]
    retranslated = [Pair("one", "eins"), Pair("one", "einer"), Pair("two", "zwei")]

    assert lines_of(OTHER, pasted[1:] + retranslated) == (*range(2, 20), 21)
    assert lines_of(OTHER, pasted + retranslated) == (22,)


def test_of_much_text_many_is_more() -> None:
    pairs = [Pair(f"source {n}", f"target {n}") for n in range(29_950)]
    pasted = [Pair(f"other {n}", "Yes.") for n in range(50)]

    assert lines_of(SHARED, pairs + pasted[:29] + pasted[:1] * 21) == ()
    assert len(lines_of(SHARED, pairs + pasted[:30] + pasted[:1] * 20)) == 50


def test_lines_without_both_sides_are_no_text_that_is_shared() -> None:
    missing = [Pair(f"text {n}", "") for n in range(30)] + [
        Pair("", f"text {n}") for n in range(30)
    ]

    assert lines_of(SHARED, missing) == lines_of(EXCHANGED, missing) == ()


def test_labels_are_meant_to_be_shared() -> None:
    labels = [Pair(f"text {n}", ("good", "bad", "")[n % 3]) for n in range(135)]  # 90 labelled
    others = [Pair(f"more {n}", f"of {n}") for n in range(10)]

    assert lines_of(SHARED, labels + others[:9]) == ()  # 90 of 99
    assert len(lines_of(SHARED, labels + others)) == 90  # of 100
    for problem in (EXCHANGED, OTHER):
        assert lines_of(problem, exchanged(labels + others[:9])) == ()


def test_pairs_of_two_corpora_are_named_once_with_the_first_that_has_them() -> None:
    one, two, three = (Pair(text, text.upper()) for text in ("one", "two", "three"))
    spaced = Pair(" one", "ONE ")
    mirrored = Pair(two.target, two.source)
    empty = Pair("", " ")

    found = of_corpora(
        ([two, one, one, two, empty], ""),
        ([three, empty, mirrored], ""),
        ([three, spaced, one, two], ""),
    )

    assert [(finding.problem, finding.lines, finding.earlier) for finding in found] == [
        ("pair is in corpus 1 too", (2, 3, 4), (2, 2, 1)),
        ("pair is in corpus 2 too", (1,), (1,)),
    ]


def test_another_tag_there_is_said_where_no_corpus_of_this_tag_has_the_pair() -> None:
    one, two = Pair("one", "eins"), Pair("two", "zwei")

    found = of_corpora(([one], ""), ([two], "<2de>"), ([one, two], "<2nl>"), ([two], "<2nl>"))

    assert [(finding.problem, finding.lines) for finding in found] == [
        ("pair is in corpus 1 too, there without a tag", (1,)),
        ("pair is in corpus 2 too, there with the tag <2de>", (2,)),
        ("pair is in corpus 3 too", (1,)),
    ]


def test_what_is_the_same_in_both_languages_may_be_under_two_tags() -> None:
    name = Pair("Berlin", " Berlin")

    found = of_corpora(([name], "<2de>"), ([name], "<2nl>"), ([name], "<2nl>"))

    assert [finding.problem for finding in found] == ["pair is in corpus 2 too"]


@given(PAIRS, PAIRS)
def test_pairs_of_validation_text_are_found_from_both_texts(
    train: list[Pair], held_out: list[Pair]
) -> None:
    """A pair is in both texts, whichever of the two is searched."""
    found = {finding.id: finding.lines for finding in HeldOutPairs(held_out).findings(train)}
    whole = {finding.id: finding.lines for finding in overlap(train, held_out)}
    in_both = {train[line - 1] for line in found.get("in-validation", ())}
    assert in_both == {held_out[line - 1] for line in whole.get("in-training", ())}
    sources = {train[line - 1].source for line in found.get("source-in-validation", ())}
    for line in whole.get("source-in-training", ()):
        assert held_out[line - 1].source in sources | {pair.source for pair in in_both}
