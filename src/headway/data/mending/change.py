"""A row of the log of a cleaning: a change to a pair, or a finding on a kept pair."""

from dataclasses import dataclass

from headway.data.corpus import Pair

HEAD = "line\tid\taction\tsource\ttarget\tnew source\tnew target"


@dataclass(frozen=True, slots=True)
class Change:
    """A pair that was repaired or dropped, or that is kept with a finding."""

    line: int
    """The line of the pair in its file, counted from 1 as `headway check` does; the line of the
    source if targets moved."""
    id: str
    """The id of the finding."""
    before: Pair
    after: Pair | None = None
    """None if the pair was dropped; equal to `before` if it is kept unchanged."""

    @property
    def action(self) -> str:
        """Return `dropped`, `repaired` or `left`."""
        if self.after is None:
            return "dropped"
        return "left" if self.after == self.before else "repaired"

    def __str__(self) -> str:
        r"""Return the columns of `HEAD`; a tab within text is `\t`, a line end `\n` or `\r`."""
        after = self.after if self.after and self.action == "repaired" else ("", "")
        texts = map(_escaped, (*self.before, *after))
        return "\t".join((str(self.line), self.id, self.action, *texts))


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\t", "\\t")
    return text.replace("\n", "\\n").replace("\r", "\\r")
