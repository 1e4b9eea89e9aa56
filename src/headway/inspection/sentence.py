"""The sentence of a trace: its pieces, and their places along the axes."""

from dataclasses import dataclass, field, replace

from headway.inspection.named_tensor import Axis


@dataclass(frozen=True, slots=True)
class TracedSentence:
    """One source with one target; a row of the target reads a piece and writes the next one."""

    source: str
    target: str
    source_ids: tuple[int, ...]
    """S of them, the end symbol included."""
    target_ids: tuple[int, ...]
    """T of them: the start symbol, then all pieces but the end symbol (shifted right)."""
    label_ids: tuple[int, ...]
    """T of them: the id that each row should write, the end symbol last."""
    source_pieces: tuple[str, ...]
    reads: tuple[str, ...]
    """The pieces of target_ids."""
    writes: tuple[str, ...]
    """The pieces of label_ids."""
    vocabulary: tuple[str, ...] = field(default=(), repr=False)
    """The piece of each of the V columns of the logits."""

    def attach(self, axis: Axis) -> Axis:
        """Return the axis with its pieces; widths and heads have none."""
        if axis.name == "vocabulary":
            return replace(axis, pieces=self.vocabulary)
        if axis.letter == "S":
            return replace(axis, pieces=self.source_pieces)
        if axis.letter != "T":
            return axis
        if axis.name == "key":  # a key belongs to a piece that has been read
            return replace(axis, pieces=self.reads)
        return replace(axis, pieces=self.writes, reads=self.reads)
