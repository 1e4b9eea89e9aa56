"""Limits on the origin and the size of a request, checked before anything else."""

import asyncio
import ipaddress
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.serving.failures import HEADERS, RefusedError, answer_of

BODY_BYTES = 64 * 1024
CHARACTERS = 2000
BEAM = 8
CACHE_BYTES = 256 * 2**20
POSITIONS = 4096
_DRAINED = 2**20  # bytes beyond the limit that are read, so that the sender reads the answer
_SECONDS_TO_SEND = 60.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})

_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Gate:
    """Refuse requests that come from another site or are too large; pass on all others.

    A page of another site could make a browser send requests to this server. They have a foreign
    Host if the site has bound its name to this address, or else a foreign Origin.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        *,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        body_bytes: int = BODY_BYTES,
        remedy: str = f"Give one sentence, of at most {CHARACTERS:,} characters.",
        refuse: Callable[[str, RefusedError], ASGIApp] = lambda path, error: answer_of(error),
    ) -> None:
        """Guard this application.

        host: the address that the server listens at. hosts: other names by which clients reach it.
        origins: other sites whose pages may send requests. body_bytes: the largest body; remedy:
        for larger ones. refuse: makes the answer to a refused request, from its path and the error.
        """
        self.app, self.host = app, host
        self.hosts = {name.lower() for name in hosts}
        self.origins = frozenset(origins)
        self.body_bytes, self.remedy, self.refuse = body_bytes, remedy, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                missing = [pair for pair in _HEADERS if pair[0] not in names]
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        try:
            self._check_sender(scope)
            if scope["method"] == "POST":
                receive = await self._whole_body(receive)
        except RefusedError as error:
            await self.refuse(scope["path"], error)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    async def _whole_body(self, receive: Receive) -> Receive:
        """Read the body and return a function that passes it on.

        Raises RefusedError if the body is too large, or does not arrive in time.
        """
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                body = await self._read(receive)
        except TimeoutError:
            raise RefusedError(
                408, f"The body did not come within {_SECONDS_TO_SEND:.0f} seconds.", "Ask again."
            ) from None
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def pass_on() -> Message:
            return waiting.pop() if waiting else await receive()

        return pass_on

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        while more and size <= self.body_bytes + _DRAINED:
            message = await receive()
            if message["type"] != "http.request":
                break
            part = message.get("body", b"")
            size += len(part)
            if size <= self.body_bytes:
                parts.append(part)
            more = message.get("more_body", False)
        if size > self.body_bytes:
            raise RefusedError(
                413,
                f"The request has more than {self.body_bytes:,} bytes.",
                self.remedy,
                "too-long",
            )
        return b"".join(parts)

    def _check_sender(self, scope: Scope) -> None:
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise RefusedError(
                421,
                f"The Host '{', '.join(hosts)[:100]}' is not this server.",
                "Ask for 127.0.0.1 or localhost, or for the address given with --host.",
            )
        for origin in (value for name, value in headers if name == b"origin"):
            if origin in self.origins:
                continue
            if origin.lower() not in (f"{kind}://{hosts[0].lower()}" for kind in ("http", "https")):
                raise RefusedError(
                    403,
                    f"The Origin '{origin[:100]}' is another site.",
                    "Open the page of this server itself.",
                )

    def _is_own(self, host: str) -> bool:
        name = _host_name(host)
        if name is None:
            return False
        if name in _LOOPBACK or name == self.host.strip("[]").lower() or name in self.hosts:
            return True
        # A server on all addresses is reached by address, and no site can bind a name to that.
        return self.host.strip("[]") in _ANY_ADDRESS and _is_address(name)


def check_characters(texts: Iterable[str | None]) -> None:
    """Refuse text that is longer than any sentence."""
    for text in texts:
        if text is not None and len(text) > CHARACTERS:
            raise RefusedError(
                413,
                f"The text has {len(text):,} characters, but at most {CHARACTERS:,} are taken.",
                "Give one sentence; `headway translate` takes long text.",
                "too-long",
            )


def _host_name(host: str) -> str | None:
    """Return the name in a Host header, without its port; None if the header is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    if parts.netloc != host or "@" in host or parts.path:
        return None
    return parts.hostname


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
