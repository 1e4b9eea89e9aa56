"""LibreTranslate's routes, at the root, with its fields, checks, messages and statuses.

A request is checked in LibreTranslate's order, so that a client gets the same error:
q, source, target, alternatives, number of texts, length of texts, languages, format, pair.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool

from headway.documents import endings
from headway.service.descriptions import (
    DETECT,
    ERRORS,
    FRONTEND_SETTINGS,
    LANGUAGES,
    SUGGEST,
    TRANSLATE,
)
from headway.service.detection import Detection, detect, has_words, text_of_html
from headway.service.keys import Client
from headway.service.languages import code_of, name_of
from headway.service.model_process import Item
from headway.service.reading import Fields, read_fields
from headway.service.service import CurrentService, Service, too_large
from headway.serving.failures import Json, RefusedError

router = APIRouter(responses=ERRORS)

AUTO = "auto"
_FORMATS = ("text", "html")
_UNKNOWN = Detection(0, "en")
_DETECTIONS = 3
_PAIRS = "/languages lists the languages, each with its targets."


class CheckedRequest(NamedTuple):
    """A checked request for translations."""

    texts: list[str]
    is_list: bool
    source: str
    target: str
    form: str
    alternatives: int


@router.post("/translate", openapi_extra=TRANSLATE)
async def translate(service: CurrentService, request: Request) -> Json:
    """Translate a text, or each text of a list."""
    fields = await read_fields(request, service.settings.body_limit)
    client = service.client(request, fields.optional("api_key"))
    service.use(client, _cost(fields))
    checked = check(service, fields)
    _check_room(service, checked)
    return await service.until_deadline(request, _answer(service, checked, client))


def check(service: Service, fields: Fields) -> CheckedRequest:
    """Check a request in LibreTranslate's order; RefusedError names the first fault."""
    query = fields.texts("q")
    texts = query if isinstance(query, list) else [query]
    source, target = fields.text("source"), fields.text("target")
    alternatives = max(fields.number("alternatives", 0), 0)
    limit = service.settings.alternatives_limit
    if alternatives > limit:
        raise RefusedError(400, f"Invalid request: alternatives parameter must be <= {limit}")
    if len(texts) > service.settings.batch_limit:
        raise too_large(len(texts), service.settings.batch_limit)
    service.check_size(texts)
    source = source if source == AUTO else known_code(service, source)
    target = known_code(service, target)
    form = fields.optional("format") or "text"
    if form not in _FORMATS:
        raise RefusedError(400, f"{form} format is not supported")
    check_pair(service, source, target)
    return CheckedRequest(texts, isinstance(query, list), source, target, form, alternatives)


def check_pair(service: Service, source: str, target: str) -> None:
    """Refuse two languages without a model between them, and a target that no model writes."""
    if source == AUTO and service.routes.sources(target) == [target]:
        raise no_target(target)
    if source != AUTO and service.routes.models(source, target) is None:
        raise no_pair(source, target)


def _check_room(service: Service, checked: CheckedRequest) -> None:
    """Refuse texts for which a queue has no room before any work begins, which takes less time."""
    chain = (
        None if checked.source == AUTO else service.routes.models(checked.source, checked.target)
    )
    texts = [text for text in checked.texts if has_words(text)]
    if chain and texts:
        service.check_capacity([chain], sum(map(len, texts)))


def known_code(service: Service, name: str) -> str:
    """Return the code of a language; RefusedError if the server does not translate it."""
    code = code_of(name)
    if code not in service.routes.codes:
        raise RefusedError(400, f"{name[:100]} is not supported")
    return code


def no_target(target: str) -> RefusedError:
    """Return LibreTranslate's error for a language that no model translates into."""
    return RefusedError(
        400, f"{name_of(target)} ({target}) is not available as a target language", _PAIRS
    )


def no_pair(source: str, target: str) -> RefusedError:
    """Return LibreTranslate's error for two languages without a model between them."""
    return RefusedError(
        400,
        f"{name_of(target)} ({target}) is not available as a target language from "
        f"{name_of(source)} ({source})",
        _PAIRS,
    )


async def _answer(service: Service, checked: CheckedRequest, client: Client) -> Json:
    detections = await _sources(service, checked)
    sources = [detection.language for detection in detections]
    translations = await _translated(service, checked, sources, {"form": checked.form}, client)
    texts = [hypotheses[0] for hypotheses in translations]
    answer: dict[str, Any] = {"translatedText": texts if checked.is_list else texts[0]}
    if checked.source == AUTO:
        detected = [detection.as_dict() for detection in detections]
        answer["detectedLanguage"] = detected if checked.is_list else detected[0]
    if checked.alternatives:
        others = await _alternatives(service, checked, sources, texts, client)
        answer["alternatives"] = others if checked.is_list else others[0]
    return Json(answer)


