"""Whose turn it is: what takes long is computed for one request at a time."""

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
    """Compute in a thread once those who came before have their answers.

    Who waits holds no thread, so that other models and the page answer meanwhile. For a sender
    that went away while it waited nothing is computed. Raises RefusedError, which then nobody
    reads, and when the server ends.
    """
    try:
        async with turn:
            if await request.is_disconnected():
                raise RefusedError(499, "The sender went away.", "Ask again.")
            return await in_own_thread(compute)
    except asyncio.CancelledError:  # by the server, for which it would be a fault of this code
        raise RefusedError(503, "The server ends.", "Start it again.") from None


async def in_own_thread(compute: Callable[[], Answer]) -> Answer:
    """Compute in a thread that the server does not wait for when it is to end."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Answer] = loop.create_future()

    def run() -> None:
        end: Callable[[Any], None]
        try:
            end, found = answer.set_result, compute()
        except BaseException as error:
            end, found = answer.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the server with it
            loop.call_soon_threadsafe(tell, end, found)

    def tell(end: Callable[[Any], None], found: object) -> None:
        if not answer.done():  # by a server that ends
            end(found)

    whole = copy_context().run
    threading.Thread(target=whole, args=(run,), name=_COMPUTING, daemon=True).start()
    return await answer


def is_computing() -> bool:
    """Tell whether an answer is being computed still."""
    return any(thread.name == _COMPUTING for thread in threading.enumerate())
