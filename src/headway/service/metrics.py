"""Metrics for Prometheus: requests, queues and work, without texts, keys or addresses."""

import asyncio
import time
from collections.abc import Iterable, Iterator

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.service.descriptions import ERRORS, METRICS
from headway.service.served_model import ServedModel
from headway.service.service import CurrentService, Service

router = APIRouter(responses=ERRORS)

_SECONDS = 1.0  # in which a process must send its measurements
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "headway_requests", "Requests answered, by route and status.",
            ["route", "status"], registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "headway_request_seconds", "Seconds from a request's body to the end of its answer.",
            ["route"], buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.texts = Counter(
            "headway_texts", "Texts translated.", ["model"], registry=self.registry
        )
        self.pieces = Counter(
            "headway_target_tokens", "Tokens of translations.", ["model"], registry=self.registry
        )

    def count_text(self, model: str, pieces: int) -> None:
        """Count a text that a model has translated."""
        self.texts.labels(model).inc()
        self.pieces.labels(model).inc(pieces)


class Measured:
    """Middleware that counts the requests of an application, and measures their seconds."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Measure this application."""
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Measure one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, begun = 500, time.perf_counter()

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, note)
        finally:
            # Not the path itself: the number of its values has no bound.
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - begun)


class _Now(Collector):
    """The queues and the work of the models when they were measured."""

    def __init__(self, measured: Iterable[tuple[ServedModel, dict[str, int]]]) -> None:
        self.measured = list(measured)

    def collect(self) -> Iterator[Metric]:
        gauges = {
            "headway_ready": "1 if the process of the model is ready.",
            "headway_queue_characters": "Characters accepted and not yet translated.",
            "headway_waiting_sentences": "Sentences that wait for a place in a batch.",
            "headway_sentences_at_work": "Sentences in the batches.",
            "headway_places": "Places for sentences in the batches.",
            "headway_processes_replaced": "Processes started in place of another one.",
        }
        for name, meaning in gauges.items():
            family = GaugeMetricFamily(name, meaning, labels=["model"])
            for model, now in self.measured:
                values = {
                    "headway_ready": int(model.is_ready),
                    "headway_queue_characters": model.backlog.characters,
                    "headway_waiting_sentences": now.get("waiting"),
                    "headway_sentences_at_work": now.get("at_work"),
                    "headway_places": now.get("slots"),
                    "headway_processes_replaced": model.replaced,
                }
                if (value := values[name]) is not None:
                    family.add_metric([model.name], value)
            yield family


@router.get("/metrics", openapi_extra=METRICS, response_class=Response)
async def metrics(service: CurrentService, request: Request) -> Response:
    """Return the metrics in Prometheus' text format; if the server requires a key, so does this."""
    service.client(request, "")
    counters: Metrics = request.app.state.metrics
    now = CollectorRegistry()
    now.register(_Now(await _measure(service)))
    text = generate_latest(counters.registry) + generate_latest(now)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def _measure(service: Service) -> list[tuple[ServedModel, dict[str, int]]]:
    models = list(service.models.values())
    measured = await asyncio.gather(*(model.measure(_SECONDS) for model in models))
    return list(zip(models, measured, strict=True))
