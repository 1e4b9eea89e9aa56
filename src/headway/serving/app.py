"""The explorer's application: all routes, for the served models."""

from collections.abc import Sequence

from fastapi import FastAPI

from headway.serving import (
    files,
    models,
    offline_answers,
    pages,
    paragraphs,
    questions,
    searches,
    sentences,
)
from headway.serving.failures import answer_failures
from headway.serving.limits import CACHE_BYTES, Gate
from headway.serving.models import Explorer, Served


def create_app(
    served: Sequence[Served],
    *,
    host: str = "127.0.0.1",
    hosts: Sequence[str] = (),
    cache_bytes: int = CACHE_BYTES,
) -> FastAPI:
    """Make the application that serves these models.

    host: the address of the server; requests that name another host are refused, except `hosts`.
    cache_bytes: the most memory of all traces together.
    """
    # The documentation pages of FastAPI would load scripts from other sites.
    app = FastAPI(title="Headway", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.explorer = Explorer(served, cache_bytes)
    modules = (
        models, searches, paragraphs, sentences, questions, offline_answers, files, pages
    )  # fmt: skip
    for module in modules:
        app.include_router(module.router)
    answer_failures(app)
    app.add_middleware(Gate, host=host, hosts=hosts)
    return app
