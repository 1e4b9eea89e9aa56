"""Trace: every named intermediate of a pass, by attribute path."""

import fnmatch
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from headway.errors import TraceError, suggest
from headway.model.probe import listen, stop_listening


class Trace(Mapping[str, Tensor]):
    """The intermediates of the latest pass, by names like `encoder.layers.0.output`.

    A name is the attribute path of a module, relative to the traced one, and the intermediate's
    own name; the docstring of each module lists its intermediates. When a module runs more than
    once, as in decoding step by step, the latest tensor stands.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._tensors: dict[str, Tensor] = {}

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names that match, in the order in which they were computed.

        pattern: `*` stands for any characters, as in `*.cross_attention.weights`.
        """
        return [name for name in self._tensors if fnmatch.fnmatchcase(name, pattern)]

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor; TraceError names the nearest ones when there is none."""
        if name in self._tensors:
            return self._tensors[name]
        if not self._tensors:
            raise TraceError(
                f"The trace is empty, so there is no '{name}'.",
                "Call the traced module inside the `with` block.",
            )
        raise TraceError(f"The trace has no '{name}'.", suggest(name, self._tensors))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._tensors)

    def __repr__(self) -> str:
        """Show names and shapes, one a line."""
        lines = [f"  {name}  {tuple(tensor.shape)}" for name, tensor in self._tensors.items()]
        return "\n".join([f"Trace of {len(lines)} tensors", *lines])

    def _record(self, name: str, tensor: Tensor) -> None:
        self._tensors.pop(name, None)  # so that the order is that of the latest pass
        self._tensors[name] = tensor.detach()


@contextmanager
def trace(module: nn.Module) -> Iterator[Trace]:
    """Record what this module and its parts compute inside the `with` block.

    Works on any module of Headway and changes no result beyond rounding: while tracing, attention
    takes the plain form of equation 1, because a fused kernel never holds the weights.

    >>> import torch
    >>> from headway.model.attention import MultiHeadAttention
    >>> attend, x = MultiHeadAttention(d_model=8, num_heads=2), torch.ones(1, 3, 8)
    >>> with trace(attend) as seen:
    ...     output = attend(x, x, x)
    >>> seen["weights"].shape
    torch.Size([1, 2, 3, 3])
    """
    paths = {part: path for path, part in module.named_modules()}
    recorded = Trace()

    def receive(part: nn.Module, name: str, tensor: Tensor) -> Tensor:
        path = paths.get(part)
        if path is not None:
            recorded._record(f"{path}.{name}" if path else name, tensor)
        return tensor

    token = listen(receive)
    try:
        yield recorded
    finally:
        stop_listening(token)
