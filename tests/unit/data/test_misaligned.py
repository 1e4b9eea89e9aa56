"""Sides that are moved against each other are found by their text, and others are left alone."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headway.data.misaligned import SHIFTS, _course, misaligned
from headway.data.stretches import Stretch

from .parallel_text import sentences

Sides = tuple[list[str], list[str]]


def sides(count: int, seed: int = 0) -> Sides:
    sources, targets = zip(*sentences(count, seed), strict=True)
    return list(sources), list(targets)


def moved(count: int, start: int, end: int, late: int, seed: int = 0) -> Sides:
    """Return text of which the targets of some lines stand `late` lines later than their source."""
    sources, targets = sides(count, seed)
    targets[start:end] = targets[start - late : end - late]
    return sources, targets


@pytest.mark.parametrize("late", [late for late in SHIFTS if late])
def test_a_stretch_is_found_where_it_is(late: int) -> None:
    for seed in range(3):
        (found,) = misaligned(*moved(400, 150, 190, late, seed))
        assert found.late == late
        assert abs(found.start - 150) <= 6  # at its ends there are targets of no source here
        assert abs(found.end - 190) <= 6


@pytest.mark.parametrize("late", [6, -8, 57, -200])
def test_a_stretch_that_is_moved_far_is_found_with_its_distance(late: int) -> None:
    for seed in range(3):
        (found,) = misaligned(*moved(1200, 450, 750, late, seed))
        assert found.late == late
        assert abs(found.start - 450) <= 10
        assert abs(found.end - 750) <= 10


def test_a_text_that_is_moved_far_as_a_whole_is_found() -> None:
    sources, targets = sides(500)
    targets = [f"{text}{chr(0x4E00 + n)}" for n, text in enumerate(targets)]  # all different
    assert misaligned(sources[13:], targets[:-13]) == [Stretch(0, 487, 13)]
    assert misaligned(sources[:-20], targets[20:]) == [Stretch(0, 480, -20)]


def test_lines_that_go_with_sources_too_far_away_are_said_to_go_with_none() -> None:
    (found,) = misaligned(*moved(1200, 450, 750, 201))
    assert found.late is None


@pytest.mark.parametrize("late", [-5, -1, 3])
def test_exchanged_sides_are_moved_the_other_way(late: int) -> None:
    sources, targets = moved(400, 150, 250, late)
    (found,) = misaligned(sources, targets)
    (exchanged,) = misaligned(targets, sources)
    assert found.late == -(exchanged.late or 0) == late
    assert abs(found.start - exchanged.start) <= 4
    assert abs(found.end - exchanged.end) <= 4


def test_text_that_is_moved_as_a_whole_is_found() -> None:
    sources, targets = sides(500)
    assert misaligned(sources[2:], targets[:-2]) == [Stretch(0, 498, 2)]
    # Before the first line there is no source that could tell about its target.
    assert misaligned(sources[:-1], targets[1:]) == [Stretch(1, 499, -1)]


def test_each_of_several_stretches_is_found() -> None:
    sources, targets = sides(1200)
    del targets[200:201]  # from there on one line too early,
    del targets[600:602]  # then three,
    del sources[900:903]  # and right again
    found = misaligned(*zip(*zip(sources, targets, strict=False), strict=True))
    assert [stretch.late for stretch in found] == [-1, -3]
    borders = [border for stretch in found for border in stretch[:2]]
    np.testing.assert_allclose(borders, [200, 600, 600, 900], atol=4)


def test_lines_that_say_nothing_do_not_end_a_stretch() -> None:
    sources, targets = sides(1000)
    sources, targets = sources[:-1], targets[1:]
    sources[300:700], targets[300:700] = ["same"] * 400, ["same length"] * 400
    assert misaligned(sources, targets) == [Stretch(1, 999, -1)]
    sources[400:500], targets[400:500] = sides(100)  # these are right, and end it
    first, second = misaligned(sources, targets)
    assert first.late == second.late == -1
    assert first.end <= 403
    assert second.start >= 497


@pytest.mark.parametrize("seed", range(20))
def test_aligned_text_is_left_alone(seed: int) -> None:
    for count in (50, 60, 100, 1000):
        assert misaligned(*sides(count, seed)) == []


def test_text_sorted_by_length_is_left_alone_unless_it_is_moved() -> None:
    pairs = sorted(sentences(2000), key=lambda pair: len(pair.source))
    sources, targets = ([text for text in side] for side in zip(*pairs, strict=True))
    assert misaligned(sources, targets) == []
    targets = [f"{target} {source.split()[-1]}" for source, target in pairs]
    assert misaligned(sources, targets) == []
    (found,) = misaligned(sources[:-1], targets[1:])
    assert found.late == -1
    assert found.start <= 10
    assert found.end == 1999


@pytest.mark.parametrize("question", ["?", "\uff1f"])
def test_questions_show_what_lengths_do_not(question: str) -> None:
    marks = [random.Random(n).choice([question, "."]) for n in range(800)]
    sources, targets = [f"und{mark}" for mark in marks], [f"and{mark}" for mark in marks]
    assert misaligned(sources, targets) == []
    (found,) = misaligned(sources[:-1], targets[1:])
    assert found.late == -1
    assert found.start <= 10
    assert found.end == 799


def test_a_word_of_many_lines_tells_nothing() -> None:
    """As a code of three that is everywhere: neighbours of a line often share it."""
    rng = random.Random(5)
    words = [rng.choice(["ok", "no", "go"]) for _ in range(600)]
    sources, targets = [f"ein {word}" for word in words], [f"one {word}" for word in words]
    assert misaligned(sources, targets[1:] + targets[:1]) == []


def test_names_and_numbers_show_what_lengths_do_not() -> None:
    rng = random.Random(1)
    names = [f"Nr{rng.randint(100, 999)}" for _ in range(500)]
    sources, targets = [f"ein {n} hier" for n in names], [f"here {n.upper()} one" for n in names]
    assert misaligned(sources, targets) == []
    targets[200:230] = targets[201:231]
    (found,) = misaligned(sources, targets)
    assert found.late == -1
    assert abs(found.start - 200) <= 3
    assert abs(found.end - 230) <= 3


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 7])
def test_lines_that_are_lost_all_over_the_text_are_found(lost: int) -> None:
    """Also where most lines are wrong, and none of the shifts is that of most."""
    sources, targets = sides(2000)
    places = [2000 * (number + 1) // (lost + 1) for number in range(lost)]
    for place in reversed(places):
        del targets[place]
    found = misaligned(sources[: len(targets)], targets)
    late = [*range(-1, -min(lost, 5) - 1, -1), *[None] * (lost > 5)]
    assert [stretch.late for stretch in found] == late
    starts = [stretch.start for stretch in found]
    np.testing.assert_allclose(starts, places[: len(starts)], atol=6)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_where_text_is_replaced_by_other_text_is_found(share: float) -> None:
    sources, targets = sides(3000)
    start = round(3000 * share)
    targets[start:] = sides(3000, 8)[1][start:]
    (found,) = misaligned(sources, targets)
    assert found.late is None
    assert abs(found.start - start) <= 8
    assert found.end == 3000


@pytest.mark.parametrize("times", [2, 3, 5, 10])
def test_several_translations_of_a_source_are_left_alone(times: int) -> None:
    for seed in range(5):
        sources, targets = (
            [text for text in side for _ in range(times)] for side in sides(900, seed)
        )
        assert misaligned(sources, targets) == []
        varied = [f"{text}{'x' * (n % times)}" for n, text in enumerate(targets)]
        assert misaligned(sources, varied) == []
        assert misaligned(varied, sources) == []


@pytest.mark.parametrize("length", range(9, 15))
def test_lengths_that_are_all_the_same_say_nothing(length: int) -> None:
    """The spread of equal numbers is not always computed as 0."""
    rng = random.Random(length)
    names = [f"Nr{rng.randint(100, 999)}" for _ in range(500)]
    sources = [f"{'s' * length} {name}" for name in names]
    targets = [f"{'t' * (length + 3)} {name}" for name in names]
    sources[199] += " sssssssssssss"
    targets[199] += " sssssssssssssssssssss"
    targets[200:230] = targets[201:231]
    (found,) = misaligned(sources, targets)
    assert found.late == -1


def test_lines_that_belong_to_none_nearby_are_found() -> None:
    sources, targets = sides(1000)
    targets[300:500] = random.Random(2).sample(targets[300:500], 200)
    (found,) = misaligned(sources, targets)
    assert found.late is None
    assert abs(found.start - 300) <= 5
    assert abs(found.end - 500) <= 5


@pytest.mark.parametrize("seed", [51, 65])
def test_chance_does_not_say_how_far_other_lines_are_moved(seed: int) -> None:
    # Of some 390 distances there is one by which the lengths correlate by more than a half.
    sources, targets = sides(300, seed)
    targets[200:250] = random.Random(seed).sample(targets[200:250], 50)
    assert [stretch.late for stretch in misaligned(sources, targets)] == [None]


def test_two_sides_that_have_nothing_to_do_with_each_other_are_found() -> None:
    sources, _ = sides(1000, 1)
    _, targets = sides(1000, 2)
    targets = [f"{text}{chr(0x4E00 + n)}" for n, text in enumerate(targets)]  # all different
    assert misaligned(sources, targets) == [Stretch(0, 1000, None)]


@pytest.mark.parametrize("count", [50, 60, 100])
def test_chance_agreement_of_a_few_lines_is_no_stretch(count: int) -> None:
    for seed in range(50):
        sources, _ = sides(count, seed)
        targets = [
            f"{n}. {'x' * random.Random(seed * 999 + n).randint(1, 90)}" for n in range(count)
        ]
        assert misaligned(sources, targets) in ([], [Stretch(0, count, None)])


def test_labels_and_lines_of_one_length_are_not_expected_to_go_together() -> None:
    sources, _ = sides(1000)
    labels = [random.Random(n).choice(["sport", "economy", "weather report"]) for n in range(1000)]
    assert misaligned(sources, labels) == []
    assert misaligned(["aa"] * 300, ["bb"] * 300) == []
    assert misaligned(sources, ["right"] * 1000) == []


def test_a_few_commands_amid_sentences_are_not_called_moved() -> None:
    """By the words that they share, some of them go best with a neighbour."""
    rng = random.Random(2)
    sources, targets = sides(12_000, 2)
    for line in range(12_000):
        name = rng.randint(100, 9999)
        sources[line], targets[line] = f"{sources[line]} Nr{name}", f"{targets[line]} Nr{name}"
    rng = random.Random(2)
    verbs = ["jump", "walk", "turn", "left", "run", "look", "twice"]
    commands = [rng.choices(verbs, k=rng.randint(1, 4)) for _ in range(100)]
    sources[1500:1500] = [" ".join(command) for command in commands]
    targets[1500:1500] = [
        " ".join(f"{verb} " * rng.choice([1, 2, 4, 6]) for verb in command) for command in commands
    ]
    assert misaligned(sources, targets) == []


def test_entries_of_about_one_length_amid_sentences_are_not_called_unrelated() -> None:
    rng = random.Random(1)
    sources, targets = sides(1000)
    sources[400:400] = [f"wort{'e' * rng.randint(0, 3)}" for _ in range(60)]
    targets[400:400] = [f"translated as {'word ' * 6}{'x' * rng.randint(0, 5)}" for _ in range(60)]
    assert misaligned(sources, targets) == []


def test_two_lines_of_a_length_of_their_own_do_not_decide_for_others() -> None:
    sources = ["gleich " * 5 + f"{n}" for n in range(500)]
    targets = ["as long " * 4 + f"{n}" for n in range(500)]
    sources[400], targets[401] = "wort " * 3000, "word " * 3000
    assert misaligned(sources, targets) == []


def test_four_wrong_lines_are_too_few_for_a_stretch() -> None:
    for seed in range(20):
        sources, targets = sides(3000, seed)
        for line in range(3000):
            name = random.Random(seed * 9999 + line).randint(1000, 99999)
            sources[line] += f" Nr{name} Zl{name} Fn{name}"
            targets[line] += f" Nr{name} Zl{name} Fn{name}"
        targets[800:804] = targets[1800:1804]
        assert misaligned(sources, targets) == []


def test_text_that_is_half_of_other_sources_is_not_called_moved_by_chance() -> None:
    for seed in range(30):
        sources, targets = sides(400, seed)
        sources = [text[: 3 + len(text) // 9] for text in sources]  # which tell little
        targets[120:] = random.Random(seed).sample(targets[120:], 280)
        assert all(stretch.late is None for stretch in misaligned(sources, targets))


def test_of_a_few_lines_nothing_is_said() -> None:
    sources, targets = sides(51, 1)
    assert misaligned(sources[:-1], targets[1:]) != []
    assert misaligned(sources[:-2], targets[1:-1]) == []
    assert misaligned([], []) == []


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(2, 3)),
        elements=st.integers(-30, 30).map(float),
    )
)
def test_the_course_is_the_best_of_all(evidence: np.ndarray) -> None:
    def worth(course: tuple[int, ...]) -> float:
        changes = (course[0] != 0) + sum(a != b for a, b in itertools.pairwise(course))
        return evidence[range(len(course)), course].sum() - 10.0 * changes

    lines, columns = evidence.shape
    best = max(map(worth, itertools.product(range(columns), repeat=lines)))
    assert worth(tuple(_course(evidence).tolist())) == best
