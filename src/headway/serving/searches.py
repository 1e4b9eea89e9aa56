"""Searches and their sentences: step by step as they run, or as one record."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi import Request as HttpRequest
from fastapi.responses import StreamingResponse

from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.search_record import Expansion, Node, SearchRecord
from headway.errors import HeadwayError, TraceError, shown
from headway.inspection import edit
from headway.inspection.edit import Edit, Edits
from headway.inspection.edited_search import check_search_edits, search_edited
from headway.serving.failures import Json, RefusedError, error_body, json_bytes, reported_as
from headway.serving.limits import BEAM, check_characters
from headway.serving.models import CurrentExplorer, Explorer, Served
from headway.serving.request_queue import in_own_thread, in_turn
from headway.serving.schemas import EditBody, OptionsBody, SamplingBody, SearchBody, SentenceBody

router = APIRouter()


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A checked sentence with all options of its search."""

    served: Served
    source: str
    prefix: str | None
    options: SearchOptions
    edits: Edits

    def search(self, watcher: "Events | None" = None) -> SearchRecord:
        """Search, under the edits of the model if it has any."""
        translator = self.served.translator
        if self.edits:
            with reported_as("edit", TraceError):
                return search_edited(
                    translator, self.source, self.edits, options=self.options,
                    prefix=self.prefix, watcher=watcher,
                )  # fmt: skip
        return translator.search(
            self.source, options=self.options, prefix=self.prefix, watcher=watcher
        )


def search_task(
    explorer: Explorer, body: SentenceBody, sampling: SamplingBody | None = None
) -> SearchTask:
    """Check a sentence; RefusedError if it is blank or too long, or has an impossible prefix."""
    served = explorer.model(body.model)
    check_characters([body.source, body.prefix])
    requests = served.translator.requests
    parts = requests.parts(body.source)
    if not parts:
        raise RefusedError(400, "The sentence is blank.", "Give a sentence to translate.", "blank")
    if len(parts) > 1:
        count = sum(len(part.ids) for part in parts)
        raise RefusedError(
            400,
            f"The sentence has {count} tokens; the explorer shows at most {served.longest}.",
            "Give a shorter sentence; `headway translate` takes long ones in parts.",
            "too-long",
        )
    if getattr(body, "target", None) is None:
        _check_one_sentence(served, body)
    prefix = body.prefix if body.prefix and body.prefix.strip() else None
    options = search_options(served, body, sampling)
    with reported_as("prefix"):
        requests.make([parts], options, prefix=prefix)  # refuses an impossible prefix
    return SearchTask(served, body.source, prefix, options, edits_of(explorer, body.edits))


def _check_one_sentence(served: Served, body: SentenceBody) -> None:
    """Refuse a text of several sentences, because one search would leave some out."""
    requests = served.translator.requests
    at_most = requests.sentences_a_part(body.split_sentences)
    parts = requests.parts(body.source, at_most=at_most)
    sentences = list(dict.fromkeys(part.sentence for part in parts))
    if len(sentences) > 1:
        raise RefusedError(
            400,
            f"The text has {len(sentences)} sentences, but a search is about one.",
            f"Give one of them, such as {shown(sentences[0].text)}; /api/sentences returns all of "
            "them, and /api/paragraph their translation.",
            "sentences",
        )


def edits_of(explorer: Explorer, bodies: Sequence[EditBody] | None) -> dict[str, Edit]:
    """Return edits by name; several edits of one name are applied in order."""
    edits_by_name: dict[str, list[Edit]] = {}
    for body in bodies or ():
        edits_by_name.setdefault(body.name, []).append(_edit(explorer, body))
    return {name: edit.then(*edits) for name, edits in edits_by_name.items()}


def _edit(explorer: Explorer, body: EditBody) -> Edit:
    if body.kind != "replace":
        if body.value is not None or body.trace is not None:
            raise RefusedError(
                400,
                f"The edit '{body.kind}' of '{body.name}' has a value or a trace.",
                "Leave them out, or use the kind 'replace'.",
                "edit",
            )
        return Edit(body.kind, body.where)
    if (body.value is None) == (body.trace is None):
        raise RefusedError(
            400,
            f"The edit 'replace' of '{body.name}' needs either a value or a trace.",
            "Give one number as 'value', or the id of a trace as 'trace'.",
            "edit",
        )
    if body.trace is None:
        return Edit("replace", body.where, body.value)
    donor = explorer.traces.get(body.trace).trace
    with reported_as("edit"):
        return Edit("replace", body.where, donor[body.name])


