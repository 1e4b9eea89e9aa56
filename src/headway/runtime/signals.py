"""Signals that end a process: Ctrl-C, SIGTERM and, except on Windows, the hang-up of a terminal.

Python runs signal handlers only in the main thread, so in other threads these functions change
nothing.
"""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

TERMINATION = signal.SIGTERM
"""The signal that tells a service to end."""

_TOGETHER = 1.0  # seconds; a second signal within this time repeats the first request
_HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on Windows


@contextlib.contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Turn the signals into an event in the block; a second signal ends the process at once.

    A second signal right after the first does not end the process, because a wrapper that is
    stopped may also send the signal to its child. Nor does a second hang-up: shell and system send
    one each. A hang-up that is ignored, as under nohup, stays ignored.
    """
    stop = threading.Event()
    if not _in_main_thread():
        yield stop
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if _HANG_UP is not None and signal.getsignal(_HANG_UP) != signal.SIG_IGN:
        numbers.append(_HANG_UP)
    handlers = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    received: float | None = None

    def receive(number: int, frame: FrameType | None) -> None:
        nonlocal received
        # Not `stop.is_set()`: another signal may interrupt this function before `stop` is set.
        if received is None:
            received = time.monotonic()
            stop.set()
        elif number != _HANG_UP and time.monotonic() - received >= _TOGETHER:
            restore()
            signal.raise_signal(number)

    for number in numbers:
        signal.signal(number, receive)
    try:
        yield stop
    finally:
        restore()


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Hold the signals back until the block is done.

    A signal mask would not suffice: a thread without that mask would receive the signal.
    """
    if not _in_main_thread():
        yield
        return
    received: list[int] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, *_termination_signals())
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextlib.contextmanager
def interrupted_by_termination() -> Iterator[None]:
    """Let SIGTERM and a hang-up raise KeyboardInterrupt in the block, and end the process after it.

    A signal that is ignored or has another handler stays as it is.
    """
    if not _in_main_thread():
        yield
        return
    numbers = [n for n in _termination_signals() if signal.getsignal(n) == signal.SIG_DFL]
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        if received:
            with contextlib.suppress(OSError):
                sys.stderr.flush()
            signal.raise_signal(received[0])


def let_hang_up_end_at_once() -> None:
    """Let a hang-up end the process at once, as by default; one that is ignored stays so."""
    if _HANG_UP is None or not _in_main_thread() or signal.getsignal(_HANG_UP) == signal.SIG_IGN:
        return
    signal.signal(_HANG_UP, signal.SIG_DFL)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _termination_signals() -> list[signal.Signals]:
    return [signal.SIGTERM] if _HANG_UP is None else [signal.SIGTERM, _HANG_UP]


def ignore_stop_requests() -> None:
    """Ignore the signals, in a process that ends with the one that started it."""
    for number in (signal.SIGINT, *_termination_signals()):
        signal.signal(number, signal.SIG_IGN)
