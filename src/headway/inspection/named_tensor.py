"""Tensors that know their name, their axes, and the pieces along these."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch._C import DisableTorchFunctionSubclass

from headway.errors import TraceError, suggest

_SPACE = "▁"
_SHOWN = 8  # pieces of an axis

Place = int | str | Sequence[int | str]
"""A place along an axis, or several, counted from 0 or named by their pieces."""


@dataclass(frozen=True, slots=True, repr=False)
class Axis:
    """One axis of a named tensor."""

    name: str
    """Batch, head, query, key, source, target, vocabulary, or a width."""
    letter: str
    """The letter of its length in the legend of `headway.model`."""
    pieces: tuple[str, ...] = ()
    """The piece at each place; a row of the target has the one that it writes. Empty if unknown."""
    reads: tuple[str, ...] = ()
    """For rows of the target only: the piece that each has just read, `<s>` first."""

    def __repr__(self) -> str:
        """Show the first pieces only: a vocabulary has thousands."""
        shown = ", ".join(map(repr, self.pieces[:_SHOWN]))
        more = f", … {len(self.pieces):,} in all" if len(self.pieces) > _SHOWN else ""
        pieces = f", pieces=({shown}{more})" if self.pieces else ""
        return f"Axis({self.name!r}, {self.letter!r}{pieces})"

    def label(self, place: int) -> str:
        """Return a place in words: its piece, or `reads → writes` for a row of the target."""
        if self.reads:
            return f"{self.reads[place]} → {self.pieces[place]}"
        return self.pieces[place] if self.pieces else str(place)

    def labels(self) -> tuple[str, ...]:
        """Return the label of each place; empty if the pieces are unknown."""
        return tuple(self.label(place) for place in range(len(self.pieces)))

    def find(self, place: int | str, length: int) -> int:
        """Return the number of a place, which may be named by the piece that is there.

        Raises TraceError if no place has this number or piece, or several have the piece.
        """
        if isinstance(place, str):
            return self._find_piece(place)
        try:
            place = operator.index(place)
        except TypeError:
            raise TraceError(
                f"{place!r} is not a place along the axis '{self.name}'.",
                f"Give a whole number, 0 to {length - 1}, or a token.",
            ) from None
        if not -length <= place < length:
            raise TraceError(
                f"The axis '{self.name}' has places 0 to {length - 1}, but not {place}.",
                "Count from 0, or from the end with negative numbers.",
            )
        return place % length

    def _find_piece(self, piece: str) -> int:
        if not self.pieces:
            raise TraceError(
                f"No tokens are known along the axis '{self.name}', so '{piece}' is nowhere.",
                "Give a number, counted from 0.",
            )
        exact = [n for n, text in enumerate(self.pieces) if text == piece]
        bare = [n for n, text in enumerate(self.pieces) if text.removeprefix(_SPACE) == piece]
        places = exact or bare
        if not places:
            known = set(self.pieces) if len(self.pieces) < 1000 else set()
            raise TraceError(
                f"There is no token '{piece}' along the axis '{self.name}'.",
                suggest(piece, known) if known else "Give a token of the vocabulary.",
            )
        if len(places) > 1:
            raise TraceError(
                f"The token '{piece}' is at places {', '.join(map(str, places))} of the axis "
                f"'{self.name}'.",
                "Give one of these numbers.",
            )
        return places[0]


class TracedTensor(Tensor):
    """A tensor with a name and named axes; results computed from it are plain tensors."""

    path: str
    axes: tuple[Axis, ...]

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Compute as if this were a plain tensor: a result has other axes, or none."""
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def at(self, **where: int | str) -> "TracedTensor":
        """Return the part at these places, such as `at(head=3, query="▁I", key=0)`.

        A piece names its place, or the row of the target that writes it.
        """
        index, axes = [], []
        check_axes(self.path, self.axes, where)
        for axis, length in zip(self.axes, self.shape, strict=True):
            if axis.name in where:
                index.append(axis.find(where[axis.name], length))
            else:
                index.append(slice(None))
                axes.append(axis)
        return named(self[tuple(index)], self.path, axes)

    def describe(self) -> str:
        """Return name and axes with their lengths on one line."""
        return f"{self.path}  {axes_text(self.axes, self.shape)}"

    def __repr__(self, *, tensor_contents: object = None) -> str:
        """Show name and axes above the numbers."""
        return f"{self.describe()}\n{self.detach()!r}"

    def __deepcopy__(self, memo: dict[int, Any]) -> "TracedTensor":
        """Copy numbers, name and axes."""
        return named(self.detach().clone(), self.path, self.axes)


def named(tensor: Tensor, path: str, axes: Sequence[Axis]) -> TracedTensor:
    """Return the tensor with a name and axes; it shares the memory."""
    traced = tensor.detach().as_subclass(TracedTensor)
    traced.path, traced.axes = path, tuple(axes)
    return traced


def check_axes(path: str, axes: Sequence[Axis], where: dict[str, Any]) -> None:
    """Raise TraceError for names of axes that a tensor does not have."""
    names = [axis.name for axis in axes]
    for name in where:
        if name not in names:
            raise TraceError(
                f"'{path}' has no axis '{name}'.",
                f"Its axes are {', '.join(names)}." if names else "Its axes have no names.",
            )


def axes_text(axes: Sequence[Axis], shape: Sequence[int]) -> str:
    """Return axes with their lengths, as `(head=8, query=12, key=11)`."""
    if not axes:
        return str(tuple(shape))
    pairs = zip(axes, shape, strict=True)
    return "(" + ", ".join(f"{axis.name}={length}" for axis, length in pairs) + ")"
