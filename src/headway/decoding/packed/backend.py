"""The operations of the packed engine, which a PyTorch and a Numba backend implement."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.data.draft_counts import DraftCounts
from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Batch, Ints
from headway.decoding.options import SearchOptions
from headway.decoding.packed.weights import Projection
from headway.kernels.dispatch import Precision

Array = Any
"""A float32 array of the backend's own type; the engine only passes it on."""
Linear = Callable[[Array], Array]
Listed = Callable[[Array, Ints, AllowedPieces], Array]
Owners = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of an attention: their number and widths."""

    num_heads: int
    d_k: int
    d_v: int


class Backend(Protocol):
    """The operations of an encoder pass, on N source pieces, and of a decoder step, on R rows."""

    name: str
    """A description of the backend, with everything that its speed depends on."""

    precision: Precision
    """The precision of the matrix products."""

    by_memory: bool
    """True if the time of a row depends on the memory that it reads, not on the number of rows."""

    def array(self, tensor: Tensor) -> Array:
        """Convert a tensor to the backend's type."""
        ...

    def tensor(self, array: Array) -> Tensor:
        """Convert an array to a tensor."""
        ...

    def empty(self, *shape: int) -> Array:
        """Return an array for a cache."""
        ...

    def cells(self, *shape: int) -> Array:
        """Return an array for the cells of an SSRU, in float32 because rounding would add up."""
        ...

    def grow(self, cache: Array, room: int, lengths: Ints) -> Array:
        """Return a longer cache, (rows, room, H * d), with the contents of this one.

        lengths: the number of positions of each row that may have been written.
        """
        ...

    def keep(self, rows: Array, first: int, slots: Ints, starts: Ints, cache: Array) -> None:
        """Write sentences' keys or values to the beginning of their slots, (slots, S, H * d).

        Sentence b has rows starts[b] to starts[b + 1]; its keys or values begin in column `first`.
        """
        ...

    def take(self, table: Array, ids: Ints) -> Array:
        """Return these rows of a table."""
        ...

    def linear(
        self, projection: Projection, *, relu: bool = False, sensitive: bool = False
    ) -> Linear:
        """Prepare (R, in) -> (R, out), with a ReLU after it if `relu`.

        sensitive: rounding to 8 bits would cost more quality than its speed is worth.
        """
        ...

    def output(self, projection: Projection) -> Linear:
        """Prepare the projection to the vocabulary, (R, d_model) -> (R, V)."""
        ...

    def listed(self, projection: Projection) -> Listed:
        """Prepare the projection to the pieces of each row's list: x, slots, lists -> (R, W)."""
        ...

    def join(self, first: Linear, second: Linear, activation: str) -> Linear | None:
        """Return two projections and the activation between as one call; None if not supported."""
        ...

    def fuse(self, decoder: Any) -> "WholeDecoder | None":
        """Return the whole decoder as one call; None if not supported."""
        ...

    def fuse_encoder(self, embedding: Any, encoder: Any, memory: Linear) -> "WholeEncoder | None":
        """Return embedding, encoder and memory's projection as one call; None if not supported."""
        ...

    def search_loop(
        self,
        embedding: Any,
        decoder: "WholeDecoder | None",
        output: Linear,
        encoder: "WholeEncoder | None",
        drafts: DraftCounts | None,
    ) -> "SearchLoop | None":
        """Return the loop of greedy and beam search as one call; None if not supported.

        embedding: of the target. encoder: its kernels are compiled with those of the loop. drafts:
        counts from which a greedy search guesses pieces.
        """
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
        """Let pieces attend to their sentence; sentence b has pieces starts[b] to starts[b + 1]."""
        ...

    def attend_to_past(
        self, qkv: Array, rows: Ints, lengths: Ints, owners: Owners, cache: "Cache", heads: Heads
    ) -> Array:
        """Append the newest keys and values of these rows to the cache, and attend to all."""
        ...

    def recur(
        self, projected: Array, rows: Ints, lengths: Ints, owners: Owners, cells: Array
    ) -> Array:
        """Update the cells of these rows; return ReLU of them, (R, d_model).

        projected: the candidate, then the forget gate before its sigmoid, (R, 2 d_model). cells:
        two for each row, (rows, 2, d_model). Position t writes cell t mod 2 of its own row, and
        reads the other cell of the row that holds position t - 1. So several hypotheses may
        continue the same parent.
        """
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


class WholeEncoder(Protocol):
    """The embedding, all layers of an encoder and the projection to the memory in one call."""

    def __call__(self, ids: Ints, starts: Ints) -> Array:
        """Compute the keys and values of all decoder layers, (N,) -> (N, width).

        Sentence b has ids starts[b] to starts[b + 1]. Raises ConfigError if the vocabulary does not
        have all ids.
        """
        ...


class SearchLoop(Protocol):
    """Greedy and beam search in one call for many steps."""

    def batch(self, engine: Any, options: SearchOptions, slots: int) -> Batch:
        """Make a batch of the engine that has this loop."""
        ...


@dataclass(slots=True)
class Cache:
    """Keys and values of one attention, in float32 or bfloat16.

    Self-attention: by row and position, (rows, T, H * d). Cross-attention: by slot and position,
    (slots, S, H * d). In this order, numbers that are read together are contiguous.
    """

    keys: Float[Array, "_ _ H*d_k"]
    values: Float[Array, "_ _ H*d_v"]
