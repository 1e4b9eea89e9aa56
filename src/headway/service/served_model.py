"""One served model: its process restarts when it ends, and is replaced when its bundle changes."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, ServingError
from headway.hub import hub_address
from headway.saved_bundle import find_bundle
from headway.service.backlog import Backlog
from headway.service.failures import UnavailableError
from headway.service.languages import Direction
from headway.service.model_process import Item, ModelProcess, ProcessEndedError

_log = logging.getLogger("headway.service")

_SECONDS_BETWEEN_LOOKS = 2.0  # at the bundle, which may have changed
_SECONDS_BEFORE_START = 1.0  # until a process replaces one that ended
_SECONDS_BEFORE_RETRY = 10.0  # until a changed bundle that could not be loaded is tried again
_SECONDS_OF_START = 5.0  # the usual time to load a model
_RECENT = 10.0  # seconds for which a translation proves that the process works

Each = Callable[[int, Item], None]
Part = Callable[[int, str], None]
Start = Callable[[Sequence[str]], Awaitable[ModelProcess]]


class ServedModel:
    """A model that translates in a process of its own."""

    def __init__(
        self,
        name: str,
        path: Path,
        direction: Direction | None,
        arguments: Sequence[str],
        backlog: Backlog,
        start: Start = ModelProcess.start,
    ) -> None:
        """Describe the model; `run` starts its process.

        path: the bundle or run. direction: None if its languages are unknown. arguments: of the
        process, after the path. start: starts a process with these arguments.
        """
        self.name, self.path, self.direction = name, path, direction
        self.backlog = backlog
        self._arguments, self._start_process = arguments, start
        self._process: ModelProcess | None = None
        self._last_answer = float("-inf")
        self.count_text: Callable[[str, int], None] = lambda model, pieces: None
        """Receives the model's name and the number of target tokens of each translated text."""
        self.tried = asyncio.Event()
        """Set once the first start has succeeded or failed."""
        self.failure: HeadwayError | None = None
        """The error of the last start; None if it succeeded."""
        self.replaced = 0
        """How often a new process has replaced another one."""

    @property
    def is_ready(self) -> bool:
        """Return True if the process has loaded the model and is running."""
        return self._process is not None and self._process.is_alive

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return checksum, languages and description; empty before the first start."""
        return {} if self._process is None else self._process.facts

    async def run(self) -> None:
        """Keep a process running with the present bundle, until this coroutine is cancelled."""
        while True:
            stamp = _stamp(self.path)
            await self._start()
            retry = time.monotonic() + _SECONDS_BEFORE_RETRY
            while self.is_ready and (stamp is None or _stamp(self.path) in (stamp, None)):
                if self.failure is not None and time.monotonic() > retry:
                    break  # perhaps the bundle was not complete before
                assert self._process is not None
                await asyncio.wait([self._process.ended], timeout=_SECONDS_BETWEEN_LOOKS)
            if self.is_ready and self.failure is None:
                _log.warning("%s has changed, and is loaded again", self.path)
            elif not self.is_ready:
                if self.failure is None:
                    _log.warning("The process of %s has ended, and is started again", self.name)
                await asyncio.sleep(_SECONDS_BEFORE_START)

    async def _start(self) -> None:
        """Start a process and use it from now on; the old one finishes its work and ends."""
        try:
            process = await self._start_process([str(self.path), *self._arguments])
        except HeadwayError as error:
            self.failure = error
            _log.warning("%s cannot be loaded: %s", self.path, error)
            return  # an old process goes on until the next try
        except Exception as error:  # of the system, or for an answer that is not JSON
            self.failure = ServingError(
                f"The process of {self.name} cannot be started ({error}).",
                "The log of the server says more.",
            )
            _log.warning("The process of %s cannot be started", self.name, exc_info=error)
            return
        finally:
            self.tried.set()
        old, self._process, self.failure = self._process, process, None
        if old is not None:
            self.replaced += 1
            closing = asyncio.create_task(old.close())
            closing.add_done_callback(lambda task: task.exception())

    async def close(self) -> None:
        """End the process."""
        if self._process is not None:
            await self._process.close()

    async def translate(
        self, texts: Sequence[str], wish: Mapping[str, Any], client: str, **more: Any
    ) -> list[Item]:
        """Return an answer for each text, from the present process.

        more: prefixes, each and part, as in `ModelProcess.translate`. Raises UnavailableError if
        there is no process, or if it ends meanwhile.
        """
        sizes = costs_of(texts, wish, more.get("prefixes"))
        answered: set[int] = set()
        each: Each = more.pop("each", lambda place, item: None)

        def count(place: int, item: Item) -> None:
            answered.add(place)
            self._last_answer = time.monotonic()
            self.backlog.remove(sizes[place], translated=True)
            if "translation" in item:
                self.count_text(self.name, item["pieces"])
            each(place, item)

        self.backlog.add(sum(sizes))
        try:
            process = self._process
            if process is None:
                raise ProcessEndedError("")
            return await process.translate(texts, wish, client=client, each=count, **more)
        except ProcessEndedError:
            raise self.unavailable() from None
        finally:
            unanswered = sum(size for place, size in enumerate(sizes) if place not in answered)
            self.backlog.remove(unanswered, translated=False)

    def unavailable(self) -> UnavailableError:
        """Return the error for a request while there is no process."""
        return UnavailableError(
            503, f"The model {self.name} is starting.", "Ask again.", _SECONDS_OF_START
        )

    async def works(self, seconds: float) -> bool:
        """Return True if the process has translated recently, or does so within these seconds."""
        if not self.is_ready or self._process is None:
            return False
        if time.monotonic() - self._last_answer < _RECENT:
            return True
        with suppress(ProcessEndedError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.translate(["1"], {}, client="/health/ready")
                self._last_answer = time.monotonic()
                return True
        return False

    async def measure(self, seconds: float) -> dict[str, int]:
        """Return the measurements of the process; empty if it does not answer in time."""
        with suppress(ProcessEndedError, TimeoutError):
            async with asyncio.timeout(seconds):
                if self._process is not None:
                    return await self._process.measure()
        return {}


def costs_of(
    texts: Sequence[str], wish: Mapping[str, Any], prefixes: Sequence[str] | None = None
) -> list[int]:
    """Return how many characters of the queue each text takes: its own, and the forced ones.

    Terms and prefix are forced. They count once for each hypothesis of the beam, if the request
    names its size, because a search with terms takes time in proportion to both.

    >>> costs_of(["abc", "d"], {"terms": ["xy"], "beam_size": 4}, ["z", ""])
    [15, 9]
    """
    beam = max(wish.get("beam_size", 1), wish.get("n_best", 1))
    terms = sum(map(len, wish.get("terms", ())))
    forced = [terms + len(prefix) for prefix in prefixes or [""] * len(texts)]
    return [len(text) + beam * count for text, count in zip(texts, forced, strict=True)]


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return values that change with the bundle; None on the hub, or while it cannot be read."""
    if hub_address(path):
        return None
    try:
        status = (find_bundle(path) / "manifest.json").stat()
    except (OSError, HeadwayError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
