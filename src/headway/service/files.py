"""LibreTranslate's `/translate_file`, and the translated files, which are kept for half an hour."""

import time
import uuid
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from headway.documents import Form, endings, form_of
from headway.documents.steps import EMPTY
from headway.service.descriptions import DOWNLOAD_FILE, ERRORS, TRANSLATE_FILE
from headway.service.detection import detect, text_of_html
from headway.service.libretranslate import AUTO, check_pair, known_code
from headway.service.reading import Fields, read_fields
from headway.service.service import CurrentService, Service
from headway.serving.failures import Json, RefusedError

router = APIRouter(responses=ERRORS)

_SECONDS = 30 * 60
_BYTES = 100 * 2**20  # of all files together; the oldest are deleted first
_NAME = 200  # characters of a file's name


class Files:
    """Translated files in memory: no request names a path on this machine."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without files. clock: returns the time in seconds."""
        self._clock = clock
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def put(self, name: str, content: bytes) -> str:
        """Keep a file; return the name under which to request it, which cannot be guessed."""
        secret_name = f"{uuid.uuid4()}.{name}"
        self._files[secret_name] = (self._clock() + _SECONDS, content)
        self._delete_old()
        return secret_name

    def get(self, secret_name: str) -> bytes | None:
        """Return a file; None if it no longer exists."""
        self._delete_old()
        entry = self._files.get(secret_name)
        return None if entry is None else entry[1]

    def _delete_old(self) -> None:
        """Delete files whose time is over, and the oldest ones beyond the limit on all bytes."""
        size, now = sum(len(content) for _, content in self._files.values()), self._clock()
        while self._files:
            end, content = next(iter(self._files.values()))
            if end > now and (size <= _BYTES or len(self._files) == 1):
                return
            self._files.popitem(last=False)
            size -= len(content)


class _CheckedUpload(NamedTuple):
    name: str
    content: bytes
    form: Form
    source: str
    target: str


@router.post("/translate_file", openapi_extra=TRANSLATE_FILE)
async def translate_file(service: CurrentService, request: Request) -> Json:
    """Translate a whole file, or refuse it; return the address of the result."""
    fields = await read_fields(request, service.settings.body_limit)
    client = service.client(request, fields.optional("api_key"))
    service.use(client, 1)
    if not service.settings.files:
        raise RefusedError(403, "Files translation are disabled on this server.")
    checked = _check(service, fields)
    source = checked.source
    if source == AUTO:
        source = await run_in_threadpool(_language, service, checked)
    content = checked.content
    chain = service.routes.models(source, checked.target)
    assert chain is not None
    if chain:
        wish = {"form": checked.form, "file": True}
        work = service.translate(chain, [b64encode(content).decode()], wish, client)
        (item,) = await service.until_deadline(request, work)
        if error := item.get("error"):
            status = 500 if error["fault"] else 400
            raise RefusedError(status, f"Cannot translate file: {error['message']}")
        if EMPTY in item["translation"]["flags"]:
            problem = "the model has no translation for a part of it"
            raise RefusedError(400, f"Cannot translate file: {problem}")
        content = b64decode(item["translation"]["text"])
    secret_name = request.app.state.files.put(checked.name, content)
    return Json({"translatedFileUrl": f"{request.base_url}download_file/{quote(secret_name)}"})


def _check(service: Service, fields: Fields) -> _CheckedUpload:
    upload = fields.upload("file")
    name = _plain_name(upload.name)
    source, target = fields.text("source"), fields.text("target")
    if not name:
        raise RefusedError(400, "Invalid request: empty file")
    form = form_of(name)
    if form is None:
        raise RefusedError(
            400, "Invalid request: file format not supported", f"Send {', '.join(endings())}."
        )
    source = source if source == AUTO else known_code(service, source)
    target = known_code(service, target)
    check_pair(service, source, target)
    return _CheckedUpload(name, upload.content, form, source, target)


def _language(service: Service, checked: _CheckedUpload) -> str:
    """Return the detected language of a file.

    Raises RefusedError if no language is detected, or only that of the target: a file is not
    returned untranslated because of a guess.
    """
    if checked.form == "docx":
        raise RefusedError(
            400, "Invalid request: the language of this file format is not detected, name it"
        )
    text = text_of_html(checked.content[:100_000].decode("utf-8", "replace"))
    detections = detect(text, service.routes.sources(checked.target))
    if not detections:
        raise RefusedError(
            400, "Invalid request: the language of the file is not found; give it in source"
        )
    if detections[0].language == checked.target:
        problem = f"the file seems to be in {checked.target} already; give its language in source"
        raise RefusedError(400, f"Invalid request: {problem}")
    return detections[0].language


def _plain_name(name: str) -> str:
    r"""Return the last part of a path, without unprintable characters and outer dots and spaces.

    >>> _plain_name("C:\\a/../b.txt"), _plain_name("..")
    ('b.txt', '')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable()).strip(". ")[-_NAME:]


@router.get("/download_file/{name:path}", openapi_extra=DOWNLOAD_FILE, response_class=Response)
async def download_file(request: Request) -> Response:
    """Return a translated file under the name of the uploaded file."""
    name = request.path_params["name"]
    if name != _plain_name(name):
        raise RefusedError(400, "Invalid filename")
    content = request.app.state.files.get(name)
    if content is None:
        raise RefusedError(404, "The file is not here any more.", "Translate it again.")
    uploaded_name = name.partition(".")[2]
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(uploaded_name)}"}
    return Response(content, media_type="application/octet-stream", headers=headers)
