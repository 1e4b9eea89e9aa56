"""The answers that a page in one file contains, since it has no server to ask.

The questions are those of `static/app/network.js` about one sentence. Rare questions, and those
that take long to answer, are left out; the page says so when a reader asks one.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import torch
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from headway.data.tokenizer import END_ID, SPECIAL_PIECES
from headway.errors import HeadwayError
from headway.inspection.attribution import Method
from headway.inspection.sentence import TracedSentence
from headway.serving import files, questions, searches
from headway.serving import models as model_routes
from headway.serving.addresses import read_address, search_body, write_address
from headway.serving.failures import Json, json_bytes
from headway.serving.models import CurrentExplorer, Explorer, Served
from headway.serving.page_file import MAX_BYTES, page_html
from headway.serving.request_queue import in_turn
from headway.serving.schemas import SearchBody
from headway.serving.sentences import manifest, tensor_bytes
from headway.serving.traces import StoredTrace

POSITIONS = 128
_END = SPECIAL_PIECES[END_ID]
_QUICK = 400_000  # source pieces x target pieces x parameters / 1000, below which it attributes

# The most needed tensors come first; a line has precedence over the next.
_ORDER = (
    ("*.weights", "source_mask", "target_mask"),
    ("*.scores", "*.masked_scores", "*.q", "*.k", "*.v", "*.heads"),
    ("*_embedding.*", "*.input", "*.output", "*.sum", "*.norm"),
    ("*.concat", "*.projected_*", "*.mean", "*.variance"),
    ("*.contributions",),
    ("*",),
)

Answers = dict[str, Any]

router = APIRouter()


@router.get("/api/traces/{trace}/export.html")
async def export_page(
    explorer: CurrentExplorer, request: Request, trace: str, state: str = ""
) -> Response:
    """Return the page about one trace, as a file that needs no server."""
    stored = explorer.traces.get(trace)
    questions.refuse_edits(stored.trace.edits)
    # Two turns, one after the other, so that a wait for the model does not delay other exports.
    answers = await in_turn(
        stored.owner.turn, request, lambda: collect(explorer, stored, read_address(state))
    )
    html = await in_turn(explorer.export_turn, request, lambda: page_html(answers))
    headers = {"Content-Disposition": 'attachment; filename="headway.html"'}
    return Response(html, media_type="text/html; charset=utf-8", headers=headers)


def collect(
    explorer: Explorer,
    stored: StoredTrace[Served],
    state: Mapping[str, str],
    max_bytes: int = MAX_BYTES,
) -> Answers:
    """Return the answers about a trace, as `static/app/embedded.js` reads them.

    state: the first view of the page, by the names of `static/app/address.js`. max_bytes: most
    bytes of tensors; the least needed ones are left out and named in `left_out`.
    """
    seen = stored.trace
    assert seen.sentence is not None
    state = {key: value for key, value in state.items() if key != "sent"}
    state["src"] = seen.sentence.source
    body = search_body(state)
    searched = list(_searches(explorer, stored, body))
    records = [search["answer"]["record"] for search in searched]
    if not any(_found_target(seen.sentence, record) for record in records):
        # The page then says that the translation was given, not found by a search.
        state["target"] = seen.sentence.target
    tensors, left_out = _tensors(stored, max_bytes)
    model = _json(model_routes.model(explorer, stored.owner.name))
    return {
        "address": write_address(state),
        "model": {**model, "given": _portable(model["given"])},
        "trace": {
            "body": {key: body[key] for key in ("source", "prefix") if key in body},
            "manifest": json.loads(json_bytes(manifest(stored))),
        },
        "searches": searched,
        "tensors": tensors,
        "others": dict(_other_answers(stored)),
        "position": _position(stored),
        "left_out": left_out,
        "limit": max_bytes,
    }


def _found_target(sentence: TracedSentence, record: Mapping[str, Any]) -> bool:
    """Return True if the search ended with the traced target."""
    node, pieces = record["nodes"][record["ranking"][0]], []
    while node["parent"] is not None:
        pieces.append(node["piece"])
        node = record["nodes"][node["parent"]]
    return _ended(pieces[::-1]) == _ended(list(sentence.writes))


def _ended(pieces: list[str]) -> list[str]:
    """Return pieces without the end symbol, which is missing after a search that was cut off."""
    return pieces[:-1] if pieces[-1:] == [_END] else pieces


def _portable(path: str) -> str:
    """Return a path for `headway.load` without the folders of this machine."""
    return Path(path).name if Path(path).is_absolute() else path


def _searches(
    explorer: Explorer, stored: StoredTrace[Served], body: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    search_body = {
        **body,
        "model": stored.owner.name,
        "split_sentences": False,
    }  # the trace has one sentence
    try:
        answer = _json(
            searches.answer(searches.checked_search_task(explorer, SearchBody(**search_body)))
        )
    except (HeadwayError, ValidationError):
        return
    yield {"body": dict(body), "answer": answer}


def _other_answers(stored: StoredTrace[Served]) -> Iterator[tuple[str, Any]]:
    """Return the other answers about a trace, by question."""
    answers: list[tuple[tuple[Any, ...], Callable[[], Json]]] = [
        (("lens", stored.id), lambda: Json(questions.lens_of(stored.trace)))
    ]
    answers += [
        (
            ("align", stored.id, options),
            lambda options=options: Json(questions.alignment_of(stored, **options)),
        )
        for options in _alignments(stored)
    ]
    if _is_quick(stored):
        answers += [
            (
                ("attribute", stored.id, method),
                lambda method=method: Json(questions.attributed(stored, method)),
            )
            for method in get_args(Method)
        ]
    for question, answer in answers:
        try:
            yield _key(question), _json(answer())
        except HeadwayError:
            continue  # such as a lens of a trace that lacks some layers


def _alignments(stored: StoredTrace[Served]) -> Iterator[dict[str, Any]]:
    """Return all options of an alignment of a trace; an absent option is the model's default."""
    layers = range(len(stored.owner.translator.bundle.model.decoder.layers))
    heads = range(stored.owner.translator.bundle.config.num_heads)
    for layer in (None, *layers):
        for head in (None, *heads):
            for reads in (None, True):
                options = {"layer": layer, "head": head, "reads": reads}
                yield {name: value for name, value in options.items() if value is not None}


