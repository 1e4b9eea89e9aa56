"""Everything outside attention, worked out: embeddings, feed-forward, Add & Norm, probabilities."""

import math
from collections.abc import Mapping

from torch import Tensor, nn

from headway.inspection.dataflow import layer_result, normalized, stream, sublayer_input
from headway.inspection.explain_context import Explain, Working
from headway.inspection.explanation import (
    ExplanationStep,
    join,
    layer_norm_steps,
    mean_step,
    number,
    softmax_steps,
    variance_step,
)


def _row(working: Working) -> int:
    """Return the position that the number belongs to."""
    return working.place[_side(working)]


def _side(working: Working) -> str:
    return "source" if "source" in working.place else "target"


def _layer_and_sublayer(working: Working) -> tuple[str, str]:
    layer, _, sublayer = working.path.rpartition(".")
    return layer, sublayer.removesuffix("_residual")


def _explain_inner(working: Working) -> list[ExplanationStep]:
    layer, sublayer = _layer_and_sublayer(working)
    weight, shown = ("w_gate", "W_gate") if working.last == "gate" else ("w_1", "W_1")
    x_name = sublayer_input(layer, sublayer, working.variant)
    projection = working.module(working.beside(weight))
    return [working.linear(projection, shown, working.place["d_ff"], x_name, _row(working))]


def _explain_activated(working: Working) -> list[ExplanationStep]:
    place = _row(working), working.place["d_ff"]
    x = float(working.tensor(working.beside("hidden"))[*place].item())
    kind, factor = working.variant.activation, None
    if working.variant.gated:
        factor, x = x, float(working.tensor(working.beside("gate"))[*place].item())
    text, value = _activation(kind, x)
    size = abs(x)  # 1 + erf cancels where x is far below zero
    if factor is not None:
        text, value, size = f"{text} × {number(factor)}", value * factor, size * abs(factor)
    return [
        ExplanationStep(working.say("activation", kind=kind), text, value, max(size, abs(value)))
    ]


def _activation(kind: str, x: float) -> tuple[str, float]:
    """Return an activation of a number as text, and its value."""
    shown = number(x)
    if kind in ("relu", "reglu"):
        return f"max(0, {shown})", max(0.0, x)
    if kind == "glu":
        return f"1 / (1 + exp({number(-x)}))", _sigmoid(x)
    if kind in ("silu", "swiglu"):
        return f"{shown} / (1 + exp({number(-x)}))", x * _sigmoid(x)
    if kind == "gelu_tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        text = f"0.5 × {shown} × (1 + tanh(0.797885 × ({shown} + 0.044715 × ({shown})^3)))"
        return text, 0.5 * x * (1 + math.tanh(inner))
    return f"0.5 × {shown} × (1 + erf({shown} / √2))", 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))  # exp(-x) could be too large for a float


def _explain_outer(working: Working) -> list[ExplanationStep]:
    projection = working.module(working.beside("w_2"))
    x_name, column = working.beside("activated"), working.place["d_model"]
    return [working.linear(projection, "W_2", column, x_name, _row(working))]


def _explain_candidate(working: Working) -> list[ExplanationStep]:
    return [_projected(working, "w_x", "W_x")]


def _explain_forget(working: Working) -> list[ExplanationStep]:
    before = _projected(working, "w_f", "W_f")
    value = _sigmoid(before.value)
    text = f"1 / (1 + exp({number(-before.value)}))"
    # The slope of the sigmoid is at most 1/4.
    return [before, ExplanationStep(working.say("sigmoid"), text, value, value + before.size / 4)]


def _projected(working: Working, weight: str, shown: str) -> ExplanationStep:
    layer, sublayer = _layer_and_sublayer(working)
    x_name = sublayer_input(layer, sublayer, working.variant)
    projection = working.module(working.beside(weight))
    return working.linear(projection, shown, working.place["d_model"], x_name, _row(working))


def _explain_cell(working: Working) -> list[ExplanationStep]:
    row, column = _row(working), working.place["d_model"]

    def at(name: str, row: int) -> float:
        return float(working.tensor(working.beside(name))[row, column].item())

    forget, candidate = at("forget", row), at("candidate", row)
    before = at("cell", row - 1) if row else 0.0
    text = f"{number(forget)} × {number(before)} + (1 - {number(forget)}) × {number(candidate)}"
    remembered, added = forget * before, (1 - forget) * candidate
    size = abs(remembered) + abs(candidate)
    return [ExplanationStep(working.say("cell"), text, remembered + added, size)]


def _explain_recurrent_output(working: Working) -> list[ExplanationStep]:
    cell = working.tensor(working.beside("cell"))[_row(working), working.place["d_model"]]
    value = max(0.0, float(cell.item()))
    words = working.say("activation_of_cell")
    return [ExplanationStep(words, f"max(0, {number(float(cell.item()))})", value, abs(value))]


def _explain_sum(working: Working) -> list[ExplanationStep]:
    layer, sublayer = _layer_and_sublayer(working)
    around = stream(layer, sublayer, working.variant)
    return [_added(working, "residual", around, f"{layer}.{sublayer}.output")]


def _added(working: Working, phrase: str, first: str, second: str) -> ExplanationStep:
    place = _row(working), working.place["d_model"]
    a, b = (float(working.tensor(name)[*place].item()) for name in (first, second))
    return ExplanationStep(
        working.say(phrase), join([number(a), number(b)]), a + b, abs(a) + abs(b)
    )


def _normalized_row(working: Working) -> list[float]:
    layer, sublayer = _layer_and_sublayer(working)
    read = normalized(layer, sublayer, working.variant)
    return working.row(read, _row(working))


def _explain_norm(working: Working) -> list[ExplanationStep]:
    norm = working.module(working.beside("norm"))
    return _layer_norm(working, norm, _normalized_row(working))


