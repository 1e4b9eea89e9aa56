"""What is found is repaired or dropped, logged, and not found again."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines
from headway.data.mending import rounds
from headway.data.mending.choices import Choices, can_be_dropped, remedy
from headway.data.mending.rounds import MendedText, mend, partners
from headway.data.problems import problems
from headway.data.repeats import HeldOutPairs
from headway.data.stretches import Stretch
from headway.data.survey import survey

from ..made_languages import exchanged, translations
from ..parallel_text import sentences

EVERYTHING = Choices.of(
    ["mojibake", "html", "spaces", "shift"],
    ["empty", "copies", "near-copies", "duplicates", "length", "script", "number-mismatch"],
)


def replayed(pairs: list[Pair], text: MendedText) -> dict[int, Pair]:
    """Return the pairs by line after all that the log says."""
    state = dict(enumerate((pair.stripped() for pair in pairs), start=1))
    for change in text.changes:
        assert state[change.line] == change.before
        if change.after is None:
            del state[change.line]
        else:
            state[change.line] = change.after
    return state


@given(
    st.lists(
        st.tuples(
            *[
                st.sampled_from(
                    ["", " ", "a", "a ", "A!", "a &amp; b", "c\u00a0d", "Ã©tÃ©", "12", "1 e", "나"]
                )
            ]
            * 2
        ),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_the_log_tells_how_the_text_came_to_be(rows: list[tuple[str, str]]) -> None:  # fmt: skip
    pairs = [Pair(*row) for row in rows]
    text = mend(pairs, 1, EVERYTHING)
    assert replayed(pairs, text) == dict(zip(text.lines, text.pairs, strict=True))
    assert text.lines == sorted(text.lines)
    assert not mend(text.pairs, 1, EVERYTHING).changes
    left = {finding.id for finding in survey(text.pairs)}
    assert left == set(text.left)
    assert not {id for id in left if EVERYTHING.drops(id)}


def test_characters_are_repaired_in_one_line_by_all_repairs() -> None:
    text = mend([Pair("Ã©tÃ© &amp;nbsp; la", "&lt;")], 5, Choices.of(drop=[]))
    assert text.pairs == [Pair("été la", "<")]
    assert [(change.line, change.id) for change in text.changes] == [
        (5, "mojibake-source"),
        (5, "html-codes-source"),
        (5, "html-codes-target"),
        (5, "spaces-source"),
    ]


def test_nothing_is_done_that_is_not_chosen() -> None:
    pairs = [Pair("a  b", "a  b"), Pair("", "x &amp; y"), Pair("a  b", "a  b")]
    text = mend(pairs, 1, Choices.of([], []))
    assert text.pairs == pairs
    assert not text.changes
    assert text.left["copies"] == text.left["spaces-target"] == 2


@pytest.mark.parametrize("late", [1, -2])
def test_a_shifted_stretch_is_realigned_and_not_found_again(late: int) -> None:
    pairs = sentences(600)
    targets = [pair.target for pair in pairs]
    if late > 0:  # one too many, and one missing behind
        targets[200:400] = ["one too many", *targets[200:399]]
    else:  # two missing, and two too many behind
        targets[200:400] = [*targets[202:400], "too many", "as well"]
    moved = [Pair(pair.source, target) for pair, target in zip(pairs, targets, strict=True)]

    text = mend(moved, 1, Choices.of(["shift"], []))

    right = {pair.stripped() for pair in pairs}
    wrong = [pair for pair in text.pairs if pair not in right]
    assert len(wrong) <= 3  # lengths tell the ends of the stretch to a line or two
    assert len(text.pairs) == 600 - abs(late)
    assert "misaligned" not in text.left
    assert replayed(moved, text) == dict(zip(text.lines, text.pairs, strict=True))
    logged = {text for change in text.changes for text in change.before}
    assert {target.strip() for target in targets} <= logged | {pair.target for pair in text.pairs}


def test_exchanged_sides_are_exchanged_back_and_a_wrong_language_is_dropped() -> None:
    right = list(dict.fromkeys(translations(600, least=5)))
    pairs = [exchanged(pair) if row % 50 == 7 else pair for row, pair in enumerate(right)]
    pairs[100] = Pair(pairs[100].source, pairs[101].source)

    text = mend(pairs, 1, Choices.of(drop=["language"]))

    assert text.pairs == right[:100] + right[101:]
    lines = {line for line in range(1, len(pairs) + 1) if (line - 1) % 50 == 7}
    assert {change.line for change in text.changes if change.id == "exchanged"} == lines
    assert [(change.line, change.id) for change in text.changes if change.after is None] == [
        (101, "wrong-language-target")
    ]


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many pairs each survey of the test looked at."""
    counts: list[int] = []

    def counted(pairs: list[Pair]) -> list[Finding]:
        counts.append(len(pairs))
        return survey(pairs)

    monkeypatch.setattr(rounds, "survey", counted)
    return counts


