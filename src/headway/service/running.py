"""Runs the server: starts the models, and listens at an address."""

import asyncio
import contextlib
import gc
import logging
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from headway.errors import ConfigError, HeadwayError, MissingExtraError, ServingError
from headway.runtime.memory import collect_only_new_objects
from headway.runtime.open_files import allow_many_open_files
from headway.runtime.signals import TERMINATION
from headway.saved_bundle import read_bundle
from headway.service.languages import Direction, direction_of, parse_direction
from headway.service.settings import Settings

_SECONDS_TO_END = 5  # in addition to those that a request may take
_SECONDS_OF_NOTICE = 1.0  # in which load balancers can see that the server is ending


def serve(
    paths: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    device: str = "auto",
    trust_code: bool = False,
    explorer: bool = True,
    languages: Sequence[str] = (),
    settings: Settings | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve these bundles until Ctrl-C or SIGTERM; call `ready` with the address once it answers.

    port: 0 chooses a free one. explorer: also serve the explorer, at all paths that are not routes
    of the service. languages: of each bundle in order, such as `de-en`; by default those that the
    bundle names. Raises MissingExtraError without FastAPI, ServingError if the server cannot listen
    at that address, ConfigError for limits that the explorer would not apply, and the error of a
    bundle that cannot be loaded.
    """
    uvicorn = _library()
    from headway.service.app import create_app
    from headway.service.connection import Connection
    from headway.service.service import Service

    settings = settings or Settings()
    if explorer:
        _check_limits(settings)
    allow_many_open_files()
    # Otherwise each malformed form would write a line into the log.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    with _listen(host, port) as listener:
        explorer_app = _explorer(paths, device, host, settings, trust_code) if explorer else None
        directions = _directions(paths, languages, explorer=explorer)
        models = _models(paths, directions, device, settings, trust_code=trust_code)
        service = Service(models, settings)
        app = create_app(service, host=host, explorer=explorer_app)

        class Server(uvicorn.Server):
            failure: HeadwayError | None = None
            notice = 0.0

            async def startup(self, sockets: list[Any] | None = None) -> None:
                await super().startup(sockets)
                gc.collect()
                collect_only_new_objects()
                self.watching = asyncio.create_task(self.watch())
                ready(_address(host, listener.getsockname()[1]))

            async def watch(self) -> None:
                """End if a model cannot be loaded."""
                self.failure = await service.first_failure()
                self.should_exit = self.should_exit or self.failure is not None

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                """End the server: at once by Ctrl-C, after the accepted requests by SIGTERM."""
                service.draining = True
                if sig == TERMINATION:
                    self.notice = _SECONDS_OF_NOTICE
                    self.config.timeout_graceful_shutdown = int(settings.timeout) + _SECONDS_TO_END
                    self.should_exit = True  # without uvicorn's handler, the exit status is 0
                else:
                    super().handle_exit(sig, frame)

            async def shutdown(self, sockets: list[Any] | None = None) -> None:
                """Refuse requests with 503 for a moment, then refuse connections."""
                await asyncio.sleep(self.notice)
                await super().shutdown(sockets)

        proxy = settings.proxy
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, ws="none", lifespan="on",
            http=Connection, timeout_graceful_shutdown=1, server_header=False,
            proxy_headers=proxy is not None, forwarded_allow_ips=proxy,
            log_config=None,  # the default would close the logging handlers of the whole process
        )  # fmt: skip
        server = Server(config)
        # uvicorn shuts down at Ctrl-C, and then raises KeyboardInterrupt.
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
        if server.failure is not None:
            raise server.failure


def _library() -> Any:
    """Return uvicorn; MissingExtraError if a package of the extra is not installed."""
    try:
        import fastapi  # noqa: F401
        import latex2mathml  # noqa: F401
        import lingua  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError.of("serve", f"The server needs {error.name}.") from error
    return uvicorn


def _check_limits(settings: Settings) -> None:
    """Refuse limits on clients together with the explorer, which translates for everyone."""
    for option, value in (("--require-key", settings.require_key), ("--rate", settings.rate)):
        if value:
            raise ConfigError(
                f"{option} is given, but the explorer translates without keys and limits.",
                "Leave the explorer out with --no-explorer.",
            )


def _explorer(
    paths: Sequence[Path], device: str, host: str, settings: Settings, trust_code: bool
) -> Any:
    from headway.serving.app import create_app
    from headway.serving.models import load_models

    models = load_models(paths, device, trust_code=trust_code)
    return create_app(models, host=host, hosts=settings.hosts)


def _directions(
    paths: Sequence[Path], languages: Sequence[str], *, explorer: bool
) -> list[Direction | None]:
    """Return the languages of each bundle; None if they are unknown and the explorer is shown."""
    if languages and len(languages) != len(paths):
        raise ConfigError(
            f"There are {len(paths)} models, but --languages is given {len(languages)} times.",
            "Give it once for each model, in their order.",
        )
    if languages:
        return [parse_direction(text) for text in languages]
    directions: list[Direction | None] = []
    for path in paths:
        bundle = read_bundle(path, mapped=True)
        source, target = bundle.source_language, bundle.target_language
        directions.append(direction_of(source, target))
        if directions[-1] is None and not explorer:
            raise ConfigError(
                f"The languages of {path} are named '{source}' and '{target}', which are not known "
                "languages.",
                "Name them, such as --languages de-en.",
            )
    return directions


def _models(
    paths: Sequence[Path],
    directions: Sequence[Direction | None],
    device: str,
    settings: Settings,
    *,
    trust_code: bool,
) -> list[Any]:
    from headway.service.backlog import Backlog
    from headway.service.served_model import ServedModel
    from headway.serving.models import names_of

    if settings.glossary is not None and len(paths) > 1:
        raise ConfigError(
            f"There is a glossary, but {len(paths)} models.",
            "Serve the model of the glossary alone.",
        )
    if settings.glossary is not None:
        from headway.decoding.glossary import Glossary

        Glossary.read(settings.glossary)  # a fault shows here, before the address is told
    arguments = ["--device", device, *(["--trust-code"] if trust_code else [])]
    if settings.glossary is not None:
        arguments += ["--glossary", str(settings.glossary)]
    return [
        ServedModel(
            name, path, direction, arguments,
            Backlog(settings.queue, settings.timeout / 2, time.monotonic),
        )
        for name, path, direction in zip(names_of(paths), paths, directions, strict=True)
    ]  # fmt: skip


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, before models are loaded."""
    bare = host.strip("[]")
    if not bare:  # for a socket it would mean all addresses
        raise ConfigError("--host is empty.", "Give 127.0.0.1, or 0.0.0.0 for all addresses.")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # With this protocol asyncio sends small answers without delay (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there, it would let two servers use one address
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
