"""Names for intermediate tensors: free when nobody listens.

A layer passes each intermediate through `probe(self, name, tensor)`. Without a listener that is
one look at a context variable. A listener (see `headway.inspection.trace`) learns the module, the
name and the tensor, and what it returns takes the tensor's place.
"""

from contextvars import ContextVar, Token
from typing import Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Listener(Protocol):
    """What receives the named intermediates of a pass."""

    def __call__(self, module: nn.Module, name: str, tensor: Tensor, /) -> Tensor:
        """Receive one intermediate; return the tensor to go on with."""
        ...


# A context variable, not a global: a trace in one thread must not hear the passes of another.
_listener: ContextVar[Listener | None] = ContextVar("headway_listener", default=None)


def probe(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Offer an intermediate to the listener, if there is one."""
    listener = _listener.get()
    return tensor if listener is None else listener(module, name, tensor)


def listening() -> bool:
    """Tell whether someone listens, so that a layer takes the path that has every intermediate."""
    return _listener.get() is not None


def listen(listener: Listener) -> Token[Listener | None]:
    """Install a listener; give the returned token to `stop_listening`."""
    return _listener.set(listener)


def stop_listening(token: Token[Listener | None]) -> None:
    """Restore the listener from before `listen`."""
    _listener.reset(token)
