"""Headway's own routes: each text has its own answer, with scores, flags and other facts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from headway.errors import suggest
from headway.service.descriptions import MODELS, OWN_ERRORS, OWN_TRANSLATE
from headway.service.detection import Detection, detect, has_words, text_of_html
from headway.service.keys import Client
from headway.service.languages import code_of
from headway.service.libretranslate import AUTO, no_pair, no_target
from headway.service.model_process import Item
from headway.service.schemas import TranslateBody
from headway.service.served_model import Part, costs_of
from headway.service.service import CurrentService, Service, too_large
from headway.serving.failures import Json, RefusedError, error_body, json_bytes

router = APIRouter(prefix="/v1", responses=OWN_ERRORS)

Put = Callable[[int, dict[str, Any]], None]

_FORCED = 500  # most characters of a text's terms and prefix together


class CheckedRequest(NamedTuple):
    """A checked request."""

    texts: list[str]
    chains: list[Sequence[str]]
    """For each text, the models that translate it, one after the other."""
    detections: list[Detection] | None
    wish: dict[str, Any]
    prefixes: list[str]
    client: Client
    seconds: float | None


@router.get("/models", openapi_extra=MODELS)
async def models(service: CurrentService, request: Request) -> Json:
    """Return the models: names, languages, checksums, and whether they are ready."""
    _client(service, request, "")
    return Json({"models": [
        {
            "name": model.name,
            "source": model.direction and model.direction.source,
            "target": model.direction and model.direction.target,
            "ready": model.is_ready,
            "checksum": model.facts.get("checksum"),
            "description": model.facts.get("model"),
        }
        for model in service.models.values()
    ]})  # fmt: skip


@router.post("/translate", openapi_extra=OWN_TRANSLATE)
async def translate(service: CurrentService, request: Request, body: TranslateBody) -> Any:
    """Translate texts; a text that cannot be translated has an error as its answer.

    With the header `Accept: text/event-stream`, each translated part of a text is sent as soon as
    possible, and then the text's answer.
    """
    checked = await _check(service, request, body)
    if "text/event-stream" in request.headers.get("accept", ""):
        cost = sum(costs_of(checked.texts, checked.wish, checked.prefixes))
        service.check_capacity(checked.chains, cost)
        stream = _events(service, request, checked)
        return StreamingResponse(stream, media_type="text/event-stream")
    items = await service.until_deadline(request, _answers(service, checked), checked.seconds)
    return Json(_named(service, checked) | {"translations": items})


async def _check(service: Service, request: Request, body: TranslateBody) -> CheckedRequest:
    """Check a request; RefusedError names the first fault."""
    client = _client(service, request, body.api_key or "")
    service.use(client, len(body.texts))
    limit = service.settings.batch_limit
    if len(body.texts) > limit:
        raise too_large(len(body.texts), limit)
    service.check_size(body.texts)
    chains, detections = await _chains(service, body)
    chains = [
        chain if has_words(text) else () for text, chain in zip(body.texts, chains, strict=True)
    ]
    _check_form(body)
    if any(len(chain) > 1 for chain in chains) and _needs_source(body):
        raise RefusedError(
            422,
            "A glossary, alignments, a prefix or terms need one model from source to target.",
            "Leave them out, or name a source and a target of one model.",
        )
    prefixes = [body.prefix] * len(body.texts) if isinstance(body.prefix, str) else body.prefix
    if prefixes and len(prefixes) != len(body.texts):
        raise RefusedError(
            422, f"There are {len(prefixes)} prefixes for {len(body.texts)} texts.",
            "Give one for all, or one for each.",
        )  # fmt: skip
    wish = _wish(body)
    _check_forced(service, body, wish, prefixes or [])
    return CheckedRequest(
        body.texts, chains, detections, wish, prefixes or [], client, body.timeout_s
    )


def _client(service: Service, request: Request, key: str) -> Client:
    try:
        return service.client(request, key)
    except RefusedError as error:
        # LibreTranslate's clients expect 400 for a key that is missing; 401 is the usual status.
        status = 401 if error.status == 400 else error.status
        raise RefusedError(status, f"{error.message}.", error.remedy) from None


async def _chains(
    service: Service, body: TranslateBody
) -> tuple[list[Sequence[str]], list[Detection] | None]:
    """Return the models for each text, and its detected language if the source is auto."""
    count = len(body.texts)
    if body.model is not None:
        if body.source is not None or body.target is not None:
            raise RefusedError(
                422, "The request names a model and languages.", "Name only one of the two."
            )
        if body.model not in service.models:
            raise RefusedError(
                404, f"There is no model '{body.model[:100]}'.", suggest(body.model, service.models)
            )
        return [(body.model,)] * count, None
    if body.source is None or body.target is None:
        raise RefusedError(422, "Source and target are missing.", "Name both, or a model.")
    source, target = code_of(body.source), code_of(body.target)
    if source != AUTO:
        return [_chain(service, source, target)] * count, None
    codes = service.routes.sources(target)
    if codes in ([], [target]):
        raise no_target(target)
    text_of = text_of_html if body.format == "html" else str
    detected = await run_in_threadpool(
        lambda: [detect(text_of(text), codes) for text in body.texts]
    )
    detections = [languages[0] if languages else Detection(0, codes[0]) for languages in detected]
    return [_chain(service, detection.language, target) for detection in detections], detections


def _chain(service: Service, source: str, target: str) -> Sequence[str]:
    chain = service.routes.models(source, target)
    if chain is None:
        raise no_pair(source, target)
    return chain


def _check_form(body: TranslateBody) -> None:
    """Refuse fields of plain texts for a document, and fields of documents for a plain text."""
    of_texts = body.prefix or body.terms or body.alignments or body.n_best > 1
    if body.format is not None and of_texts:
        raise RefusedError(
            422,
            "A document (format) has no prefix, terms, alignments or n_best.",
            "Leave them out, or the format.",
        )
    if body.format is None and body.keep:
        raise RefusedError(422, "'keep' is only for documents.", "Name their format: text or html.")


def _check_forced(
    service: Service, body: TranslateBody, wish: Mapping[str, Any], prefixes: Sequence[str]
) -> None:
    """Refuse terms and prefixes with more characters than a text may have, or the queue takes."""
    longest = sum(map(len, body.terms)) + max(map(len, prefixes), default=0)
    if longest > _FORCED:
        raise RefusedError(
            422,
            f"The terms and the prefix of a text have {longest:,} characters, but at most "
            f"{_FORCED} are taken.",
            "Give fewer or shorter ones.",
        )
    if (cost := sum(costs_of(body.texts, wish, prefixes))) > service.settings.queue:
        raise too_large(cost, service.settings.queue)


def _needs_source(body: TranslateBody) -> bool:
    return bool(body.alignments or body.glossary or body.prefix or body.terms)


def _wish(body: TranslateBody) -> dict[str, Any]:
    """Return the wish for the process: the fields that differ from the defaults."""
    wish: dict[str, Any] = {
        "n_best": body.n_best, "beam_size": body.beam, "alignments": body.alignments,
        "terms": body.terms, "banned": body.banned, "glossary": body.glossary,
        "form": body.format, "keep": body.keep,
        "split_sentences": False if body.split == "none" else None,
    }  # fmt: skip
    defaults = {"n_best": 1, "alignments": False, "terms": [], "banned": [], "keep": []}
    return {name: value for name, value in wish.items() if value != defaults.get(name)}


def _named(service: Service, checked: CheckedRequest) -> dict[str, Any]:
    """Return the last model of all texts; null if they have different ones, or need no model."""
    names = {chain[-1] if chain else None for chain in checked.chains}
    name = names.pop() if len(names) == 1 else None
    if name is None:
        return {"model": None}
    checksum = service.models[name].facts.get("checksum")
    return {"model": {"name": name, "checksum": checksum}}


async def _answers(
    service: Service,
    checked: CheckedRequest,
    put: Put = lambda place, item: None,
    part: Part | None = None,
) -> list[dict[str, Any]]:
    """Return the item of each text; `put` receives an item as soon as it is complete.

    part: before that, receives the translation of each part of the text; None leaves them out.
    """
    wish = checked.wish if part is None else checked.wish | {"parts": True}
    items: dict[int, dict[str, Any]] = {}

    def keep(place: int, item: dict[str, Any]) -> None:
        if checked.detections is not None:
            item["detected"] = checked.detections[place].as_dict()
        items[place] = item
        put(place, item)

    async def run(chain: Sequence[str]) -> None:
        places = [place for place, other in enumerate(checked.chains) if other == chain]
        if not chain:
            for place in places:
                keep(place, {"text": checked.texts[place], "flags": ["copied"]})
            return
        answered = await service.translate(
            chain,
            [checked.texts[place] for place in places],
            wish,
            checked.client,
            prefixes=[checked.prefixes[place] for place in places] if checked.prefixes else None,
            each=lambda number, item: keep(places[number], _item(item)),
            part=lambda number, text: part and part(places[number], text),
        )
        for place, item in zip(places, answered, strict=True):
            if place not in items:  # the first of two models refused the text
                keep(place, _item(item))

    for chain in dict.fromkeys(checked.chains):
        await run(chain)
    return [items[place] for place in range(len(checked.texts))]


def _item(item: Item) -> dict[str, Any]:
    """Return the answer for one text, made from the process's answer."""
    if error := item.get("error"):
        code = "fault" if error["fault"] else "refused"
        return {"error": {"message": error["message"], "remedy": error["remedy"], "code": code}}
    return dict(item["translation"])


async def _events(
    service: Service, request: Request, checked: CheckedRequest
) -> AsyncIterator[bytes]:
    """Yield an event for each text when it is translated, and one at the end."""
    ready: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(place: int, item: dict[str, Any]) -> None:
        ready.put_nowait(_event("item", {"item": place} | item))

    def put_part(place: int, text: str) -> None:
        ready.put_nowait(_event("text", {"item": place, "text": text}))

    async def run() -> None:
        try:
            await service.until_deadline(
                request, _answers(service, checked, put, put_part), checked.seconds
            )
            ready.put_nowait(_event("end", _named(service, checked)))
        except RefusedError as error:
            ready.put_nowait(_event("error", error_body(error)))
        finally:
            ready.put_nowait(None)

    running = asyncio.create_task(run())
    try:
        while (event := await ready.get()) is not None:
            yield event
    finally:
        running.cancel()


def _event(kind: str, content: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + json_bytes(content) + b"\n\n"
