"""What stands in a text twice, or in two of them, is named with the line of its first time."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.finding import Finding
from headway.data.repeats import Repeats, repeats

PAIRS = st.lists(st.builds(Pair, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x", "y"])))
SHARED = "target that many different sources share"


def of_corpora(*corpora: tuple[list[Pair], str]) -> list[Finding]:
    seen = Repeats()
    return list(itertools.chain.from_iterable(seen.of_next(*corpus) for corpus in corpora))


def lines_of(problem: str, pairs: list[Pair]) -> tuple[int, ...]:
    (finding,) = (found for found in repeats(pairs) if found.problem == problem)
    return finding.lines


@given(PAIRS)
def test_each_line_is_named_with_the_first_that_it_repeats(pairs: list[Pair]) -> None:
    repeated, other, _ = repeats(pairs)

    assert repeated.lines == tuple(
        line for line, pair in enumerate(pairs, 1) if any(pair) and pair in pairs[: line - 1]
    )
    assert repeated.earlier == tuple(pairs.index(pairs[n - 1]) + 1 for n in repeated.lines)
    sources = [pair.source for pair in pairs]
    assert other.earlier == tuple(sources.index(sources[n - 1]) + 1 for n in other.lines)
    assert not set(other.lines) & set(repeated.lines)
    assert all(sources[n - 1] for n in other.lines)


def test_a_target_that_was_pasted_is_found() -> None:
    pairs = [Pair(f"source {n}", f"target {n}") for n in range(100)]
    pasted = [Pair(f"other {n}", "No translation.") for n in range(20)]

    assert lines_of(SHARED, [*pairs, *pasted[1:], pasted[1]]) == ()  # of 19 sources
    assert lines_of(SHARED, [*pairs, *pasted, pasted[1]]) == tuple(range(101, 122))


def test_of_much_text_many_is_more() -> None:
    pairs = [Pair(f"source {n}", f"target {n}") for n in range(29_950)]
    pasted = [Pair(f"other {n}", "Yes.") for n in range(50)]

    assert lines_of(SHARED, pairs + pasted[:29] + pasted[:1] * 21) == ()
    assert len(lines_of(SHARED, pairs + pasted[:30] + pasted[:1] * 20)) == 50


def test_labels_are_meant_to_be_shared() -> None:
    labels = [Pair(f"text {n}", ("good", "bad", "")[n % 3]) for n in range(90)]
    others = [Pair(f"more {n}", f"of {n}") for n in range(60)]

    assert lines_of(SHARED, labels) == ()
    assert len(lines_of(SHARED, labels + others)) == 60  # two of five


def test_a_pair_of_two_corpora_is_named_once_with_the_first_that_has_it() -> None:
    one, two, three = (Pair(text, text.upper()) for text in ("one", "two", "three"))
    spaced = Pair(" one", "ONE ")
    exchanged = Pair(two.target, two.source)
    empty = Pair("", " ")

    found = of_corpora(
        ([one, two, two, empty], ""), ([three, empty, exchanged], ""), ([three, spaced, one], "")
    )

    assert [(finding.problem, finding.lines) for finding in found] == [
        ("pair is in corpus 1 too", (2, 3)),
        ("pair is in corpus 2 too", (1,)),
    ]


def test_another_tag_there_is_said() -> None:
    one, two = Pair("one", "eins"), Pair("two", "zwei")

    found = of_corpora(([one], ""), ([two], "<2de>"), ([one, two], "<2nl>"), ([two], "<2nl>"))

    assert [(finding.problem, finding.lines) for finding in found] == [
        ("pair is in corpus 1 too, there without a tag", (1,)),
        ("pair is in corpus 2 too, there with the tag <2de>", (2,)),
        ("pair is in corpus 2 too, there with the tag <2de>", (1,)),
    ]
