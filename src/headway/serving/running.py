"""Run the server: load bundles and listen at an address."""

import contextlib
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headway.errors import MissingExtraError, ServingError


def serve(
    paths: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    device: str = "auto",
    trust_code: bool = False,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve these bundles until Ctrl-C; call `ready` with the address once it answers.

    port: 0 takes a free one. Raises MissingExtraError without FastAPI, and ServingError if the
    server cannot listen at that address.
    """
    try:
        import fastapi  # noqa: F401
        import latex2mathml  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError.of("serve", f"The explorer needs {error.name}.") from error
    from headway.serving.app import create_app
    from headway.serving.models import load_models

    with _listen(host, port) as listener:
        app = create_app(load_models(paths, device, trust_code=trust_code), host=host)

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[Any] | None = None) -> None:
                await super().startup(sockets)
                ready(_address(host, listener.getsockname()[1]))

        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws="none", lifespan="off",
            timeout_graceful_shutdown=1, server_header=False,
            log_config=None,  # the default would close the logging handlers of the whole process
        )  # fmt: skip
        # uvicorn shuts down at Ctrl-C, and then raises KeyboardInterrupt.
        with contextlib.suppress(KeyboardInterrupt):
            Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, before models are loaded."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # With this protocol asyncio sends small answers without delay (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # where it would let two servers have one address
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((bare, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ServingError(
            f"The server cannot listen at {_address(host, port)} ({reason}).",
            "Choose another --port, 0 for any free one, or another --host.",
        ) from error
    return listener


def _address(host: str, port: int) -> str:
    bare = host.strip("[]")
    return f"http://[{bare}]:{port}/" if ":" in bare else f"http://{bare}:{port}/"
