"""Names for intermediate tensors, at no cost without a listener.

A layer passes each intermediate through `probe(self, name, tensor)`. Without a listener this only
compares a number. A listener (see `headway.inspection.trace`) receives the module, the name and the
tensor, and returns the tensor that replaces it.
"""

from contextvars import ContextVar, Token
from threading import Lock
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Listener(Protocol):
    """Receives the named intermediates of a pass."""

    def __call__(self, module: nn.Module, name: str, tensor: Tensor, /) -> Tensor:
        """Receive one intermediate; return the tensor to use."""
        ...


class _Listeners(NamedTuple):
    """The listeners of a pass: lasting ones, called first, and one that a later one replaces."""

    lasting: tuple[Listener, ...]
    listener: Listener | None


# A context variable, because a trace in one thread must not receive the passes of another thread.
_listeners: ContextVar[_Listeners | None] = ContextVar("headway_listeners", default=None)

# The listeners of all threads. torch.compile cannot read a context variable, but it compiles a
# layer again when this number changes. So compiled code without listeners has no probes.
_num_listeners = 0
_counting = Lock()


def probe(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Pass an intermediate to the listeners; return the tensor to use."""
    if not _num_listeners:
        return tensor
    listeners = _listeners.get()
    if listeners is None:
        return tensor
    for lasting in listeners.lasting:
        tensor = lasting(module, name, tensor)
    return tensor if listeners.listener is None else listeners.listener(module, name, tensor)


def listening() -> bool:
    """Return True while a listener is installed: a layer then computes every intermediate."""
    return _num_listeners > 0 and _listeners.get() is not None


def listen(listener: Listener, *, lasting: bool = False) -> Token[_Listeners | None]:
    """Install a listener in place of another; pass the returned token to `stop_listening`.

    lasting: for a listener that changes the model, such as an edit. Later listeners do not replace
    it, but receive the tensors that it returns.
    """
    before = _listeners.get()
    earlier = before.lasting if before else ()
    _count(1)
    return _listeners.set(
        _Listeners((*earlier, listener), None) if lasting else _Listeners(earlier, listener)
    )


def stop_listening(token: Token[_Listeners | None]) -> None:
    """Restore the listeners before `listen`."""
    _listeners.reset(token)
    _count(-1)


def _count(change: int) -> None:
    global _num_listeners
    with _counting:
        _num_listeners += change