def search_options(
    served: Served, body: OptionsBody, sampling: SamplingBody | None = None
) -> SearchOptions:
    """Return the options of a search; those absent from the body are the model's."""
    defaults = served.translator.options
    if sampling is not None and body.beam not in (None, 1):
        raise RefusedError(
            400,
            f"Sampling needs a beam of 1, but the beam is {body.beam}.",
            "Set it to 1, or leave it out.",
            "beam",
        )
    beam = min(defaults.beam_size, BEAM) if body.beam is None else body.beam
    penalty = defaults.length_penalty if body.length_penalty is None else body.length_penalty
    return SearchOptions(
        1 if sampling else beam,
        penalty,
        max_length=body.max_length,
        sampling=None
        if sampling is None
        else Sampling(
            temperature=sampling.temperature,
            top_k=sampling.top_k or 0,
            top_p=1.0 if sampling.top_p is None else sampling.top_p,
            seed=sampling.seed,
        ),
    )


def checked_search_task(explorer: CurrentExplorer, body: SearchBody) -> SearchTask:
    """Check a search before it begins."""
    task = search_task(explorer, body, body.sampling)
    with reported_as("edit"):
        check_search_edits(task.served.translator.bundle.model, task.edits)
    return task


Checked = Annotated[SearchTask, Depends(checked_search_task)]


@router.post("/api/search")
async def search(request: HttpRequest, task: Checked) -> Json:
    """Return the record of a search."""
    return await in_turn(task.served.turn, request, lambda: answer(task))


def answer(task: SearchTask) -> Json:
    """Search, and return the record."""
    return Json({"record": task.search().as_dict()})


@router.post("/api/translate")
async def translate(task: Checked) -> StreamingResponse:
    """Return the events of a search while it runs."""
    return StreamingResponse(_events(task), media_type="text/event-stream")


class _GoneError(Exception):
    """The client has disconnected."""


class Events:
    """Observe a search in its thread, and queue its events for the server's loop."""

    def __init__(self, task: SearchTask) -> None:
        """Prepare for this search; call this in the loop."""
        self.task = task
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.gone = threading.Event()
        self.started = 0.0
        self.steps = 0
        self.prefix: list[str] = []

    async def run(self) -> None:
        """Search in a thread in turn, unless the client has disconnected by then."""
        try:
            async with self.task.served.turn:
                if not self.gone.is_set():
                    await in_own_thread(self._search)
        finally:
            self.queue.put_nowait(None)

    def _search(self) -> None:
        """Search to the end, or until the client disconnects."""
        self.started = time.perf_counter()
        try:
            record = self.task.search(self)
            self.put("done", {"record": record.as_dict(), "prefix_pieces": self.prefix})
        except _GoneError:
            pass
        except HeadwayError as error:
            self._put_error(error)
        except Exception as error:
            message = f"{type(error).__name__}: {error}. This is a fault of Headway."
            self._put_error(RefusedError(500, message, "Try again."))
            raise

    def _put_error(self, error: HeadwayError) -> None:
        with contextlib.suppress(_GoneError):
            self.put("error", error_body(error))

    def read(self, request: Request, /) -> None:
        """Send the pieces of the source, after the encoder has read them."""
        bundle = self.task.served.translator.bundle
        self.prefix = bundle.target_tokenizer.pieces(request.prefix)
        pieces = bundle.source_tokenizer.pieces(request.source_ids)
        seconds = time.perf_counter() - self.started
        self.put("encoded", {"source_pieces": pieces, "seconds": seconds})

    def step(self, expansions: Sequence[Expansion], nodes: Sequence[Node], /) -> None:
        """Send the pieces that the step considered and the hypotheses that it made."""
        self.put(
            "step",
            {
                "step": self.steps,
                "expansions": [asdict(expansion) for expansion in expansions],
                "nodes": [asdict(node) for node in nodes],
            },
        )
        self.steps += 1

    def put(self, name: str, value: dict[str, Any]) -> None:
        """Send one event; end the search if the client has disconnected."""
        if self.gone.is_set():
            raise _GoneError
        event = b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"
        try:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, event)
        except RuntimeError:  # the loop has ended with the server
            self.gone.set()


async def _events(task: SearchTask) -> AsyncIterator[bytes]:
    events = Events(task)
    searching = asyncio.create_task(events.run())
    try:
        while (event := await events.queue.get()) is not None:
            yield event
        await searching
    finally:
        events.gone.set()