def _layer_norm(working: Working, norm: nn.Module, row: list[float]) -> list[ExplanationStep]:
    assert isinstance(norm, nn.LayerNorm)
    column = working.place["d_model"]
    gamma, beta = float(norm.weight[column].item()), float(norm.bias[column].item())
    scale = gamma, beta, norm.eps
    return layer_norm_steps(row, column, scale, working.language, working.terms)


def _explain_mean(working: Working) -> list[ExplanationStep]:
    return [mean_step(_normalized_row(working), working.language, working.terms)]


def _explain_variance(working: Working) -> list[ExplanationStep]:
    row = _normalized_row(working)
    mean = mean_step(row, working.language, working.terms)
    return [mean, variance_step(row, mean.value, working.language, working.terms)]


def _explain_scaled(working: Working) -> list[ExplanationStep]:
    column, row = working.place["d_model"], _row(working)
    table = working.module(working.beside("tokens")).weight
    assert isinstance(table, Tensor)
    ids = working.input_ids(_side(working))
    is_zero = ids[row] == working.module(working.beside("tokens")).zero_id
    value = 0.0 if is_zero else float(table[ids[row], column].item())
    words = {"column": column, "place": working.label(_side(working))}
    if not working.variant.scaled:
        return [ExplanationStep(working.say("embedding", **words), "", value, abs(value))]
    root = math.sqrt(table.size(1))
    text = f"{number(value)} × √{table.size(1)}"
    scaled = value * root
    return [ExplanationStep(working.say("embedding_scaled", **words), text, scaled, abs(scaled))]


def _explain_position(working: Working) -> list[ExplanationStep]:
    row, column = _row(working), working.place["d_model"]
    words = working.say("position", column=column, place=row)
    positions, width = working.variant.positions, working.tensor(working.name).size(-1)
    if positions == "learned":
        table = working.module(working.beside("positions")).weight
        assert isinstance(table, Tensor)
        value = float(table[row, column].item())
        return [ExplanationStep(words, "", value, abs(value))]
    if positions in ("halved", "split"):
        half = width // 2
        below = half if positions == "split" else max(half - 1, 1)
        above, even = column % half, column < half
    else:
        above, below, even = column - column % 2, width, column % 2 == 0
    place = row + working.variant.first_position
    angle, function = place / 10000 ** (above / below), "sin" if even else "cos"
    value = math.sin(angle) if even else math.cos(angle)
    text = f"{function}({place} / 10000^({above} / {below}))"
    return [ExplanationStep(words, text, value, abs(value))]


def _explain_embedded(working: Working) -> list[ExplanationStep]:
    scaled, position = working.beside("scaled"), working.beside("position")
    return [_added(working, "piece_and_position", scaled, position)]


def _explain_layer_input(working: Working) -> list[ExplanationStep]:
    stack, _, index = working.path.split(".")
    below = f"{stack}.layers.{int(index) - 1}.output"
    origin = below if int(index) else f"{_side(working)}_embedding.output"
    return working.same(origin, _row(working), working.place["d_model"])


def _explain_layer_output(working: Working) -> list[ExplanationStep]:
    origin = layer_result(working.path, working.variant)
    return working.same(origin, _row(working), working.place["d_model"])


def _explain_stack(working: Working) -> list[ExplanationStep]:
    names = working.trace.names(f"{working.path}.layers.*.input")
    last = f"{working.path}.layers.{max(len(names), 1) - 1}.output"
    if working.variant.norm_position == "post":
        return working.same(last, _row(working), working.place["d_model"])
    norm = working.module(f"{working.path}.norm")
    return _layer_norm(working, norm, working.row(last, _row(working)))


def _explain_logit(working: Working) -> list[ExplanationStep]:
    projection, column = working.module("output_projection"), working.place["vocabulary"]
    return [working.linear(projection, "E^T", column, "decoder.output", _row(working))]


def _explain_probability(working: Working) -> list[ExplanationStep]:
    row, chosen = working.row("logits", _row(working)), working.place["vocabulary"]
    log = working.last == "log_probs"
    return softmax_steps(row, chosen, working.language, working.terms, log=log)


def _explain_mask(working: Working) -> list[ExplanationStep]:
    ids = working.input_ids("source" if working.last == "source_mask" else "target")
    key = working.place["key"]
    allowed = ids[key] != working.pad_id()
    if working.last == "target_mask":
        allowed = allowed and key <= working.place["query"]
    return [
        ExplanationStep(
            working.say("may_look" if allowed else "may_not_look"), "", float(allowed), 0.0
        )
    ]


FEED_FORWARD: Mapping[str, Explain] = {
    "hidden": _explain_inner,
    "gate": _explain_inner,
    "activated": _explain_activated,
    "output": _explain_outer,
}
SSRU: Mapping[str, Explain] = {
    "candidate": _explain_candidate,
    "forget": _explain_forget,
    "cell": _explain_cell,
    "output": _explain_recurrent_output,
}
RESIDUAL: Mapping[str, Explain] = {
    "sum": _explain_sum,
    "norm": _explain_norm,
    "mean": _explain_mean,
    "variance": _explain_variance,
}
EMBEDDING: Mapping[str, Explain] = {
    "scaled": _explain_scaled,
    "position": _explain_position,
    "output": _explain_embedded,
}
LAYER: Mapping[str, Explain] = {"input": _explain_layer_input, "output": _explain_layer_output}
WHOLE: Mapping[str, Explain] = {
    "encoder.output": _explain_stack,
    "decoder.output": _explain_stack,
    "logits": _explain_logit,
    "log_probs": _explain_probability,
    "probabilities": _explain_probability,
    "source_mask": _explain_mask,
    "target_mask": _explain_mask,
}
