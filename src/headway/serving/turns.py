"""Whose turn it is: what takes long is computed for one request at a time."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from headway.serving.failures import RefusedError

Answer = TypeVar("Answer")


async def in_turn(turn: asyncio.Lock, request: Request, compute: Callable[[], Answer]) -> Answer:
    """Compute in a thread once those who came before have their answers.

    Who waits holds no thread, so that other models and the page answer meanwhile. For a sender
    that went away while it waited nothing is computed; RefusedError, which nobody reads.
    """
    async with turn:
        if await request.is_disconnected():
            raise RefusedError(499, "The sender went away.", "Ask again.")
        return await run_in_threadpool(compute)
