"""Names for intermediate tensors: free when nobody listens.

A layer passes each intermediate through `probe(self, name, tensor)`. Without a listener that is
one look at a number. A listener (see `headway.inspection.trace`) learns the module, the name and
the tensor, and what it returns takes the tensor's place.
"""

from contextvars import ContextVar, Token
from threading import Lock
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

# Of all threads. torch.compile cannot look at a context variable, but compiles a layer anew when
# this number changes: what is compiled has no probes, and a trace hears it all the same.
_num_listeners = 0
_counting = Lock()


def probe(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Offer an intermediate to the listener, if there is one."""
    if not _num_listeners:
        return tensor
    listener = _listener.get()
    return tensor if listener is None else listener(module, name, tensor)


def listening() -> bool:
    """Tell whether someone listens, so that a layer takes the path that has every intermediate."""
    return _num_listeners > 0 and _listener.get() is not None


def listen(listener: Listener) -> Token[Listener | None]:
    """Install a listener; give the returned token to `stop_listening`."""
    _count(1)
    return _listener.set(listener)


def stop_listening(token: Token[Listener | None]) -> None:
    """Restore the listener from before `listen`."""
    _listener.reset(token)
    _count(-1)


def _count(change: int) -> None:
    global _num_listeners
    with _counting:
        _num_listeners += change
