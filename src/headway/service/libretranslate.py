"""LibreTranslate's routes, at the root, with its fields, checks, sentences and statuses.

The checks of a request come in LibreTranslate's order, so that a client reads the same error:
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
from headway.service.service import Here, Service, too_large
from headway.serving.failures import Json, RefusedError

router = APIRouter(responses=ERRORS)

AUTO = "auto"
_FORMATS = ("text", "html")
_UNKNOWN = Detection(0, "en")
_DETECTIONS = 3
_PAIRS = "/languages lists the languages, each with its targets."


class Wanted(NamedTuple):
    """A checked request for translations."""

    texts: list[str]
    is_list: bool
    source: str
    target: str
    form: str
    alternatives: int


@router.post("/translate", openapi_extra=TRANSLATE)
async def translate(here: Here, request: Request) -> Json:
    """Translate a text, or each text of a list."""
    fields = await read_fields(request, here.settings.body_limit)
    client = here.client(request, fields.optional("api_key"))
    here.use(client, _cost(fields))
    wanted = check(here, fields)
    _check_room(here, wanted)
    return await here.until_deadline(request, _answer(here, wanted, client))


def check(here: Service, fields: Fields) -> Wanted:
    """Check a request in LibreTranslate's order; RefusedError says the first fault."""
    given = fields.texts("q")
    texts = given if isinstance(given, list) else [given]
    source, target = fields.text("source"), fields.text("target")
    alternatives = max(fields.number("alternatives", 0), 0)
    limit = here.settings.alternatives_limit
    if alternatives > limit:
        raise RefusedError(400, f"Invalid request: alternatives parameter must be <= {limit}")
    if len(texts) > here.settings.batch_limit:
        raise too_large(len(texts), here.settings.batch_limit)
    here.check_size(texts)
    source = source if source == AUTO else known_code(here, source)
    target = known_code(here, target)
    form = fields.optional("format") or "text"
    if form not in _FORMATS:
        raise RefusedError(400, f"{form} format is not supported")
    check_pair(here, source, target)
    return Wanted(texts, isinstance(given, list), source, target, form, alternatives)


def check_pair(here: Service, source: str, target: str) -> None:
    """Refuse two languages without a model between them, and a target that none has."""
    if source == AUTO and here.routes.sources(target) == [target]:
        raise no_target(target)
    if source != AUTO and here.routes.models(source, target) is None:
        raise no_pair(source, target)


def _check_room(here: Service, wanted: Wanted) -> None:
    """Refuse what a full queue would refuse, before anything is begun: that takes less time."""
    chain = None if wanted.source == AUTO else here.routes.models(wanted.source, wanted.target)
    texts = [text for text in wanted.texts if has_words(text)]
    if chain and texts:
        here.check_capacity([chain], sum(map(len, texts)))


def known_code(here: Service, given: str) -> str:
    """Return the code of a language that is served; RefusedError for another."""
    code = code_of(given)
    if code not in here.routes.codes:
        raise RefusedError(400, f"{given[:100]} is not supported")
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


async def _answer(here: Service, wanted: Wanted, client: Client) -> Json:
    detections = await _sources(here, wanted)
    sources = [detection.language for detection in detections]
    found = await _translated(here, wanted, sources, {"form": wanted.form}, client)
    texts = [hypotheses[0] for hypotheses in found]
    answer: dict[str, Any] = {"translatedText": texts if wanted.is_list else texts[0]}
    if wanted.source == AUTO:
        told = [detection.as_dict() for detection in detections]
        answer["detectedLanguage"] = told if wanted.is_list else told[0]
    if wanted.alternatives:
        others = await _alternatives(here, wanted, sources, texts, client)
        answer["alternatives"] = others if wanted.is_list else others[0]
    return Json(answer)


