"""Names for intermediate tensors: free when nobody listens.

A layer passes each intermediate through `probe(self, name, tensor)`. Without a listener that is
one look at a number. A listener (see `headway.inspection.trace`) learns the module, the name and
the tensor, and what it returns takes the tensor's place.
"""

from contextvars import ContextVar, Token
from threading import Lock
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


@runtime_checkable
class Listener(Protocol):
    """What receives the named intermediates of a pass."""

    def __call__(self, module: nn.Module, name: str, tensor: Tensor, /) -> Tensor:
        """Receive one intermediate; return the tensor to go on with."""
        ...


class _Heard(NamedTuple):
    """Who hears a pass: first those that stay when another comes, then one that does not."""

    lasting: tuple[Listener, ...]
    listener: Listener | None


# A context variable, not a global: a trace in one thread must not hear the passes of another.
_heard: ContextVar[_Heard | None] = ContextVar("headway_listeners", default=None)

# Of all threads. torch.compile cannot look at a context variable, but compiles a layer anew when
# this number changes: what is compiled has no probes, and a trace hears it all the same.
_num_listeners = 0
_counting = Lock()


def probe(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
    """Hand an intermediate to the listeners, if there are any; return the tensor to go on with."""
    if not _num_listeners:
        return tensor
    heard = _heard.get()
    if heard is None:
        return tensor
    for lasting in heard.lasting:
        tensor = lasting(module, name, tensor)
    return tensor if heard.listener is None else heard.listener(module, name, tensor)


def listening() -> bool:
    """Tell whether someone listens, so that a layer takes the path that has every intermediate."""
    return _num_listeners > 0 and _heard.get() is not None


def listen(listener: Listener, *, lasting: bool = False) -> Token[_Heard | None]:
    """Install a listener in place of another; give the returned token to `stop_listening`.

    lasting: for one that changes the model, such as an edit. It stays when others come, which hear
    what it has made of each tensor.
    """
    before = _heard.get()
    kept = before.lasting if before else ()
    _count(1)
    return _heard.set(_Heard((*kept, listener), None) if lasting else _Heard(kept, listener))


def stop_listening(token: Token[_Heard | None]) -> None:
    """Restore who listened before `listen`."""
    _heard.reset(token)
    _count(-1)


def _count(change: int) -> None:
    global _num_listeners
    with _counting:
        _num_listeners += change
