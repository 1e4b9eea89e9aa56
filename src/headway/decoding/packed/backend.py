"""The operations that the packed engine needs; PyTorch and Numba each have a backend of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.weights import Projection

Precision = Literal["float32", "bfloat16", "int8"]
Array = Any
"""A float32 array of the kind that the backend works with; the engine only hands it on."""
Linear = Callable[[Array], Array]
Listed = Callable[[Array, Ints, AllowedPieces], Array]
Owners = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Heads:
    """How an attention is divided."""

    num_heads: int
    d_k: int
    d_v: int


class Backend(Protocol):
    """The operations of an encoder pass and a decoder step; R rows, or N source pieces."""

    name: str
    """What computes, in words, with all that its speed depends on."""

    precision: Precision
    """Of the products."""

    by_memory: bool
    """Whether a row takes as long beside many as beside few, so that what it reads decides."""

    def array(self, tensor: Tensor) -> Array:
        """Return the tensor's numbers in the backend's own kind."""
        ...

    def tensor(self, array: Array) -> Tensor:
        """Return an array as a tensor."""
        ...

    def empty(self, *shape: int) -> Array:
        """Return room for a cache."""
        ...

    def grow(self, cache: Array, room: int, lengths: Ints) -> Array:
        """Return a cache, (rows, T, H * d), with more room and what is written of this one.

        lengths: positions of each row that may be written.
        """
        ...

    def keep(self, rows: Array, first: int, slots: Ints, starts: Ints, cache: Array) -> None:
        """Write sentences' keys or values to the beginning of their slots, (slots, S, H * d).

        Sentence b is rows starts[b] to starts[b + 1]; its numbers begin in column `first`.
        """
        ...

    def take(self, table: Array, ids: Ints) -> Array:
        """Return these rows of a table."""
        ...

    def linear(self, projection: Projection, *, relu: bool = False, fine: bool = False) -> Linear:
        """Prepare (R, in) -> (R, out), with a ReLU after it where asked.

        fine: one whose rounding to 8 bits loses more than the time that it saves is worth.
        """
        ...

    def output(self, projection: Projection) -> Linear:
        """Prepare the projection to the vocabulary, (R, d_model) -> (R, V)."""
        ...

    def listed(self, projection: Projection) -> Listed:
        """Prepare the same for the pieces in each row's list: x, slots, lists -> (R, W)."""
        ...

    def join(self, first: Linear, second: Linear) -> Linear | None:
        """Return a projection with a ReLU and the one after it in one call, if there is one."""
        ...

    def fuse(self, decoder: Any) -> "WholeDecoder | None":
        """Return the whole decoder in one call, if this backend has it."""
        ...

    def norm(self, module: nn.LayerNorm) -> Any:
        """Prepare a LayerNorm."""
        ...

    def normalize(self, x: Array, norm: Any) -> Array:
        """Compute LayerNorm(x)."""
        ...

    def add_norm(self, x: Array, y: Array, norm: Any) -> tuple[Array, Array]:
        """Compute x + y and LayerNorm(x + y)."""
        ...

    def attend_to_source(self, qkv: Array, starts: Ints, heads: Heads) -> Array:
        """Let each piece attend to its sentence, pieces starts[b] to starts[b + 1] of all."""
        ...

    def attend_to_past(
        self, qkv: Array, rows: Ints, lengths: Ints, owners: Owners, cache: "Cache", heads: Heads
    ) -> Array:
        """Append the newest keys and values of these rows to the cache; attend to all so far."""
        ...

    def attend_to_memory(
        self, q: Array, slots: Ints, lengths: Ints, cache: "Cache", heads: Heads
    ) -> Array:
        """Attend to the memory in each row's slot."""
        ...


class WholeDecoder(Protocol):
    """All layers of a decoder in one call."""

    def __call__(self, x: Array, step: Any) -> Array:
        """Compute (R, d_model) -> (R, d_model); x may be overwritten."""
        ...


@dataclass(slots=True)
class Cache:
    """Keys and values of one attention, in float32 or bfloat16.

    Self-attention: by row and position, (rows, T, H * d). Cross-attention: by slot and position,
    (slots, S, H * d). So what is read together lies together.
    """

    keys: Float[Array, "_ _ H*d_k"]
    values: Float[Array, "_ _ H*d_v"]
