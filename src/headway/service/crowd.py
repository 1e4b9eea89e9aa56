"""A limit on the requests that are answered at the same time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from headway.service.failures import UnavailableError, answer_for

MOST = 1000
"""Requests that are answered at the same time, those that wait for a model included."""
_ALWAYS = ("/health", "/metrics")


class Crowd:
    """Refuse a request with 429, before it is read, while too many others are being answered.

    Otherwise all would become slower together: the process that reads requests is busy, too, and
    the queues of the models do not count requests that are not read yet.
    """

    def __init__(self, app: ASGIApp, most: int = MOST) -> None:
        """Let `most` requests pass to an application at the same time."""
        self.app, self.most, self.inside = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it. Probes always pass."""
        if scope["type"] != "http" or scope["path"].startswith(_ALWAYS):
            await self.app(scope, receive, send)
            return
        if self.inside >= self.most:
            error = UnavailableError(
                429, "Slowdown: too many requests at the same time", "Ask again later.", 1
            )
            await answer_for(scope["path"], error)(scope, receive, send)
            return
        self.inside += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.inside -= 1