def test_empty_and_repeated_pairs_go_without_a_second_survey(surveys: list[int]) -> None:
    pairs = [Pair("a", "a"), Pair("", "b"), Pair("a", "a"), Pair("c", "C"), Pair("c", "\ufffd")]
    text = mend(pairs, 1, Choices.of())
    assert text.lines == [1, 4, 5]
    assert surveys == [5]
    assert text.left == {finding.id: finding.count for finding in survey(text.pairs)}
    assert text.left == {
        "copies": 1, "near-copies": 1, "lost-characters-target": 1, "other-translation": 1,
    }  # fmt: skip


def test_unusual_lines_go_three_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "survey", lambda pairs: [on_lines("length-long", "", [1])])
    text = mend([Pair(str(n), str(n)) for n in range(9)], 1, Choices.of(drop=["length"]))
    assert text.lines == [4, 5, 6, 7, 8, 9]
    assert text.left == {"length-long": 1}


def test_a_finding_on_several_stretches_is_counted_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stretches = [Finding("misaligned", "", n, (n,), 2 * n - 1) for n in (2, 5)]
    monkeypatch.setattr(rounds, "survey", lambda pairs: stretches)
    pairs = [Pair(str(n), str(n)) for n in range(9)]
    text = mend(pairs, 1, Choices.of([], []))
    assert text.left == {"misaligned": 7}
    # The ends of a stretch are not exact, so the examples of a long one are from its middle.
    assert [line for line, _ in text.examples["misaligned"]] == [2, 3, 6]
    stretches.reverse()
    assert mend(pairs, 1, Choices.of([], [])).examples == {
        "misaligned": [(line, pairs[line - 1]) for line in (6, 7, 8)]
    }


def test_a_stretch_of_other_sources_is_left_or_dropped() -> None:
    pairs = sentences(400)
    rng = random.Random(1)
    mixed = pairs[100:300]
    rng.shuffle(mixed)
    pairs[100:300] = [
        Pair(pair.source, other.target) for pair, other in zip(pairs[100:300], mixed, strict=True)
    ]
    assert mend(pairs, 1, Choices.of(["shift"], [])).left["unrelated"] > 180
    assert len(mend(pairs, 1, Choices.of([], ["shift"])).pairs) < 220


def test_a_stretch_whose_targets_are_late() -> None:
    # Target 2 is one too many, and that of source 5 is missing.
    assert partners(8, [Stretch(2, 5, 1)]) == [0, 1, 3, 4, 5, None, 6, 7]


def test_a_stretch_whose_targets_are_early() -> None:
    assert partners(8, [Stretch(3, 6, -2)]) == [0, None, None, 1, 2, 3, 6, 7]


def test_up_to_the_end_the_last_sources_have_none() -> None:
    assert partners(5, [Stretch(1, 5, 2)]) == [0, 3, 4, None, None]


def test_of_two_stretches_the_first_has_the_target() -> None:
    assert partners(8, [Stretch(1, 3, 2), Stretch(3, 6, 1)]) == [0, 3, 4, None, 5, 6, None, 7]


def test_targets_of_other_sources_stay() -> None:
    assert partners(3, [Stretch(0, 2, None)]) == [0, 1, 2]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_no_target_is_used_twice_and_what_is_outside_stays(data) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, 30), min_size=2, max_size=6, unique=True)))
    shifts = st.none() | st.integers(-9, 9).filter(bool)
    stretches = [Stretch(start, end, data.draw(shifts)) for start, end in pairwise(ends)]
    places = partners(30, stretches)
    used = [place for place in places if place is not None]
    assert len(places) == 30
    assert len(set(used)) == len(used)
    for row, place in enumerate(places):
        inside = [late for start, end, late in stretches if start <= row < end]
        late = inside[0] if inside and inside[0] else 0
        assert place in (None, row + late)