def _is_quick(stored: StoredTrace[Served]) -> bool:
    sentence = stored.trace.sentence
    assert sentence is not None
    model = stored.owner.translator.bundle.model
    parameters = sum(weights.numel() for weights in model.parameters())
    work = len(sentence.source_ids) * len(sentence.target_ids) * parameters / 1000
    return work < _QUICK


def _tensors(stored: StoredTrace[Served], max_bytes: int) -> tuple[dict[str, Any], list[str]]:
    """Return the tensors that fit, by name, and the names of those left out."""
    packed: dict[str, Any] = {}
    left_out: dict[str, None] = {}
    room = max_bytes
    entries = manifest(stored)["tensors"]
    for patterns in _ORDER:
        for entry in entries:
            name = entry["name"]
            if name in packed or not any(fnmatchcase(name, pattern) for pattern in patterns):
                continue
            size = torch.Size(entry["shape"]).numel() * (1 if entry["type"] == "bool" else 4)
            if size > room:
                left_out[name] = None
                continue
            try:
                tensor = stored.trace[name]
            except HeadwayError:  # derived from tensors that were not recorded
                continue
            room -= size
            packed[name] = _packed(tensor, [axis["name"] for axis in entry["axes"]])
    return packed, list(left_out)


def _packed(tensor: torch.Tensor, axes: list[str]) -> dict[str, Any]:
    kind, data = tensor_bytes(tensor)
    return {
        "shape": list(tensor.shape),
        "axes": axes,
        "type": kind,
        "data": base64.b64encode(data).decode(),
    }


def _position(stored: StoredTrace[Served]) -> dict[str, Any] | None:
    try:
        answer = files.encodings(stored.owner, POSITIONS)
    except HeadwayError:  # a learned table may be shorter
        return None
    shape = [int(length) for length in answer.headers["X-Shape"].split(",")]
    data = base64.b64encode(bytes(answer.body)).decode()
    return {"shape": shape, "axes": ["pos", "d_model"], "type": "float32", "data": data}


def _key(question: tuple[Any, ...]) -> str:
    """Return a question as `static/app/embedded.js` writes it."""
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _json(answer: Json) -> Any:
    return json.loads(bytes(answer.body))
