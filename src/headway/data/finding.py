"""Suspicious content of a text, in words and by lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headway.data.corpus import Pair
from headway.data.problems import problem_of

_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of suspicion and its lines."""

    id: str
    """A short name that stays the same: a row of `headway.data.problems`."""
    problem: str
    count: int
    lines: tuple[int, ...]
    """All of them, counted from 1; of a stretch the first."""
    through: int | None = None
    """The last line of a stretch."""
    earlier: tuple[int, ...] = ()
    """For each of the lines, the first line with the same content; empty for other findings."""
    example: Pair | None = None
    """The text of `example_line`; None if it was not looked up."""

    def __str__(self) -> str:
        """Return the finding as one line of text."""
        if self.through is not None:
            lines = f"{self.lines[0]:,} to {self.through:,}"
            return f"{self.problem}: {self.count:,} (about lines {lines})"
        shown = [f"{line:,}" for line in self.lines[:_EXAMPLES]]
        if self.earlier:
            shown = [f"{n} as {of:,}" for n, of in zip(shown, self.earlier, strict=False)]
        more = ", …" if self.count > _EXAMPLES else ""
        noun = "line" if self.count == 1 else "lines"
        return f"{self.problem}: {self.count:,} ({noun} {', '.join(shown)}{more})"

    @property
    def example_line(self) -> int:
        """Return the first line, or the middle one of a stretch, whose ends may be off."""
        return self.lines[0] if self.through is None else (self.lines[0] + self.through) // 2

    def with_example(self, pairs: Sequence[Pair]) -> "Finding":
        """Return the finding with the pair of its example; pairs are all those of the text."""
        example = pairs[self.example_line - 1]
        return replace(self, example=Pair(*(side.rstrip("\r") for side in example)))

    @property
    def remedy(self) -> str:
        """Return the remedy in training text, a verb phrase or a command."""
        return problem_of(self.id).remedy

    @property
    def remedy_held_out(self) -> str:
        """Return the remedy in validation or test text, where the rules of [data] do not apply."""
        problem = problem_of(self.id)
        return problem.held_out or problem.remedy

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `through`, `earlier` and `example` only if they are set."""
        values = {
            "id": self.id,
            "problem": self.problem,
            "count": self.count,
            "lines": list(self.lines),
        }
        if self.through is not None:
            values["through"] = self.through
        if self.earlier:
            values["earlier"] = list(self.earlier)
        if self.example is not None:
            values["example"] = {"line": self.example_line} | self.example._asdict()
        return values


def on_lines(id: str, problem: str, lines: Iterable[int]) -> Finding:
    """Return a finding on these lines, counted from 1."""
    numbers = tuple(lines)
    return Finding(id, problem, len(numbers), numbers)


def by_harm(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that have lines, the most harmful first, in a stable order."""
    return sorted(
        (finding for finding in findings if finding.count),
        key=lambda finding: problem_of(finding.id).rank,
    )
