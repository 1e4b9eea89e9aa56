"""Traced sentences: the manifest of a trace; its tensors as bytes, summaries, explanations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

import torch
from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from torch import Tensor

from headway.errors import TraceError
from headway.inspection.catalog import catalog, model_names, pattern_of
from headway.inspection.explain import explain as work_out
from headway.inspection.familiarity import is_unfamiliar_trace
from headway.inspection.named_tensor import Axis, TracedTensor, check_axes
from headway.inspection.one_sentence import trace_sentence
from headway.inspection.phrases import Language
from headway.inspection.sizes import letter_sizes
from headway.inspection.statistics import statistics_of
from headway.inspection.steps import target_rows
from headway.inspection.trace import Trace
from headway.model.transformer import Transformer
from headway.serving.failures import Json, reported_as
from headway.serving.limits import check_characters
from headway.serving.models import CurrentExplorer, Explorer, Served
from headway.serving.request_queue import in_turn
from headway.serving.schemas import TraceBody
from headway.serving.searches import SearchTask, search_task
from headway.serving.traces import StoredTrace, trace_id

router = APIRouter()

_NUMBER = re.compile(r"-?[0-9]{1,9}")
_BEST = 10
_OTHER_QUERIES = ("model", "language", "name")  # never the name of an axis


@dataclass(frozen=True, slots=True)
class TraceTask:
    """A checked request for a trace; target: None for the result of a search."""

    task: SearchTask
    target: str | list[str] | None
    id: str


def trace_task(explorer: CurrentExplorer, body: TraceBody) -> TraceTask:
    """Check the request for a trace; equal requests have the same id."""
    target = body.target
    check_characters([target] if isinstance(target, str) else ["".join(target or ())])
    task = search_task(explorer, body)
    identity: dict[str, Any] = {
        "source": task.source,
        "edits": [edit.model_dump() for edit in body.edits or ()],
    }
    if target is None:
        options = task.options
        identity |= {
            "prefix": task.prefix,
            "search": [options.beam_size, options.length_penalty, options.max_length],
        }
    else:
        identity["target"] = target
    return TraceTask(task, target, trace_id(task.served.checksum, identity))


@router.post("/api/trace")
async def trace(
    explorer: CurrentExplorer,
    request: Request,
    wanted_trace: Annotated[TraceTask, Depends(trace_task)],
) -> Json:
    """Trace a sentence, or find its earlier trace; return the manifest."""
    stored = explorer.traces.find(wanted_trace.id)
    if stored is None:
        stored = await in_turn(
            wanted_trace.task.served.turn, request, lambda: _traced(explorer, wanted_trace)
        )
    return await run_in_threadpool(lambda: Json(manifest(stored)))


def _traced(explorer: Explorer, wanted_trace: TraceTask) -> StoredTrace[Served]:
    stored = explorer.traces.find(wanted_trace.id)
    if stored is None:
        stored = StoredTrace(
            wanted_trace.id, wanted_trace.task.served, _compute(explorer, wanted_trace)
        )
        explorer.traces.put(stored)
    return stored


def _compute(explorer: Explorer, wanted_trace: TraceTask) -> Trace:
    task, searched = wanted_trace.task, wanted_trace.target is None
    with reported_as("edit", TraceError):
        # Not `translator.trace`: its warning about several sentences would go to the terminal.
        return trace_sentence(
            task.served.translator,
            task.source,
            wanted_trace.target,
            edit=task.edits,
            max_bytes=explorer.traces.max_bytes,
            options=task.options if searched else None,
            prefix=task.prefix if searched else None,
        )


def manifest(stored: StoredTrace[Served]) -> dict[str, Any]:
    """Return the description of a trace without its numbers."""
    seen = stored.trace
    sentence, model = seen.sentence, seen.module
    assert sentence is not None
    assert isinstance(model, Transformer)
    assert seen.variant is not None
    rows = catalog(seen.variant)
    sizes = letter_sizes(model, len(sentence.source_ids), len(sentence.target_ids))
    derived = model_names(model, seen.variant, derived=True)
    return {
        "id": stored.id,
        "model": stored.owner.name,
        "sentence": {
            "source": sentence.source,
            "target": sentence.target,
            "source_pieces": sentence.source_pieces,
            "reads": sentence.reads,
            "writes": sentence.writes,
            "source_ids": sentence.source_ids,
            "target_ids": sentence.target_ids,
        },
        "rows": [
            {
                "reads": row.reads,
                "writes": row.writes,
                "probability": row.probability,
                "best": row.best,
                "others": row.others,
                "other_pieces": row.other_pieces,
                "entropy": row.entropy,
            }
            for row in target_rows(seen, _BEST)
        ],
        "tensors": [
            _recorded(name, tensor) for name, tensor in seen.items()
        ] + [
            _described(name, axes, [sizes[axis.letter] for axis in axes])
            for name in derived
            for axes in [[a for a in rows[pattern_of(name)].axes if a.name != "batch"]]
        ],
        "unfamiliar": not seen.edits and is_unfamiliar_trace(stored.owner.translator.bundle, seen),
        "edits": seen.edits,
        "nbytes": seen.nbytes,
    }  # fmt: skip


def _recorded(name: str, tensor: TracedTensor) -> dict[str, Any]:
    kind = "bool" if tensor.dtype == torch.bool else "float32"
    described = _described(name, tensor.axes, list(tensor.shape))
    return described | {"type": kind, "derived": False}


def _described(name: str, axes: Any, shape: list[int]) -> dict[str, Any]:
    return {
        "name": name,
        "pattern": pattern_of(name),
        "shape": shape,
        "axes": [
            {"name": axis.name, "letter": axis.letter, "pieces": _pieces(axis)} for axis in axes
        ],
        "type": "float32",
        "derived": True,
    }


def _pieces(axis: Axis) -> str | None:
    if axis.name == "vocabulary":
        return "vocabulary"
    if axis.letter == "S":
        return "source"
    if axis.letter != "T":
        return None
    return "reads" if axis.name == "key" else "target"


@router.get("/api/traces/{trace}/tensors/{name}")
def tensor(explorer: CurrentExplorer, request: Request, trace: str, name: str) -> Response:
    """Return the bytes of a tensor, or of its part at the positions in the query."""
    part = slice_of(explorer.traces.get(trace).trace, name, request.query_params)
    kind, data = tensor_bytes(part)
    shape = ",".join(map(str, part.shape))
    axes = ",".join(axis.name for axis in part.axes)
    return octets(data, shape=shape, axes=axes, kind=kind)


@router.get("/api/traces/{trace}/statistics/{name}")
def statistics(explorer: CurrentExplorer, trace: str, name: str) -> Json:
    """Return statistics of a tensor."""
    return Json(statistics_of(explorer.traces.get(trace).trace[name]).as_dict())


@router.get("/api/traces/{trace}/explain/{name}")
def explain(
    explorer: CurrentExplorer, request: Request, trace: str, name: str, language: str = "en"
) -> Json:
    """Return how one number was computed."""
    seen = explorer.traces.get(trace).trace
    where = places(request.query_params)
    # `explain` refuses an unknown language.
    explanation = work_out(seen, name, (), where, language=cast(Language, language))
    return Json(explanation.as_dict() | {"text": str(explanation)})


def slice_of(trace: Trace, name: str, query: Mapping[str, str]) -> TracedTensor:
    """Return a tensor at the positions in a query."""
    tensor, where = trace[name], places(query)
    check_axes(name, tensor.axes, where)
    return tensor.at(**where) if where else tensor


def places(query: Mapping[str, str]) -> dict[str, int | str]:
    """Return the positions in a query: numbers, or pieces."""
    return {
        axis: int(place) if _NUMBER.fullmatch(place) else place
        for axis, place in query.items()
        if axis not in _OTHER_QUERIES
    }


def tensor_bytes(tensor: Tensor) -> tuple[str, bytes]:
    """Return type and bytes for sending: little-endian float32, or one byte for a boolean."""
    plain = tensor.detach().as_subclass(Tensor).cpu()
    if plain.dtype == torch.bool:
        return "bool", plain.to(torch.uint8).numpy().tobytes()
    return "float32", plain.to(torch.float32).numpy().astype("<f4").tobytes()


def octets(data: bytes, *, shape: str, axes: str, kind: str) -> Response:
    """Return an answer of numbers."""
    headers = {"X-Shape": shape, "X-Axes": axes, "X-Type": kind}
    return Response(data, media_type="application/octet-stream", headers=headers)
