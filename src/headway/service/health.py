"""Health checks: whether the server runs, and whether it translates."""

import asyncio

from fastapi import APIRouter

from headway.service.descriptions import ERRORS, HEALTH
from headway.service.service import CurrentService, Service
from headway.serving.failures import Json

router = APIRouter(responses={status: ERRORS[status] for status in (403, 421, 500)})

_SECONDS = 5.0  # in which a process must translate a test sentence


@router.get("/health", openapi_extra=HEALTH)
async def health(service: CurrentService) -> Json:
    """Return ok if every model has a process that is ready."""
    return _status(service, all(model.is_ready for model in service.models.values()))


@router.get("/health/live", openapi_extra=HEALTH)
async def live() -> Json:
    """Return ok: the server answers."""
    return Json({"status": "ok"})


@router.get("/health/ready", openapi_extra=HEALTH)
async def ready(service: CurrentService) -> Json:
    """Return ok if every model has translated within the last ten seconds, or does so now."""
    works = await asyncio.gather(*(model.works(_SECONDS) for model in service.models.values()))
    return _status(service, all(works))


def _status(service: Service, works: bool) -> Json:
    if works and not service.draining:
        return Json({"status": "ok"})
    answer = Json({"status": "draining" if service.draining else "not ready"}, 503)
    answer.headers["Retry-After"] = "1"
    return answer
