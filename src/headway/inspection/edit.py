"""Edits of one pass: zero or replace numbers, allow or forbid places of a mask while it runs.

An edit is an argument of a run. It makes new tensors and changes none, so that nothing of it
remains after the run.

    translator.trace(text, edit={"decoder.layers.1.cross_attention.heads": zero(head=3)})
    translator.trace(text, edit={"encoder.output": replace(other["encoder.output"])})
    translator.trace(text, edit={"target_mask": allow()})
    translator.trace(text, edit={"source_mask": forbid(key="▁너를")})
"""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headway.errors import TraceError, suggest
from headway.inspection.catalog import ALL_NAMES, matching
from headway.inspection.named_tensor import Axis, Place, check_axes

Kind = Literal["zero", "replace", "allow", "forbid"]


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """A change of a tensor; make one with `zero`, `replace`, `allow` or `forbid`."""

    kind: Kind
    where: Mapping[str, Place] = field(default_factory=dict)
    """Places by the names of axes; all of an axis that is not named."""
    value: Tensor | float | None = field(default=None, repr=False)

    def apply(self, name: str, tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
        """Return the edited tensor, a new one of the same shape and type."""
        self._check_type(name, tensor)
        value = self._value(name, tensor)
        return torch.where(self._region(name, tensor, axes), value, tensor)

    def each(self) -> "tuple[Edit, ...]":
        """Return the edits that this one consists of, in order: itself alone."""
        return (self,)

    def describe(self) -> str:
        """Return the edit as it is written in Python, without its numbers."""
        value = ["…"] if self.kind == "replace" else []
        return f"{self.kind}({', '.join([*value, *(f'{k}={v!r}' for k, v in self.where.items())])})"

    def _check_type(self, name: str, tensor: Tensor) -> None:
        is_mask = tensor.dtype == torch.bool
        if self.kind in ("allow", "forbid") and not is_mask:
            raise TraceError(
                f"'{self.kind}' is for masks, but '{name}' holds {tensor.dtype}.",
                "Use zero(…) or replace(…), or edit 'source_mask' or 'target_mask'.",
            )
        if self.kind == "zero" and is_mask:
            raise TraceError(
                f"'{name}' is a mask, which has no zeros.", "Use forbid(…), or allow(…)."
            )

    def _value(self, name: str, tensor: Tensor) -> Tensor:
        """Return the new values, of the tensor's shape or a single number."""
        if self.kind != "replace":
            return torch.tensor(self.kind == "allow", device=tensor.device).to(tensor.dtype)
        value = torch.as_tensor(self.value, device=tensor.device).detach()
        if value.dim() == tensor.dim() - 1 and value.dim():
            value = value.unsqueeze(0)  # from the trace of one sentence, which hides the batch
        if value.dim() and value.shape != tensor.shape:
            raise TraceError(
                f"The replacement of '{name}' has shape {tuple(value.shape)}, but the tensor "
                f"{tuple(tensor.shape)}.",
                "Take one from a run with as many tokens, or give a single number.",
            )
        if (value.dtype == torch.bool) is not (tensor.dtype == torch.bool):
            raise TraceError(
                f"The replacement of '{name}' holds {value.dtype}, but the tensor {tensor.dtype}.",
                "Replace a mask by a mask, and numbers by numbers.",
            )
        return value.to(tensor.dtype)

    def _region(self, name: str, tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
        """Return a mask that is True at the edited places."""
        check_axes(name, axes, dict(self.where))
        region = torch.ones_like(tensor, dtype=torch.bool)
        for dim, axis in enumerate(axes):
            if axis.name in self.where:
                places = _places(axis, self.where[axis.name], tensor.size(dim))
                chosen = torch.zeros(tensor.size(dim), dtype=torch.bool, device=tensor.device)
                chosen[places] = True
                region &= chosen.view(-1, *[1] * (tensor.dim() - dim - 1))
        return region


@dataclass(frozen=True, slots=True, eq=False)
class _Several(Edit):
    """Edits of one tensor, one after another."""

    edits: tuple[Edit, ...] = ()

    def apply(self, name: str, tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
        """Return the tensor after all edits."""
        for edit in self.edits:
            tensor = edit.apply(name, tensor, axes)
        return tensor

    def each(self) -> tuple[Edit, ...]:
        """Return the edits, in order."""
        return self.edits

    def describe(self) -> str:
        """Return the edits as they are written in Python, in order."""
        return ", then ".join(edit.describe() for edit in self.edits)


Edits = Mapping[str, Edit]
"""Edits by name; `*` in a name matches any characters."""


def zero(**where: Place) -> Edit:
    """Set numbers to 0: `zero(head=3)` on `….heads` switches a head off."""
    return Edit("zero", where)


def replace(value: Tensor | float, **where: Place) -> Edit:
    """Put other numbers in place: a tensor of the same shape, or one number for all places."""
    if not isinstance(value, Tensor | numbers.Number | np.ndarray):
        raise TraceError(
            f"A {type(value).__name__} cannot replace a number.", "Give a tensor, or one number."
        )
    return Edit("replace", where, value)


def allow(**where: Place) -> Edit:
    """Let all queries look at these places of a mask; without places, everywhere."""
    return Edit("allow", where)


def forbid(**where: Place) -> Edit:
    """Let no query look at these places of a mask; without places, nowhere."""
    return Edit("forbid", where)


def then(first: Edit, *others: Edit) -> Edit:
    """Edit one tensor several times, in this order: `then(zero(head=0), zero(head=3))`."""
    return _Several(first.kind, edits=(first, *others)) if others else first


def check_edits(edits: Edits, names: Sequence[str], derived: Sequence[str] = ()) -> None:
    """Raise TraceError for edits of names that no pass has."""
    check_kinds(edits)
    for pattern in edits:
        if matching(names, pattern):
            continue
        if matching(derived, pattern):
            raise TraceError(
                f"'{pattern}' is computed from a finished pass, so no pass can be edited there.",
                "Edit what it is made from; its equation in the catalog names that.",
            )
        raise TraceError(
            f"No pass has '{pattern}', so it cannot be edited.",
            suggest(pattern, names, ALL_NAMES),
        )


def check_kinds(edits: Edits) -> None:
    """Raise TraceError unless these are edits by name."""
    if not isinstance(edits, Mapping):
        raise TraceError(
            f"The edits are a {type(edits).__name__}.",
            "Give them by name, such as {'encoder.output': zero()}.",
        )
    for pattern, edit in edits.items():
        if not isinstance(edit, Edit):
            raise TraceError(
                f"The edit of '{pattern}' has the type {type(edit).__name__}.",
                "Make it with zero, replace, allow or forbid of headway.inspection.edit.",
            )


def _places(axis: Axis, wanted: Any, length: int) -> list[int]:
    try:
        several = [wanted] if isinstance(wanted, str) else list(wanted)
    except TypeError:  # one place, such as a tensor of one number
        several = [wanted]
    return [axis.find(place, length) for place in several]