async def _alternatives(
    service: Service,
    checked: CheckedRequest,
    sources: Sequence[str],
    best: Sequence[str],
    client: Client,
) -> list[list[str]]:
    """Return other translations of each text; none of HTML, which is translated in parts."""
    if checked.form != "text":
        return [[] for _ in checked.texts]
    wish = {"n_best": checked.alternatives + 1}
    translations = await _translated(service, checked, sources, wish, client)
    return [
        _others(text, hypotheses, checked.alternatives)
        for text, hypotheses in zip(best, translations, strict=True)
    ]


async def _sources(service: Service, checked: CheckedRequest) -> list[Detection]:
    """Return the language of each text: that of the request, or else the detected one."""
    if checked.source != AUTO:
        return [Detection(100, checked.source)] * len(checked.texts)
    codes = service.routes.sources(checked.target)
    text_of = text_of_html if checked.form == "html" else str
    return await run_in_threadpool(
        lambda: [_source(text_of(text), codes) for text in checked.texts]
    )


def _source(text: str, codes: Sequence[str]) -> Detection:
    """Return the detected language of a text, among these languages."""
    if detections := detect(text, codes):
        return detections[0]
    return _UNKNOWN if _UNKNOWN.language in codes else Detection(0, codes[0])


async def _translated(
    service: Service,
    checked: CheckedRequest,
    sources: Sequence[str],
    wish: Mapping[str, Any],
    client: Client,
) -> list[list[str]]:
    """Return the translations of each text, best first.

    Text without a letter or a digit, or in the target language, is its own translation. Raises
    RefusedError if one text cannot be translated: a client must not mistake it for a translation.
    """
    results = [[text] for text in checked.texts]
    for source in dict.fromkeys(sources):
        places = [
            place
            for place, text in enumerate(checked.texts)
            if sources[place] == source and has_words(text)
        ]
        chain = service.routes.models(source, checked.target)
        assert chain is not None
        if chain and places:
            texts = [checked.texts[place] for place in places]
            items = await service.translate(chain, texts, wish, client)
            for place, item in zip(places, items, strict=True):
                results[place] = _texts_of(item)
    return results


def _texts_of(item: Item) -> list[str]:
    if error := item.get("error"):
        status = 500 if error["fault"] else 400
        raise RefusedError(status, f"Cannot translate text: {error['message']}", error["remedy"])
    return [hypothesis["text"] for hypothesis in item["translation"]["hypotheses"]]


def _others(best: str, texts: Sequence[str], most: int) -> list[str]:
    """Return at most `most` alternatives: not blank, and all different, also from the best."""
    different = [text for text in dict.fromkeys(texts) if text.strip() and text != best]
    return different[:most]


def _cost(fields: Fields) -> int:
    """Return the number of texts in a request that is not checked yet; 1 if it has none."""
    try:
        texts = fields.texts("q")
    except RefusedError:
        return 1
    return len(texts) if isinstance(texts, list) else 1


@router.post("/detect", openapi_extra=DETECT)
async def detect_language(service: CurrentService, request: Request) -> Json:
    """Return the languages that a text may be in, best first; a list counts as one text."""
    fields = await read_fields(request, service.settings.body_limit)
    client = service.client(request, fields.optional("api_key"))
    service.use(client, 1)
    query = fields.texts("q")
    texts = query if isinstance(query, list) else [query]
    service.check_size(texts)
    detections = await run_in_threadpool(detect, "\n".join(texts), service.routes.codes)
    return Json([detection.as_dict() for detection in detections[:_DETECTIONS] or [_UNKNOWN]])


@router.get("/languages", openapi_extra=LANGUAGES)
async def languages(service: CurrentService) -> Json:
    """Return the languages, each with the languages that it can be translated to."""
    return Json(service.routes.described())


@router.get("/frontend/settings", openapi_extra=FRONTEND_SETTINGS)
async def frontend_settings(service: CurrentService) -> Json:
    """Return the settings that LibreTranslate's page and some clients request first."""
    settings, codes = service.settings, service.routes.codes
    source = codes[0] if codes else "en"
    target = next((code for code in service.routes.targets(source) if code != source), source)
    return Json({
        "apiKeys": settings.api_keys is not None,
        "charLimit": -1 if settings.char_limit is None else settings.char_limit,
        "filesTranslation": settings.files,
        "frontendTimeout": 500,
        "keyRequired": settings.require_key,
        "language": {
            side: {"code": code, "name": name_of(code)}
            for side, code in (("source", source), ("target", target))
        },
        "suggestions": False,
        "supportedFilesFormat": endings() if settings.files else [],
    })  # fmt: skip


@router.post("/suggest", openapi_extra=SUGGEST)
async def suggest() -> Json:
    """Refuse suggestions, as LibreTranslate does by default."""
    raise RefusedError(403, "Suggestions are disabled on this server.")
