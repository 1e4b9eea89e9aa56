"""Whether the server lives, and whether it translates."""

import asyncio

from fastapi import APIRouter

from headway.service.descriptions import ERRORS, HEALTH
from headway.service.service import Here, Service
from headway.serving.failures import Json

router = APIRouter(responses={status: ERRORS[status] for status in (403, 421, 500)})

_SECONDS = 5.0  # for the sentence that tries a process


@router.get("/health", openapi_extra=HEALTH)
async def health(here: Here) -> Json:
    """Return ok if every model has a process that is ready."""
    return _status(here, all(model.is_ready for model in here.models.values()))


@router.get("/health/live", openapi_extra=HEALTH)
async def live() -> Json:
    """Return ok: the server answers."""
    return Json({"status": "ok"})


@router.get("/health/ready", openapi_extra=HEALTH)
async def ready(here: Here) -> Json:
    """Return ok if every process has translated within the last ten seconds, or does so now."""
    works = await asyncio.gather(*(model.works(_SECONDS) for model in here.models.values()))
    return _status(here, all(works))


def _status(here: Service, works: bool) -> Json:
    if works and not here.draining:
        return Json({"status": "ok"})
    answer = Json({"status": "draining" if here.draining else "not ready"}, 503)
    answer.headers["Retry-After"] = "1"
    return answer
