"""The application: the routes of the service, and the explorer for all other addresses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from headway.service import files, health, libretranslate, metrics, v1
from headway.service.crowd import MOST_BYTES, SHARE, Crowd
from headway.service.failures import answer_for, answer_service_failures
from headway.service.service import Service
from headway.serving.limits import Gate


def create_app(
    service: Service, *, host: str = "127.0.0.1", explorer: ASGIApp | None = None
) -> FastAPI:
    """Make the application of a service. The service starts and ends with the application.

    host: the address of the server; requests that name another host are refused, except the hosts
    of the settings. explorer: answers the requests that the service has no route for.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.close()

    # The documentation pages of FastAPI would load scripts from other sites.
    app = FastAPI(
        title="Headway", docs_url=None, redoc_url=None, openapi_url="/spec", lifespan=lifespan
    )  # fmt: skip
    app.state.service = service
    app.state.files = files.Files()
    app.state.metrics = counters = metrics.Metrics()
    for model in service.models.values():
        model.count_text = counters.count_text
    for module in (libretranslate, v1, files, health, metrics):
        app.include_router(module.router)
    if explorer is not None:
        app.router.default = explorer
    answer_service_failures(app)
    settings = service.settings
    app.add_middleware(
        Gate, host=host, hosts=settings.hosts, origins=settings.cors,
        body_bytes=settings.body_limit, remedy="Send less text.", refuse=answer_for,
    )  # fmt: skip
    if settings.cors:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.cors,
            allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"],
        )  # fmt: skip
    app.add_middleware(
        Crowd, most_bytes=max(MOST_BYTES, settings.body_limit),
        most_of_one=max(MOST_BYTES // SHARE, settings.body_limit),
    )  # fmt: skip
    app.add_middleware(metrics.Measured, metrics=counters)
    return app
