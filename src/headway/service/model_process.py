"""How the web process talks to a process that translates (`headway.service.engine.process`)."""

import asyncio
import itertools
import json
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headway.errors import BundleError, HeadwayError
from headway.json_text import to_json

_log = logging.getLogger("headway.service")

Item = dict[str, Any]
"""The answer for one text: `translation` with `pieces`, or `error`."""

_LINE_BYTES = 2**28  # more than any message takes
_SECONDS_TO_END = 5.0  # in which a process without work must end


class ProcessEndedError(HeadwayError):
    """The process ended before it answered."""


@dataclass(eq=False)
class _Job:
    items: dict[int, Item]
    count: int
    each: Callable[[int, Item], None]
    part: Callable[[int, str], None]
    done: asyncio.Future[list[Item]] = field(default_factory=asyncio.Future)


class ModelProcess:
    """A process with one model. It translates the texts of several jobs together."""

    def __init__(self, process: Process, facts: Mapping[str, Any]) -> None:
        """Use a process that is ready; `start` starts one."""
        self.process, self.facts = process, facts
        self._numbers = itertools.count(1)
        self._jobs: dict[int, _Job] = {}
        self._measures: dict[int, asyncio.Future[dict[str, int]]] = {}
        self.ended = asyncio.create_task(self._read())
        """Done when the process has ended."""

    @classmethod
    async def start(cls, arguments: Sequence[str]) -> "ModelProcess":
        """Start a process with these arguments, and wait until it has loaded its model.

        Raises BundleError with the sentence of the process if it cannot load the model.
        """
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "headway.service.engine.process", *arguments,
                stdin=PIPE, stdout=PIPE, limit=_LINE_BYTES,
            )
        )  # fmt: skip
        try:
            # Shielded, because Python 3.11 would wait forever if the start were cancelled half-way.
            process = await asyncio.shield(starting)
            assert process.stdout is not None
            message = json.loads(await process.stdout.readline() or "{}")
        except BaseException:  # the server ends meanwhile
            process = await starting
            process.kill()
            await process.wait()
            raise
        if "ready" in message:
            return cls(process, message["ready"])
        await process.wait()
        failed = message.get("failed") or {
            "message": f"The process that translates ended with status {process.returncode}.",
            "remedy": "Its last lines on standard error say why.",
        }
        raise BundleError(failed["message"], failed["remedy"])

    @property
    def is_alive(self) -> bool:
        """Return True until the process has ended."""
        return not self.ended.done()

    async def translate(
        self,
        texts: Sequence[str],
        wish: Mapping[str, Any],
        *,
        client: str = "",
        prefixes: Sequence[str] | None = None,
        each: Callable[[int, Item], None] = lambda place, item: None,
        part: Callable[[int, str], None] = lambda place, text: None,
    ) -> list[Item]:
        """Return an answer for each text. If this coroutine is cancelled, the texts are given up.

        client: the clients take turns. each: receives the index and the answer of each text as soon
        as it is translated. part: before that, receives the index and the translation of each part,
        if the wish has "parts". Raises ProcessEndedError.
        """
        number, job = next(self._numbers), _Job({}, len(texts), each, part)
        if not texts:
            return []
        self._jobs[number] = job
        message: dict[str, Any] = {
            "job": number, "client": client, "texts": list(texts), "wish": dict(wish),
        }  # fmt: skip
        if prefixes:
            message["prefixes"] = list(prefixes)
        try:
            self._send(message)
            return await job.done
        finally:
            del self._jobs[number]
            if len(job.items) < job.count and self.is_alive:
                with suppress(ProcessEndedError):
                    self._send({"cancel": number})

    async def measure(self) -> dict[str, int]:
        """Return how many units of work wait, how many are at work, and how many could be."""
        number = next(self._numbers)
        self._measures[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"measure": number})
            return await self._measures[number]
        finally:
            self._measures.pop(number, None)

    async def close(self) -> None:
        """Let the process finish its work and end; end it if it does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self._jobs and self.is_alive:
            await asyncio.wait([job.done for job in self._jobs.values()])
            await asyncio.sleep(0)  # lets `translate` remove its job
        try:
            await asyncio.wait_for(asyncio.shield(self.ended), _SECONDS_TO_END)
        except TimeoutError:
            self.kill()
            await self.ended

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            self.process.kill()

    def _send(self, message: Mapping[str, Any]) -> None:
        """Send a message without waiting; the limits on accepted text bound the memory of this."""
        stdin = self.process.stdin
        assert stdin is not None
        if not self.is_alive or stdin.is_closing():
            raise ProcessEndedError("The process that translates has ended.", "Ask again.")
        stdin.write(f"{to_json(message, compact=True)}\n".encode())

    async def _read(self) -> None:
        """Pass on the answers until the process ends; then fail the unanswered jobs."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            async for line in self.process.stdout:
                self._receive(json.loads(line))
        except ConnectionError:
            pass
        except Exception as error:  # an answer is not a valid message
            _log.warning("The process that translates is ended", exc_info=error)
            self.kill()
        await self.process.wait()
        self.process.stdin.close()
        with suppress(ConnectionError):  # else asyncio would log an exception never retrieved
            await self.process.stdin.wait_closed()
        error = ProcessEndedError("The process that translates has ended.", "Ask again.")
        waiting = [*(job.done for job in self._jobs.values()), *self._measures.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(error)

    def _receive(self, message: dict[str, Any]) -> None:
        if "measured" in message:
            waiting = self._measures.get(message.pop("measured"))
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            return
        job = self._jobs.get(message["job"])
        if job is None:
            return  # given up
        place = message["item"]
        if "part" in message:
            job.part(place, message["part"])
            return
        job.items[place] = message
        job.each(place, message)
        if len(job.items) == job.count and not job.done.done():
            job.done.set_result([job.items[n] for n in range(job.count)])
