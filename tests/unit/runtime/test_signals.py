"""Signals become events, wait or interrupt, and their handlers come back afterwards."""

import signal
import threading
from typing import Any

import pytest

from headway.runtime.signals import deferred_signals, interrupted_by_termination, stop_requests


def test_a_signal_within_the_handler_of_another_is_the_same_wish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with stop_requests() as stop:
        handler: Any = signal.getsignal(signal.SIGTERM)
        set_it = stop.set

        def interrupted() -> None:
            handler(signal.SIGINT, None)
            set_it()

        monkeypatch.setattr(stop, "set", interrupted)
        handler(signal.SIGTERM, None)

        assert stop.is_set()
        assert signal.getsignal(signal.SIGTERM) is handler


def test_deferred_signals_come_after_the_block() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        with deferred_signals():
            signal.raise_signal(signal.SIGTERM)
            assert received == []
        assert received == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("context", [stop_requests, deferred_signals, interrupted_by_termination])
def test_another_thread_changes_no_handler(context: Any) -> None:
    handlers: list[Any] = []

    def enter() -> None:
        with context():
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGTERM)]
