"""The service behind all routes: its clients, its models, and the deadlines of requests."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from headway.errors import HeadwayError
from headway.service.failures import UnavailableError
from headway.service.keys import Client, Keys
from headway.service.languages import Routes, check_pivot
from headway.service.model_process import Item
from headway.service.rate import RateLimit, client_of
from headway.service.served_model import Each, Part, ServedModel, costs_of
from headway.service.settings import Settings
from headway.serving.failures import RefusedError

Answer = TypeVar("Answer")

_OF_BOTH = ("form", "file", "keep", "split_sentences")  # wishes for the first of two models, too
_GONE = 499  # nginx's status for a request whose client has disconnected


class Service:
    """The models of a server, and the rules for its clients."""

    def __init__(self, models: Sequence[ServedModel], settings: Settings) -> None:
        """Serve these models; `start` starts their processes."""
        self.models = {model.name: model for model in models}
        self.settings = settings
        self.keys = Keys(settings.api_keys)
        self._rate = None if settings.rate is None else RateLimit(settings.rate)
        directions = {m.name: m.direction for m in models if m.direction is not None}
        pivot = settings.pivot
        if pivot is not None:
            pivot = check_pivot(pivot, directions.values())
        self.routes = Routes(directions, pivot)
        self.draining = False
        """True once the server was told to end: it finishes its requests, and accepts no more."""
        self._running: list[asyncio.Task[None]] = []
        self._clock: Callable[[], float] = time.monotonic

    def start(self) -> None:
        """Start the processes of all models, in the background."""
        self._running = [asyncio.create_task(model.run()) for model in self.models.values()]

    async def first_failure(self) -> HeadwayError | None:
        """Wait until each model was tried; return the error of the first that cannot be loaded."""
        for model in self.models.values():
            await model.tried.wait()
            if model.failure is not None:
                return model.failure
        return None

    async def close(self) -> None:
        """End the processes."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.gather(*(model.close() for model in self.models.values()))

    def client(self, request: Request, key: str) -> Client:
        """Return the sender of a request; RefusedError for an invalid key, or a missing one."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if not key and kind.lower() == "bearer":
            key = token.strip()
        if self.settings.api_keys is not None and key:
            owner = self.keys.owner(key)
            if owner is None:
                raise RefusedError(403, "Invalid API key", "Check the key.")
            return Client(owner, has_key=True)
        if self.settings.require_key:
            raise RefusedError(
                400, "Please contact the server operator to get an API key", "Give a key."
            )
        address = request.client.host if request.client else ""
        return Client(client_of(address), has_key=False)

    def use(self, client: Client, texts: int) -> None:
        """Count the texts of a client; UnavailableError beyond the rate."""
        if self._rate is not None:
            wait = self._rate.use(_line_of(client), texts, self._clock())
            if wait:
                raise UnavailableError(
                    429, f"Slowdown: {self._rate.rate}", "Ask again later.", wait
                )

    def check_size(self, texts: Sequence[str]) -> None:
        """Refuse a text that is too long, or texts that together are too long for a queue."""
        limit = self.settings.char_limit
        for text in texts:
            if limit is not None and len(text) > limit:
                raise too_large(len(text), limit)
        if (size := sum(map(len, texts))) > self.settings.queue:
            raise too_large(size, self.settings.queue)

    async def translate(
        self,
        chain: Sequence[str],
        texts: Sequence[str],
        wish: Mapping[str, Any],
        client: Client,
        *,
        prefixes: Sequence[str] | None = None,
        each: Each = lambda place, item: None,
        part: Part = lambda place, text: None,
    ) -> list[Item]:
        """Return an answer for each text, from one model, or from two, one after the other.

        Two models share the wish's document format, kept texts and division into sentences. The
        other wishes, the prefixes, `each` and `part` apply to the last model alone. Raises
        UnavailableError if the queue of a model is full, or its process does not run.
        """
        models = [self.models[name] for name in chain]
        self.check_capacity([chain], sum(costs_of(texts, wish, prefixes)))
        line = _line_of(client)
        if len(models) == 1:
            return await models[0].translate(
                texts, wish, line, prefixes=prefixes, each=each, part=part
            )
        first, second = models
        shared = {name: wish[name] for name in _OF_BOTH if name in wish}
        items = await first.translate(texts, shared, line)
        places = [place for place, item in enumerate(items) if "error" not in item]
        pivot_texts = [items[place]["translation"]["text"] for place in places]
        their_prefixes = prefixes and [prefixes[place] for place in places]
        answers = await second.translate(
            pivot_texts, wish, line, prefixes=their_prefixes,
            each=lambda n, item: each(places[n], item), part=lambda n, text: part(places[n], text),
        )  # fmt: skip
        for place, answer in zip(places, answers, strict=True):
            items[place] = answer
        return items

    def check_capacity(self, chains: Iterable[Sequence[str]], characters: int) -> None:
        """Refuse a request while the server ends, a model does not run, or its queue is full."""
        if self.draining:
            raise UnavailableError(503, "The server is ending.", "Ask again.", 1)
        for name in {name for chain in chains for name in chain}:
            model = self.models[name]
            if not model.is_ready:
                raise model.unavailable()
            if not model.backlog.has_room(characters):
                raise UnavailableError(
                    429, "Slowdown: the queue is full", "Ask again later.", model.backlog.wait / 2
                )

    async def until_deadline(
        self, request: Request, work: Coroutine[Any, Any, Answer], seconds: float | None = None
    ) -> Answer:
        """Return the result of work; give it up at its deadline, or when the client disconnects.

        seconds: at most those of the settings. Raises RefusedError with the status 504 or 499.
        """
        limit = min(seconds or self.settings.timeout, self.settings.timeout)
        is_gone = False

        async def watch() -> None:
            """End the work when the client, whose body has been read, closes the connection."""
            nonlocal is_gone
            while (await request.receive())["type"] != "http.disconnect":
                pass
            is_gone = True
            deadline.reschedule(0)

        try:
            async with asyncio.timeout(limit) as deadline:
                watching = asyncio.create_task(watch())
                try:
                    return await work
                finally:
                    watching.cancel()
        except TimeoutError:
            if is_gone:
                raise RefusedError(_GONE, "The client went away.") from None
            raise RefusedError(
                504, f"The translation took longer than {limit:g} seconds.", "Send less text."
            ) from None


def too_large(size: int, limit: int) -> RefusedError:
    """Return LibreTranslate's error for a text, or a number of texts, beyond a limit."""
    return RefusedError(400, f"Invalid request: request ({size}) exceeds text limit ({limit})")


async def service_of(request: Request) -> Service:
    """Return the service of the application. FastAPI would call a plain function in a thread."""
    return request.app.state.service


CurrentService = Annotated[Service, Depends(service_of)]


def _line_of(client: Client) -> str:
    """Return the name under which a client waits; an address never has that of a key's owner."""
    return f"{'key' if client.has_key else 'address'} {client.name}"