async def _alternatives(
    here: Service, wanted: Wanted, sources: Sequence[str], best: Sequence[str], client: Client
) -> list[list[str]]:
    """Return other translations of each text; none of HTML, which is translated in pieces."""
    if wanted.form != "text":
        return [[] for _ in wanted.texts]
    wish = {"n_best": wanted.alternatives + 1}
    found = await _translated(here, wanted, sources, wish, client)
    return [
        _others(text, hypotheses, wanted.alternatives)
        for text, hypotheses in zip(best, found, strict=True)
    ]


async def _sources(here: Service, wanted: Wanted) -> list[Detection]:
    """Return the language of each text: that of the request, or else the detected one."""
    if wanted.source != AUTO:
        return [Detection(100, wanted.source)] * len(wanted.texts)
    codes = here.routes.sources(wanted.target)
    shown = text_of_html if wanted.form == "html" else str
    return await run_in_threadpool(lambda: [_source(shown(text), codes) for text in wanted.texts])


def _source(text: str, codes: Sequence[str]) -> Detection:
    """Return the detected language of a text, among those that can be translated."""
    if found := detect(text, codes):
        return found[0]
    return _UNKNOWN if _UNKNOWN.language in codes else Detection(0, codes[0])


async def _translated(
    here: Service, wanted: Wanted, sources: Sequence[str], wish: Mapping[str, Any], client: Client
) -> list[list[str]]:
    """Return for each text its translations, best first.

    Text without a letter or a digit, or in the target language, is its own translation. Raises
    RefusedError if one text cannot be translated: a client must not take silence for a translation.
    """
    results = [[text] for text in wanted.texts]
    for source in dict.fromkeys(sources):
        places = [
            place
            for place, text in enumerate(wanted.texts)
            if sources[place] == source and has_words(text)
        ]
        chain = here.routes.models(source, wanted.target)
        assert chain is not None
        if chain and places:
            texts = [wanted.texts[place] for place in places]
            items = await here.translate(chain, texts, wish, client)
            for place, item in zip(places, items, strict=True):
                results[place] = _texts_of(item)
    return results


def _texts_of(item: Item) -> list[str]:
    if error := item.get("error"):
        status = 500 if error["fault"] else 400
        raise RefusedError(status, f"Cannot translate text: {error['message']}", error["remedy"])
    return [hypothesis["text"] for hypothesis in item["translation"]["hypotheses"]]


def _others(best: str, texts: Sequence[str], most: int) -> list[str]:
    """Return the alternatives: different from the translation and from each other, not empty."""
    different = [text for text in dict.fromkeys(texts) if text.strip() and text != best]
    return different[:most]


def _cost(fields: Fields) -> int:
    """Return the number of texts, as far as they can be counted before they are checked."""
    try:
        texts = fields.texts("q")
    except RefusedError:
        return 1
    return len(texts) if isinstance(texts, list) else 1


@router.post("/detect", openapi_extra=DETECT)
async def detect_language(here: Here, request: Request) -> Json:
    """Return the languages that a text may be in, best first; a list is one text."""
    fields = await read_fields(request, here.settings.body_limit)
    client = here.client(request, fields.optional("api_key"))
    here.use(client, 1)
    given = fields.texts("q")
    texts = given if isinstance(given, list) else [given]
    here.check_size(texts)
    found = await run_in_threadpool(detect, "\n".join(texts), here.routes.codes)
    return Json([detection.as_dict() for detection in found[:_DETECTIONS] or [_UNKNOWN]])


@router.get("/languages", openapi_extra=LANGUAGES)
async def languages(here: Here) -> Json:
    """Return the languages, each with the languages that it is translated to."""
    return Json(here.routes.described())


@router.get("/frontend/settings", openapi_extra=FRONTEND_SETTINGS)
async def frontend_settings(here: Here) -> Json:
    """Return what LibreTranslate's page and some clients ask for first."""
    settings, codes = here.settings, here.routes.codes
    source = codes[0] if codes else "en"
    target = next((code for code in here.routes.targets(source) if code != source), source)
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
