"""The intermediates of attention (section 3.2), worked out."""

import math
from collections.abc import Mapping

from headway.inspection.dataflow import memory_or_input, sublayer_input
from headway.inspection.explain_context import Explain, Working
from headway.inspection.explanation import ExplanationStep, softmax_steps, weighted_sum
from headway.model.attention import MultiHeadAttention


def _projected(working: Working, column: int, which: str) -> ExplanationStep:
    """Return the step of one number of projected_q, projected_k or projected_v."""
    layer, _, sublayer = working.path.rpartition(".")
    choose = sublayer_input if which == "q" else memory_or_input
    x_name = choose(layer, sublayer, working.variant)
    axis = "query" if which == "q" else "key"
    projection = working.module(working.beside(f"w_{which}"))
    return working.linear(projection, f"W^{which.upper()}", column, x_name, working.place[axis])


def _explain_projected(working: Working) -> list[ExplanationStep]:
    return [_projected(working, working.place["projected"], working.last[-1])]


def _explain_split(working: Working) -> list[ExplanationStep]:
    width = "d_v" if working.last == "v" else "d_k"
    head, inner = working.place["head"], working.place[width]
    column = head * working.tensor(working.name).size(-1) + inner
    projected = working.beside(f"projected_{working.last}")
    axis = "query" if working.last == "q" else "key"
    value = float(working.tensor(projected)[working.place[axis], column].item())
    words = working.say(
        "column_of_projected", number=inner, head=head, column=column, projected=projected
    )
    step = ExplanationStep(words, "", value, abs(value))
    if working.trace.variant is None:  # the trace of a part does not have its input
        return [step]
    return [step, _projected(working, column, working.last)]


def _explain_score(working: Working) -> list[ExplanationStep]:
    head, asks, answers = (working.place[axis] for axis in ("head", "query", "key"))
    q = working.row(working.beside("q"), head, asks)
    k = working.row(working.beside("k"), head, answers)
    text, note, value, size = weighted_sum(q, k, working.language, working.terms)
    root = math.sqrt(len(q))
    words = working.say("score", **_who(working), d_k=len(q))
    return [ExplanationStep(words + note, f"({text}) / √{len(q)}", value / root, size / root)]


def _explain_masked_score(working: Working) -> list[ExplanationStep]:
    place = [working.place[axis] for axis in ("head", "query", "key")]
    score = float(working.tensor(working.beside("scores"))[*place].item())
    if float(working.tensor(working.name)[*place].item()) == -math.inf:
        return [ExplanationStep(working.say("forbidden", **_who(working)), "", -math.inf, 0.0)]
    return [ExplanationStep(working.say("not_masked", **_who(working)), "", score, abs(score))]


def _explain_weight(working: Working) -> list[ExplanationStep]:
    row = working.row(
        working.beside("masked_scores"), working.place["head"], working.place["query"]
    )
    chosen = working.place["key"]
    if max(row) == -math.inf:
        return [ExplanationStep(working.say("empty_row", **_who(working)), "", 0.0, 0.0)]
    if row[chosen] == -math.inf:
        return [ExplanationStep(working.say("forbidden_weight", **_who(working)), "", 0.0, 0.0)]
    return softmax_steps(row, chosen, working.language, working.terms)


def _explain_head(working: Working) -> list[ExplanationStep]:
    return [_gathered(working, working.place["head"], working.place["d_v"])]


def _explain_concat(working: Working) -> list[ExplanationStep]:
    column, width = working.place["concat"], working.tensor(working.beside("heads")).size(-1)
    head, inner = divmod(column, width)
    value = float(
        working.tensor(working.beside("heads"))[head, working.place["query"], inner].item()
    )
    words = working.say("column_of_concat", column=column, number=inner, head=head)
    return [ExplanationStep(words, "", value, abs(value)), _gathered(working, head, inner)]


def _gathered(working: Working, head: int, inner: int) -> ExplanationStep:
    weights = working.row(working.beside("weights"), head, working.place["query"])
    values = working.tensor(working.beside("v"))[head, :, inner].tolist()
    text, note, value, size = weighted_sum(weights, values, working.language, working.terms)
    words = working.say("gathered", asks=working.label("query"), head=head, number=inner)
    return ExplanationStep(words + note, text, value, size)


def _explain_output(working: Working) -> list[ExplanationStep]:
    projection = working.module(working.beside("w_o"))
    concat, column = working.beside("concat"), working.place["d_model"]
    return [working.linear(projection, "W^O", column, concat, working.place["query"])]


def _explain_contribution(working: Working) -> list[ExplanationStep]:
    attention = working.module()
    assert isinstance(attention, MultiHeadAttention)
    head, column = working.place["head"], working.place["d_model"]
    gathered = working.row(working.beside("heads"), head, working.place["query"])
    first = head * attention.d_v
    weights = attention.w_o.weight[column, first : first + attention.d_v].detach().double()
    text, note, value, size = weighted_sum(
        gathered, weights.tolist(), working.language, working.terms
    )
    words = working.say("contribution", head=head, asks=working.label("query"))
    return [ExplanationStep(words + note, text, value, size)]


def _who(working: Working) -> dict[str, str]:
    return {"asks": working.label("query"), "answers": working.label("key")}


ATTENTION: Mapping[str, Explain] = {
    "projected_q": _explain_projected,
    "projected_k": _explain_projected,
    "projected_v": _explain_projected,
    "q": _explain_split,
    "k": _explain_split,
    "v": _explain_split,
    "scores": _explain_score,
    "masked_scores": _explain_masked_score,
    "weights": _explain_weight,
    "heads": _explain_head,
    "concat": _explain_concat,
    "output": _explain_output,
    "contributions": _explain_contribution,
}
