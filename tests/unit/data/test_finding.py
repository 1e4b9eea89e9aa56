"""A finding reads as a line, and is plain values for JSON."""

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines


def test_a_finding_reads_as_a_line() -> None:
    assert str(Finding("empty-source", "empty source", 1, (7,))) == "empty source: 1 (line 7)"
    lines = (7, 8, 9, 10, 1100, *range(1200, 2395))
    assert str(Finding("empty-source", "empty source", 1200, lines)) == (
        "empty source: 1,200 (lines 7, 8, 9, 10, 1,100, …)"
    )
    assert str(Finding("empty-source", "empty source", 5, lines[:5])).endswith(" 1,100)")
    earlier = Finding(
        "duplicate-pairs", "pair seen before", 1200, lines, earlier=(1, 2, 1, 1, 1000, *lines[5:])
    )
    assert str(earlier) == (
        "pair seen before: 1,200 (lines 7 as 1, 8 as 2, 9 as 1, 10 as 1, 1,100 as 1,000, …)"
    )


def test_the_ends_of_a_stretch_are_about_right() -> None:
    moved = Finding("misaligned", "targets seem to stand 1 line too late", 1234, (7,), through=1240)
    assert str(moved) == "targets seem to stand 1 line too late: 1,234 (about lines 7 to 1,240)"


def test_it_is_plain_values_of_what_there_is() -> None:
    assert on_lines("empty-source", "empty source", iter([4, 7])).as_dict() == {
        "id": "empty-source",
        "problem": "empty source",
        "count": 2,
        "lines": [4, 7],
    }
    assert Finding("misaligned", "moved", 3, (2,), through=4).as_dict()["through"] == 4
    assert Finding("duplicate-pairs", "pair seen before", 1, (5,), earlier=(2,)).as_dict()[
        "earlier"
    ] == [2]


def test_the_remedy_of_a_rule_of_training_text_is_another_one_elsewhere() -> None:
    copies = Finding("copies", "both sides the same", 1, (7,))
    assert copies.remedy == "--set data.drop_identical=true"
    assert copies.remedy_held_out == "headway clean --drop empty,duplicates,copies"
    moved = Finding("misaligned", "moved", 3, (2,), through=4)
    assert moved.remedy == moved.remedy_held_out == "headway clean"


def test_the_example_of_a_stretch_is_the_line_in_its_middle() -> None:
    pairs = [Pair(f"source {line}", f"target {line}\r") for line in range(1, 12)]
    moved = Finding("misaligned", "moved", 5, (4,), through=10).with_example(pairs)
    assert moved.example_line == 7
    assert moved.as_dict()["example"] == {"line": 7, "source": "source 7", "target": "target 7"}
    copies = Finding("copies", "both sides the same", 3, (2, 5, 9)).with_example(pairs)
    assert (copies.example_line, copies.example) == (2, Pair("source 2", "target 2"))
