"""Compare two traces of one sentence: the effect of an edit, or of another model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from headway.errors import TraceError
from headway.inspection.phrases import Language, say
from headway.inspection.steps import TargetRow, target_rows
from headway.inspection.trace import Trace


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """The differences after an edit."""

    before: tuple[TargetRow, ...]
    after: tuple[TargetRow, ...]
    moved: tuple[tuple[str, float], ...]
    """Tensors with the norm of their difference divided by their norm, the largest first."""

    def sentence(self, language: Language = "en") -> str:
        """Return one or two sentences on the largest change."""
        pairs = list(zip(self.before, self.after, strict=True))
        changes = [abs(new.probability - old.probability) for old, new in pairs]
        place = max(range(len(changes)), key=changes.__getitem__)
        if changes[place] == 0:
            return say("unchanged", language)
        old, new = pairs[place]
        text = say(
            "changed", language, step=place + 1, piece=old.writes,
            before=f"{old.probability:.4f}", after=f"{new.probability:.4f}",
        )  # fmt: skip
        best, share = new.best[0]
        if best == old.best[0][0]:
            return text
        return text + say("changed_best", language, best=best, share=f"{share:.4f}")


def compare(before: Trace, after: Trace, count: int = 5) -> TraceComparison:
    """Compare two traces of the same source and target pieces.

    count: the number of tensors in `moved`. Raises TraceError if the pieces differ, because their
    rows then do not correspond.
    """
    if before.sentence is None or after.sentence is None or _pieces(before) != _pieces(after):
        raise TraceError(
            "The two traces have different tokens, so their rows cannot be compared.",
            "Trace the same source with the same target twice.",
        )
    moved = sorted(_moved(before, after), key=lambda pair: -pair[1])
    return TraceComparison(
        tuple(target_rows(before)), tuple(target_rows(after)), tuple(moved[:count])
    )


def _pieces(trace: Trace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    assert trace.sentence is not None
    return trace.sentence.source_pieces, trace.sentence.writes


def _moved(before: Trace, after: Trace) -> Iterator[tuple[str, float]]:
    for name, tensor in before.items():
        if name not in after or not tensor.is_floating_point():
            continue
        old, new = _numbers(tensor), _numbers(after[name])
        if old.shape != new.shape or torch.equal(old, new):
            continue
        # If both are minus infinity, as under a mask, nothing has moved.
        gap = (new - old).where(old != new, 0.0).norm()
        if not gap.isfinite():
            continue  # masked scores under another mask: the scores and the mask say what moved
        norm = old[old.isfinite()].norm()
        yield name, float(gap / norm) if norm > 0 else math.inf


def _numbers(tensor: Tensor) -> Tensor:
    return tensor.detach().as_subclass(Tensor).double()
