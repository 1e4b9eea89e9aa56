"""A change to a pair, and its reason."""

from dataclasses import dataclass

from headway.data.corpus import Pair

HEAD = "line\tid\taction\tsource\ttarget\tnew source\tnew target"


@dataclass(frozen=True, slots=True)
class Change:
    """A pair that was repaired or dropped."""

    line: int
    """Of the pair in its file, counted from 1; of a moved target, that of its source."""
    id: str
    """Of the finding."""
    before: Pair
    after: Pair | None = None
    """None where the pair was dropped."""

    def __str__(self) -> str:
        r"""Return the columns of `HEAD`; a tab within text is `\t`, a line end `\n` or `\r`."""
        action = "dropped" if self.after is None else "repaired"
        texts = (*self.before, *(self.after or ("", "")))
        return "\t".join((str(self.line), self.id, action, *map(_escaped, texts)))


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\t", "\\t")
    return text.replace("\n", "\\n").replace("\r", "\\r")
