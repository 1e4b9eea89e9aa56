"""Repair or drop the findings of `headway check`, in rounds while new ones may appear."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from headway.data.composition import composed
from headway.data.corpus import Pair
from headway.data.finding import Finding, by_harm
from headway.data.harmless import OUTER_SPACES, outer_characters
from headway.data.html_codes import decoded
from headway.data.mending.change import Change
from headway.data.mending.choices import Choices
from headway.data.misaligned import misaligned
from headway.data.mojibake import undone
from headway.data.repeats import HeldOutPairs
from headway.data.spaces import with_plain_spaces
from headway.data.stretches import Stretch
from headway.data.survey import survey

_MOST_REALIGNED = 3  # rounds of realigning, because a repair may reveal a shorter stretch
_MOST_DROPPED = 3  # rounds of dropping, because without long lines others may be unusual

EXAMPLES = 3
"""Number of remaining lines that are shown for each finding."""

Repair = Callable[[str, str], str]


def _without_mojibake(text: str, _: str) -> str:
    return text if text.isascii() else undone(text)


def _composed(text: str, _: str) -> str:
    return composed(text)


def _with_plain_spaces(text: str, _: str) -> str:
    return with_plain_spaces(text)


# In this order, because a code may have been decoded wrongly, `&#776;` is a combining mark, and
# `&nbsp;` is a space.
_OF_CHARACTERS: dict[str, Repair] = {
    "mojibake": _without_mojibake,
    "html-codes": decoded,
    "decomposed": _composed,
    "spaces": _with_plain_spaces,
}


@dataclass(slots=True)
class MendedText:
    """Pairs that are being cleaned, without spaces around them."""

    pairs: list[Pair]
    lines: list[int]
    """The line of each pair in its file, counted from 1."""
    changes: list[Change] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    """The number of lines that each finding still has at the end."""
    examples: dict[str, list[tuple[int, Pair]]] = field(default_factory=dict)
    """Three of these lines, each with its number in the file: the first ones, or the middle ones of
    a stretch."""
    remaining: list[Change] = field(default_factory=list)
    """All of these lines, as rows of the log."""
    trimmed: Counter[str] = field(default_factory=Counter)
    """The number of pairs that lost characters, as `outer_characters` counts them."""
    trims: list[Change] = field(default_factory=list)
    """The pairs that lost spaces around a side, as rows of the log."""

    def repair(self, row: int, id: str, after: Pair) -> None:
        """Replace a pair."""
        self.changes.append(Change(self.lines[row], id, self.pairs[row], after))
        self.pairs[row] = after

    def drop(self, ids: dict[int, str]) -> None:
        """Drop rows, each for the finding of this id."""
        self.changes += [Change(self.lines[row], id, self.pairs[row]) for row, id in ids.items()]
        kept_rows = [row for row in range(len(self.pairs)) if row not in ids]
        self.pairs = [self.pairs[row] for row in kept_rows]
        self.lines = [self.lines[row] for row in kept_rows]


def mend(
    pairs: Sequence[Pair], first_line: int, choices: Choices, held_out: HeldOutPairs | None = None
) -> MendedText:
    """Return the pairs after all repairs and drops, with each change and the remaining findings.

    Characters are repaired first, then exchanged sides, then shifted stretches, because dropping a
    line would shift the lines after it. Then lines are dropped, three times at most, because
    without them others may be unusual. If only empty, repeated and held-out pairs are dropped, no
    new findings appear, and the text is not surveyed again. held_out: finds the pairs that are in
    validation text.
    """
    text = MendedText(
        [pair.stripped() for pair in pairs],
        list(range(first_line, first_line + len(pairs))),
        trimmed=outer_characters(pairs),
        trims=list(_trims(pairs, first_line)),
    )
    swapped: set[int] = set()
    realigned = dropped = 0
    _repair_characters(text, choices)
    while True:
        findings = survey(text.pairs)
        if held_out:
            findings = by_harm([*findings, *held_out.findings(text.pairs)])
        exchanged = {
            row
            for finding in findings
            if choices.fixes(finding.id) and finding.id == "exchanged"
            for row in _rows(finding)
            if text.lines[row] not in swapped
        }
        if exchanged:
            for row in sorted(exchanged):
                swapped.add(text.lines[row])
                text.repair(row, "exchanged", Pair(*text.pairs[row][::-1]))
            _repair_characters(text, choices)  # a repair depends on the other side, which changed
            continue
        is_shifted = choices.fixes("misaligned") and realigned < _MOST_REALIGNED
        if is_shifted and _realign(text, findings):
            realigned += 1
            _repair_characters(text, choices)
            continue
        gone = _to_drop(findings, choices) if dropped < _MOST_DROPPED else {}
        if not gone or choices.drops_safely():
            for finding in findings:
                if stay := [row for row in _rows(finding) if row not in gone]:
                    text.left[finding.id] += len(stay)
                    text.remaining += [
                        Change(text.lines[row], finding.id, text.pairs[row], text.pairs[row])
                        for row in stay
                    ]
                    examples = text.examples.setdefault(finding.id, [])
                    examples += [
                        (text.lines[row], text.pairs[row])
                        for row in _examples(finding, stay)[: EXAMPLES - len(examples)]
                    ]
            text.drop(gone)
            return text
        text.drop(gone)
        dropped += 1


def _trims(pairs: Sequence[Pair], first_line: int) -> Iterator[Change]:
    for line, pair in enumerate(pairs, first_line):
        before = Pair(*(side.removesuffix("\r") for side in pair))
        if before != (after := before.stripped()):
            yield Change(line, OUTER_SPACES, before, after)


def with_repaired_characters(pairs: Sequence[Pair], choices: Choices) -> list[Pair]:
    """Return the pairs after the chosen repairs of characters, in their order."""
    text = MendedText([pair.stripped() for pair in pairs], list(range(len(pairs))))
    _repair_characters(text, choices)
    return text.pairs


def _examples(finding: Finding, rows: Sequence[int]) -> Sequence[int]:
    """Return the first of these rows, or those in the middle of a stretch.

    The ends of a stretch may be off by a few lines.
    """
    start = 0 if finding.through is None else max(len(rows) - EXAMPLES, 0) // 2
    return rows[start : start + EXAMPLES]


def _repair_characters(text: MendedText, choices: Choices) -> None:
    """Apply the chosen repairs of characters to each pair, until nothing changes any more.

    A repair depends on the other side, which may have changed.
    """
    repairs = [(id, repair) for id, repair in _OF_CHARACTERS.items() if choices.fixes(id)]
    for row in range(len(text.pairs)):
        before = None
        while before != text.pairs[row]:
            before = text.pairs[row]
            for id, repair in repairs:
                source, target = text.pairs[row]
                new = Pair(repair(source, target), repair(target, source)).stripped()
                if new.source != source:
                    text.repair(row, f"{id}-source", Pair(new.source, target))
                if new.target != target:
                    text.repair(row, f"{id}-target", new)


def _realign(text: MendedText, findings: Sequence[Finding]) -> bool:
    """Move targets of shifted stretches to their sources; return False without any stretch."""
    if not any(finding.id == "misaligned" for finding in findings):
        return False
    sources, targets = ([pair[side] for pair in text.pairs] for side in (0, 1))
    compared = (list(map(composed, texts)) for texts in (sources, targets))
    stretches = [s for s in misaligned(*compared) if s.late is not None]
    places = partners(len(text.pairs), stretches)
    for row, place in enumerate(places):
        if place is not None and place != row:
            text.repair(row, "misaligned", Pair(sources[row], targets[place]))
    text.drop({row: "misaligned" for row, place in enumerate(places) if place is None})
    return bool(stretches)


def partners(lines: int, stretches: Sequence[Stretch]) -> list[int | None]:
    """Return for each source, counted from 0, the place of its target; None if it has none.

    Stretches whose targets have no source nearby stay as they are. If a stretch claims the target
    of a source outside of it, that source has none. If two stretches claim a target, the first one
    gets it.
    """
    partner: list[int | None] = list(range(lines))
    claimed: set[int] = set()
    for start, end, late in stretches:
        if late is None:
            continue
        for source in range(start, end):
            target = source + late
            is_free = 0 <= target < lines and target not in claimed
            partner[source] = target if is_free else None
            claimed |= {target} if is_free else set()
    moved = {n for start, end, late in stretches if late is not None for n in range(start, end)}
    return [
        None if place in claimed and source not in moved else place
        for source, place in enumerate(partner)
    ]


def _to_drop(findings: Sequence[Finding], choices: Choices) -> dict[int, str]:
    """Return the rows to drop, each with the id of its most harmful finding."""
    dropped: dict[int, str] = {}
    for finding in findings:  # the most harmful first
        if choices.drops(finding.id):
            for row in _rows(finding):
                dropped.setdefault(row, finding.id)
    return dropped


def _rows(finding: Finding) -> Iterator[int]:
    if finding.through is not None:
        yield from range(finding.lines[0] - 1, finding.through)
    else:
        yield from (line - 1 for line in finding.lines)
