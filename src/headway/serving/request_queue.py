"""A queue for long computations: a model computes for one request at a time."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from fastapi import Request

from headway.serving.failures import RefusedError

Answer = TypeVar("Answer")

_COMPUTING = "headway: an answer"


async def in_turn(turn: asyncio.Lock, request: Request, compute: Callable[[], Answer]) -> Answer:
    """Compute in a thread, after the earlier requests.

    A waiting request holds no thread, so other models and the page answer meanwhile. Raises
    RefusedError if the sender has disconnected meanwhile, or the server ends.
    """
    try:
        async with turn:
            if await request.is_disconnected():
                raise RefusedError(499, "The sender went away.", "Ask again.")
            return await in_own_thread(compute)
    except asyncio.CancelledError:  # the server ends; it would report this as a fault
        raise RefusedError(503, "The server ends.", "Start it again.") from None


async def in_own_thread(compute: Callable[[], Answer]) -> Answer:
    """Compute in a thread that the server does not wait for when it ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Answer] = loop.create_future()

    def run() -> None:
        end: Callable[[Any], None]
        try:
            end, outcome = answer.set_result, compute()
        except BaseException as error:
            end, outcome = answer.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended with the server
            loop.call_soon_threadsafe(tell, end, outcome)

    def tell(end: Callable[[Any], None], outcome: object) -> None:
        if not answer.done():  # a server that ends has cancelled it
            end(outcome)

    run_in_context = copy_context().run
    threading.Thread(target=run_in_context, args=(run,), name=_COMPUTING, daemon=True).start()
    return await answer


def is_computing() -> bool:
    """Return True if an answer is still being computed."""
    return any(thread.name == _COMPUTING for thread in threading.enumerate())
