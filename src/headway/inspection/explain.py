"""Explain one number of a trace by the numbers that it was made from."""

import math
import re
from collections.abc import Mapping, Sequence

import torch

from headway.errors import ConfigError, TraceError, require_type
from headway.inspection.catalog import CatalogRow, catalog, pattern_of
from headway.inspection.explain_attention import ATTENTION
from headway.inspection.explain_context import Explain, Working
from headway.inspection.explain_layers import (
    EMBEDDING,
    FEED_FORWARD,
    LAYER,
    RESIDUAL,
    SSRU,
    WHOLE,
)
from headway.inspection.explanation import Explanation, ExplanationStep
from headway.inspection.named_tensor import TracedTensor, check_axes
from headway.inspection.phrases import Language, check_language, say
from headway.inspection.traced_pass import TracedPass
from headway.model.attention import MultiHeadAttention
from headway.model.customized import changed_parts, hooked_parts

_RIGHT = "The numbers of the trace are right; use those, or explain a part that is Headway's own."


def explain(
    trace: TracedPass,
    name: str,
    index: Sequence[int | str],
    where: Mapping[str, int | str],
    *,
    language: Language = "en",
    terms: int = 8,
) -> Explanation:
    """Return the computation of a number of a trace; see `Trace.explain`."""
    check_language(language)
    if terms < 1:
        raise ConfigError(f"terms is {terms}, but must be at least 1.", "8 is usual.")
    require_type("name", name, str, "Give the name of a tensor; `trace.names()` lists them.")
    if "*" in name:
        raise TraceError(
            f"'{name}' means several tensors, but only one number can be worked out.",
            "Give the name of the tensor in one layer.",
        )
    tensor = trace[name]
    place = _place(tensor, index, where)
    value = float(tensor[tuple(place.values())].item())
    changed = _changed_part(trace, name)
    explain_it = _find(trace, name)
    try:
        steps = explain_it(Working(trace, name, place, language, terms))
    except (AssertionError, AttributeError, TraceError) as error:  # the part lacks an operand
        if not changed:
            raise
        raise TraceError(f"The equation of '{name}' is not known: {changed}.", _RIGHT) from error
    if not _same(value, steps[-1], tensor):
        if name not in trace.edits:
            traced, computed = f"{value:.6g}", f"{steps[-1].value:.6g}"
            if changed:
                raise TraceError(
                    f"{name}{list(place.values())} is {traced}, but the equation of Headway's own "
                    f"part gives {computed}: {changed}.",
                    _RIGHT,
                )
            raise TraceError(
                f"{name}{list(place.values())} is {traced}, but its equation gives {computed}.",
                "The pass was in training mode, this part ran several times in it, or the model "
                "has changed since; trace again.",
            )
        steps = [
            ExplanationStep(say("edited", language, edit=trace.edits[name]), "", value, abs(value))
        ]
    row = catalog(trace.variant).get(pattern_of(name))
    sentence = "" if row is None else row.english if language == "en" else row.korean
    equation = "" if row is None else f"{name.rpartition('.')[2]} = {_of_layer(row, name)}"
    return Explanation(name, _place_text(tensor, place), value, equation, sentence, tuple(steps))


def _changed_part(trace: TracedPass, name: str) -> str:
    """Return in words the user's own part that a number comes from; empty if none."""
    if trace.module is None:
        return ""
    maker = name.rpartition(".")[0]
    changes = {path: "has hooks" for path in hooked_parts(trace.module)}
    changes |= {path: f"is of class {kind}" for path, kind in changed_parts(trace.module).items()}
    for path, change in changes.items():
        if f"{maker}.".startswith(f"{path}.") or path.startswith(f"{maker}."):
            return f"{path} {change}"
    return ""


def _of_layer(row: CatalogRow, name: str) -> str:
    """Return the equation with this name's layer in place of the `*`."""
    layer = re.search(r"\blayers\.\d+\.", name)
    return row.equation.replace("layers.*.", layer[0]) if layer else row.equation


def _find(trace: TracedPass, name: str) -> Explain:
    """Return the function that explains this name."""
    path, _, last = name.rpartition(".")
    kinds: Mapping[str, Explain]
    if not path and isinstance(trace.module, MultiHeadAttention):
        kinds = ATTENTION
    elif trace.variant is None:
        kinds = {}
    elif path.endswith("_attention"):
        kinds = ATTENTION
    elif path.endswith(".ssru"):
        kinds = SSRU
    elif path.endswith("feed_forward"):
        kinds = FEED_FORWARD
    elif path.endswith("_residual"):
        kinds = RESIDUAL
    elif path.endswith("_embedding"):
        kinds = EMBEDDING
    else:
        kinds = LAYER if ".layers." in path else WHOLE
        last = last if ".layers." in path else name
    if last not in kinds:
        raise TraceError(
            f"'{name}' cannot be worked out from this trace.",
            "Trace a whole Transformer, or a MultiHeadAttention.",
        )
    return kinds[last]


def _place(
    tensor: TracedTensor, index: Sequence[int | str], where: Mapping[str, int | str]
) -> dict[str, int]:
    """Return a number for each axis; an axis of length 1 may be left out."""
    if not tensor.axes:
        raise TraceError(
            f"'{tensor.path}' has axes without names, so no place in it can be named.",
            "Trace a whole Transformer, or a part in its own shapes.",
        )
    check_axes(tensor.path, tensor.axes, dict(where))
    lengths = dict(zip((axis.name for axis in tensor.axes), tensor.shape, strict=True))
    open_axes = [name for name in lengths if name not in where]
    if len(index) not in (0, len(open_axes)):
        open_axes = [name for name in open_axes if lengths[name] > 1]
    places = dict(where) | dict(zip(open_axes, index, strict=False))
    missing = [name for name, length in lengths.items() if name not in places and length > 1]
    if missing or len(index) > len(open_axes):
        raise TraceError(
            f"'{tensor.path}' has the axes {', '.join(lengths)}; "
            + (f"{', '.join(missing)} is missing." if missing else f"{len(index)} were given."),
            "Give one place for each, in order or by name.",
        )
    return {
        axis.name: axis.find(places.get(axis.name, 0), lengths[axis.name]) for axis in tensor.axes
    }


def _place_text(tensor: TracedTensor, place: Mapping[str, int]) -> str:
    texts = []
    for axis in tensor.axes:
        piece = f" ({axis.label(place[axis.name])})" if axis.pieces else ""
        texts.append(f"{axis.name}={place[axis.name]}{piece}")
    return ", ".join(texts)


def _same(value: float, step: ExplanationStep, tensor: TracedTensor) -> bool:
    """Return True if the last step gives the number, within the precision of its type."""
    if math.isnan(value):
        return math.isnan(step.value)
    if not tensor.is_floating_point() or math.isinf(value) or math.isinf(step.value):
        return value == step.value
    limits = torch.finfo(tensor.dtype)
    return abs(value - step.value) <= math.sqrt(limits.eps) * step.size + limits.tiny
