"""Where two files of different length part is said as far as their lines tell."""

import random
import re

import pytest

from headway.data import line_count_mismatch
from headway.data.line_count_mismatch import go_together_at_the_end, where_they_part

from .parallel_text import sentences

SOURCES, TARGETS = map(list, zip(*sentences(1900), strict=True))


def said(targets: list[str], sources: list[str] = SOURCES) -> str:
    return where_they_part(sources, targets, "b.en")


def about(text: str, *lines: int) -> str:
    """Return the text with # for its numbers of lines, after a look at these."""
    number = re.compile(r"(?<=lines )[\d,]*\d|(?<=line )[\d,]*\d|(?<=to )[\d,]*\d")
    found = [int(digits.replace(",", "")) for digits in number.findall(text)]
    assert found == [pytest.approx(line, abs=5) for line in lines]
    return number.sub("#", text)


def test_all_targets_from_a_line_on() -> None:
    assert about(said(TARGETS[:1200] + TARGETS[1201:]), 1201) == (
        " From about line # on, those of b.en seem to stand 1 line too early."
    )
    assert "line 1,20" in said(TARGETS[:1200] + TARGETS[1201:])
    assert said(["one", "two two", *TARGETS]) == (
        " From the first line on, those of b.en seem to stand 2 lines too late."
    )


def test_what_heals_and_what_does_not() -> None:
    moved = TARGETS[:100] + TARGETS[101:400] + ["new one", "new two"] + TARGETS[400:]
    assert about(said(moved), 101, 400, 400) == (
        " In about lines # to #, those of b.en seem to stand 1 line too early; "
        "from about line # on, they seem to stand 1 line too late."
    )
    healed = TARGETS[:1100] + TARGETS[1101:1400] + ["new one"] + TARGETS[1400:-1]
    assert about(said(healed), 1101, 1400) == (
        " In about lines # to #, those of b.en seem to stand 1 line too early."
    )
    assert " to 1,40" in said(healed) or " to 1,39" in said(healed)


def test_of_many_stretches_three_are_named() -> None:
    four = [line for n, line in enumerate(TARGETS, 1) if n not in (300, 700, 1100, 1500)]
    found = said(four)
    assert found.count(" they ") == 2
    assert found.endswith("seem to stand 3 lines too early; and so on.")


def test_spaces_around_lines_tell_nothing() -> None:
    sources = [f"{line}{' ' * (n * n % 997)}\r" for n, line in enumerate(SOURCES)]
    targets = [f"{' ' * (n**3 % 997)}{line}\r" for n, line in enumerate(TARGETS)]
    assert said(targets[:500] + targets[501:], sources) == said(TARGETS[:500] + TARGETS[501:])


@pytest.mark.parametrize("missing", [90, 399, 460, 1000, 1460, 1700])
def test_long_files_are_looked_at_where_lengths_part(
    missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_count_mismatch, "_BLOCK", 400)
    lengths = []

    def counted(sources: list[str], targets: list[str]):
        lengths.append(len(sources))
        return unequal_misaligned(sources, targets)

    unequal_misaligned = line_count_mismatch.misaligned
    monkeypatch.setattr(line_count_mismatch, "misaligned", counted)
    assert about(said(TARGETS[:missing] + TARGETS[missing + 1 :]), missing) == (
        " From about line # on, those of b.en seem to stand 1 line too early."
    )
    (lines,) = lengths
    assert lines <= 800


def test_text_without_a_common_order_takes_three_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_count_mismatch, "_BLOCK", 100)
    looks = []
    monkeypatch.setattr(line_count_mismatch, "misaligned", lambda *sides: looks.append(sides) or [])
    assert said(TARGETS[::-1]) == ""
    assert len(looks) == 3


def test_where_nothing_tells_nothing_is_said() -> None:
    assert said(TARGETS[:-1]) == ""
    assert said([]) == ""
    assert said(["x"] * 1700) == ""


def test_whether_only_an_end_is_missing() -> None:
    assert go_together_at_the_end(SOURCES, TARGETS[:1500])
    assert go_together_at_the_end(SOURCES[:1500], TARGETS)
    moved_amid = TARGETS[:400] + TARGETS[401:700] + ["new one"] + TARGETS[700:1500]
    assert go_together_at_the_end(SOURCES, moved_amid)
    assert not go_together_at_the_end(SOURCES, TARGETS[:1200] + TARGETS[1201:])
    assert not go_together_at_the_end(SOURCES, TARGETS[:299])  # too few to tell
    assert not go_together_at_the_end(["a"] * 400, ["b"] * 300)
    assert not go_together_at_the_end([], TARGETS)


@pytest.mark.parametrize("seed", [134, 0, 1])
def test_files_that_have_nothing_in_common_are_given_no_place(seed: int) -> None:
    """By chance, one of the shifts may look best, as with the first seed."""
    rng = random.Random(seed)

    def unrelated(lines: int) -> list[str]:
        return [
            " ".join(["word"] * rng.randint(3, 25)) + ("?" if rng.random() < 0.2 else "")
            for _ in range(lines)
        ]

    sources, targets = unrelated(200), unrelated(209)
    assert said(targets, sources) == (
        " From the first line on, those of b.en seem to be of other sources."
    )
