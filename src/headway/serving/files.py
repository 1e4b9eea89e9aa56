"""Downloads: tensors and whole traces as files, figures, positional encodings."""

import csv
import io
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from fastapi import APIRouter, Query, Request, Response

from headway.inspection.figures import trace_attention
from headway.inspection.named_tensor import TracedTensor
from headway.inspection.saving import json_tensor
from headway.inspection.trace import Trace
from headway.serving.failures import RefusedError, json_bytes
from headway.serving.limits import POSITIONS
from headway.serving.models import CurrentExplorer, Served
from headway.serving.request_queue import in_turn
from headway.serving.sentences import octets, slice_of, tensor_bytes

router = APIRouter()

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "npy": "application/octet-stream",
    "npz": "application/zip",
    "png": "image/png",
    "safetensors": "application/octet-stream",
    "svg": "image/svg+xml",
}
_TRACES, _FIGURES = ("json", "safetensors", "npz"), ("svg", "png")
TEXT_BYTES = 20 * 2**20
"""Most bytes of numbers that are written as text, which takes many times the memory."""
_LINES = 2**14  # of a CSV file that are written at once


@router.get("/api/position")
def position(
    explorer: CurrentExplorer,
    length: Annotated[int, Query(ge=1, le=POSITIONS)] = 64,
    model: str | None = None,
) -> Response:
    """Return the encodings of the first positions, as the encoder adds them to the source."""
    return encodings(explorer.model(model), length)


def encodings(served: Served, length: int) -> Response:
    """Return the bytes of the first positional encodings."""
    with torch.no_grad():
        table = served.translator.bundle.model.source_embedding.positions(length)
    kind, data = tensor_bytes(table)
    return octets(data, shape=f"{length},{table.size(1)}", axes="pos,d_model", kind=kind)


@router.get("/api/traces/{trace}/download/{file}")
async def download(explorer: CurrentExplorer, request: Request, trace: str, file: str) -> Response:
    """Return one tensor, or its part at the positions in the query, as a file."""
    name, _, form = file.rpartition(".")
    writers = {"npy": _npy, "csv": _csv, "json": _json}
    if form not in writers:
        raise RefusedError(
            404, f"There is no download '{file[:200]}'.", "End the name with .npy, .csv or .json."
        )
    seen = explorer.traces.get(trace).trace

    def written() -> Response:
        part = slice_of(seen, name, request.query_params)
        if form != "npy":
            _check_text(part.nbytes, "Take .npy, or fewer places.")
        return _file(writers[form](part), f"{name.replace('*', 'all')}.{form}")

    return await in_turn(explorer.export_turn, request, written)


@router.get("/api/traces/{trace}/export.{form}")
async def export(
    explorer: CurrentExplorer, request: Request, trace: str, form: str, name: str | None = None
) -> Response:
    """Return the whole trace as one file, or a figure of one attention."""
    seen = explorer.traces.get(trace).trace
    if form == "json":
        _check_text(seen.nbytes, "Take safetensors or npz.")
    if form not in (*_TRACES, *_FIGURES):
        forms = ", ".join((*_TRACES, *_FIGURES, "html"))
        raise RefusedError(404, f"There is no export '{form[:20]}'.", f"Choose one of {forms}.")
    title = "trace" if form in _TRACES else name or "attention"
    return await in_turn(
        explorer.export_turn, request, lambda: _file(_written(seen, form, name), f"{title}.{form}")
    )


def _check_text(nbytes: int, remedy: str) -> None:
    if nbytes > TEXT_BYTES:
        raise RefusedError(
            413,
            f"The numbers take {nbytes:,} bytes, but at most {TEXT_BYTES:,} are written as text.",
            remedy,
        )


def _written(seen: Trace, form: str, name: str | None = None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trace.{form}"
        if form in _TRACES:
            seen.save(path)
        else:
            trace_attention(seen, path, name)
        return path.read_bytes()


def _npy(tensor: TracedTensor) -> bytes:
    file = io.BytesIO()
    plain = tensor.detach().as_subclass(torch.Tensor).cpu()
    np.save(file, (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())
    return file.getvalue()


def _csv(tensor: TracedTensor) -> bytes:
    """Write a line for each number: its positions, then the number as Python writes it."""
    places = np.ndindex(*tensor.shape)
    flat = tensor.detach().as_subclass(torch.Tensor).flatten()
    parts = [_lines([(*(axis.name for axis in tensor.axes), "value")])]
    for values in flat.split(_LINES):
        # In parts, because Python objects take ten times the memory of their text.
        parts.append(_lines((*next(places), value) for value in values.tolist()))
    return b"".join(parts)


def _lines(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _json(tensor: TracedTensor) -> bytes:
    """Write a tensor as in the JSON of a trace, with its axes and their labels."""
    axes = [
        {"name": axis.name, "letter": axis.letter, "labels": axis.labels()} for axis in tensor.axes
    ]
    plain = tensor.detach().as_subclass(torch.Tensor).cpu()
    return json_bytes({"name": tensor.path, "axes": axes, **json_tensor(plain)})


def _file(data: bytes, name: str) -> Response:
    form = name.rpartition(".")[2]
    headers: Mapping[str, str] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=_TYPES[form], headers=headers)