def test_decomposed_text_is_composed_and_its_repetitions_are_dropped() -> None:
    pairs = [Pair("fu\u0308r", "한"), Pair("für", "\u1112\u1161\u11ab"), Pair("u&#776;", "½")]
    text = mend(pairs, 1, Choices())
    assert text.pairs == [Pair("für", "한"), Pair("ü", "½")]
    assert [(change.line, change.id) for change in text.changes] == [
        (1, "decomposed-source"),
        (2, "decomposed-target"),
        (3, "html-codes-source"),
        (3, "decomposed-source"),
        (2, "duplicate-pairs"),
    ]
    kept = mend(pairs, 1, Choices.of([]))
    assert [kept.left[f"decomposed-{side}"] for side in ("source", "target")] == [1, 0]
    assert [(change.line, change.id) for change in kept.changes] == [(2, "duplicate-pairs")]


def test_markup_of_decoded_codes_is_named_in_what_is_left_and_can_be_dropped() -> None:
    pairs = [Pair("&lt;b&gt;하나&lt;/b&gt;", "one"), Pair("&lt;b&gt;둘", "<b>two")]
    text = mend(pairs, 1, Choices())
    assert text.pairs == [Pair("<b>하나</b>", "one"), Pair("<b>둘", "<b>two")]
    assert text.left["markup-mismatch"] == 1
    assert text.examples["markup-mismatch"] == [(1, text.pairs[0])]
    assert remedy("markup-mismatch", Choices()) == "--drop empty,duplicates,markup-mismatch"
    assert mend(pairs, 1, Choices.of(drop=["markup-mismatch"])).pairs == [Pair("<b>둘", "<b>two")]


HELD_OUT = HeldOutPairs([Pair("abb", "acc"), Pair("ab", "ad")])


def _messy() -> list[list[Pair]]:
    """Return texts that together have every finding on single lines."""
    shifted = sentences(200)
    targets = [pair.target for pair in shifted]
    targets[30:90] = ["one too many", *targets[30:89]]
    targets[120:200] = [pair.target for pair in sentences(80, seed=9)]
    shifted = [Pair(pair.source, target) for pair, target in zip(shifted, targets, strict=True)]
    damages = [
        "f\ufffdr",
        "a\x07b",
        "u\u0308b",
        "Ã©tÃ©",
        "â€",
        "A &amp; B",
        "& amp",
        "a  b",
        "한국",
    ]
    plain = [Pair(f"a{'b' * n}", f"a{'c' * n}") for n in range(80)]
    damaged = [*plain, Pair("", "a"), Pair("a", ""), Pair("same", "same"), Pair("A b.", "a B")]
    damaged += [*(Pair(text, "x") for text in damages), *(Pair("x", text) for text in damages)]
    damaged += [Pair("in 1998", "1989"), Pair("at www.a.org", "at b"), Pair("<b>so", "so far")]
    damaged += [plain[3]]
    damaged += [Pair("a" * 90, "b"), Pair("b", "a" * 90)]
    damaged += [Pair(f"d{'e' * n}", "no translation") for n in range(20)]
    damaged += [Pair("no source", f"d{'e' * n}") for n in range(20)]
    foreign = [exchanged(pair) if n % 50 == 7 else pair for n, pair in enumerate(translations(120))]
    foreign[80] = Pair(foreign[80].source, foreign[81].source)
    foreign[90] = Pair(foreign[89].target, foreign[90].target)
    return [shifted, damaged, foreign]


def test_the_options_for_lines_that_are_left_repair_or_drop_them() -> None:
    left: set[str] = set()
    for pairs in _messy():
        for fix, drop in ((None, None), ([], [])):
            text = mend(pairs, 1, Choices.of(fix, drop), HELD_OUT)
            left |= text.left.keys()
            options = {id: remedy(id, Choices.of(fix, drop)).split() for id in text.left}
            for kind in {kind for kind, _ in options.values()}:
                names = {name for each, listed in options.values() if each == kind
                         for name in listed.split(",")}  # fmt: skip
                chosen = (names, drop) if kind == "--fix" else (fix, names)
                after = mend(pairs, 1, Choices.of(*chosen), HELD_OUT)
                changed = {change.line for change in after.changes if change not in text.changes}
                for change in text.remaining:
                    assert options[change.id][0] != kind or change.line in changed, change.id
    assert left == {row.id for row in problems() if can_be_dropped(row.id)}
