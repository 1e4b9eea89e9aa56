"""Explanations: the arithmetic on the page gives the number in the trace."""

import math
import random
import re
from typing import Any

import pytest
import torch

from headway.errors import ConfigError, TraceError
from headway.inspection.catalog import model_names
from headway.inspection.edit import forbid, zero
from headway.inspection.explain import _same
from headway.inspection.explanation import (
    Explanation,
    ExplanationStep,
    join,
    number,
    softmax_steps,
    written_sum,
)
from headway.inspection.model_kind import variant_of
from headway.inspection.phrases import PHRASES
from headway.inspection.trace import Trace, trace
from headway.inspection.translator import Translator
from headway.model.attention import MultiHeadAttention
from headway.model.probe import probe

SENTENCE = "나는 너를 본다"
CROSS = "decoder.layers.1.cross_attention"
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm_position": "pre"},
    "gelu": {"activation": "gelu", "sinusoid_layout": "halved", "first_position": 2},
    "silu, split": {"activation": "silu", "sinusoid_layout": "split"},
    "gelu_tanh": {"activation": "gelu_tanh", "shared_embeddings": "target"},
    "silu": {"activation": "silu", "norm_position": "pre", "scale_embeddings": False},
    "glu": {"activation": "glu", "feed_forward_bias": False},
    "reglu": {"activation": "reglu", "attention_bias": False, "output_bias": True},
    "geglu": {"activation": "geglu", "positions": "learned", "max_positions": 31},
    "ssru": {"decoder_past": "ssru", "zero_id": 2},
    "ssru, pre": {"decoder_past": "ssru", "norm_position": "pre"},
    "swiglu": {"activation": "swiglu", "norm_position": "pre", "shared_embeddings": "none"},
}
FUNCTIONS = {
    name: getattr(math, name) for name in ("cos", "erf", "exp", "log", "sin", "sqrt", "tanh")
}


def worked_out(expression: str) -> float:
    """Do the arithmetic of a line as a reader would."""
    python = re.sub(r"√([\d.]+)", r"sqrt(\1)", expression)
    python = python.replace("√(", "sqrt(").replace("×", "*").replace("^", "**")
    assert re.fullmatch(r"[\w\s.+\-*/(),]+", python), expression
    return eval(python, {"__builtins__": {"max": max}}, dict(FUNCTIONS))


def check(explanation: Explanation, value: float, exact: float = 1e-9) -> None:
    """Check each line against its own arithmetic, and the last against the trace."""
    assert explanation.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert explanation.steps
    for step in explanation.steps:
        if step.expression:
            reach = 2e-5 * max(1.0, step.size)  # six digits of each number
            assert worked_out(step.expression) == pytest.approx(step.value, abs=reach)
        line = str(step)
        assert line.startswith(step.words)
        assert line.endswith(number(step.value))
        assert line in str(explanation)
    last = explanation.steps[-1]
    if math.isfinite(value):
        assert last.value == pytest.approx(value, abs=exact * max(1.0, last.size))
    else:
        assert last.value == value


def some_places(seen: Trace, name: str, count: int = 3) -> list[tuple[int, ...]]:
    shape = seen[name].shape
    return [tuple(random.randrange(length) for length in shape) for _ in range(count)]


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_every_number_of_every_name_can_be_worked_out_in_both_languages(
    make, variant: dict[str, Any]
) -> None:
    translator: Translator = make(dtype=torch.float64, num_encoder_layers=2, **variant)
    seen = translator.trace(SENTENCE, "I see you")
    model = translator.bundle.model
    derived = model_names(model, variant_of(model), derived=True)
    for name in [*seen, *derived]:
        tensor = seen[name]
        for place in some_places(seen, name):
            english = seen.explain(name, *place)
            korean = seen.explain(name, *place, language="ko", terms=3)
            check(english, float(tensor[place]))
            check(korean, float(tensor[place]))
            assert english.sentence.isprintable()
            assert all(re.search("[가-힣]", step.words) for step in korean.steps)
            assert english.equation == korean.equation != ""


def test_numbers_of_a_float32_model_can_be_worked_out_too(translator: Translator) -> None:
    seen = translator.trace(SENTENCE)
    for name in seen:
        for place in some_places(seen, name, 1):
            found = seen.explain(name, *place)
            if math.isfinite(found.value):
                last = found.steps[-1]
                assert last.value == pytest.approx(found.value, abs=1e-5 * max(1.0, last.size))


@pytest.fixture
def by_hand() -> Trace:
    """Return the trace of the three words of the study: d_k is 4, and the root of it 2."""
    attend = MultiHeadAttention(4, 1, bias=False).double()
    for projection in (attend.w_q, attend.w_k, attend.w_v, attend.w_o):
        torch.nn.init.eye_(projection.weight)
    q = torch.tensor([[[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 2]]]).double()
    k = torch.tensor([[[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 1]]]).double()
    v = torch.tensor([[[1, 0, 0, 2], [0, 2, 1, 0], [1, 1, 0, 1]]]).double()
    with torch.no_grad(), trace(attend) as seen:
        attend(q, k, v, torch.tensor([[True, True, True], [True, False, True], [False] * 3]))
    return seen


def test_the_lines_of_a_score_a_weight_and_a_head_by_hand(by_hand: Trace) -> None:
    score = by_hand.explain("scores", query=0, key=2)
    assert str(score.steps[0]) == (
        "the query of position 0 times the key of position 2, summed over d_k = 4 numbers, divided "
        "by the root of d_k: (1 × 1 + 0 × 0 + 1 × 1 + 0 × 1) / √4 = 1"
    )
    weight = by_hand.explain("weights", query=0, key=0)
    assert [str(step).rpartition(": ")[2] for step in weight.steps] == [
        "1",
        "exp(0.5 - 1) + exp(0 - 1) + exp(1 - 1) = 1.97441",
        "exp(0.5 - 1) / 1.97441 = 0.307196",
    ]
    head = by_hand.explain("heads", query=0, d_v=3)
    assert str(head.steps[0]).endswith(": 0.307196 × 2 + 0.186324 × 0 + 0.50648 × 1 = 1.12087")
    assert by_hand.explain("concat", query=0, concat=3).steps[-1].value == head.steps[0].value


def test_a_forbidden_place_is_said_to_be_forbidden(by_hand: Trace) -> None:
    masked = by_hand.explain("masked_scores", query=1, key=1)
    assert str(masked).endswith("the mask forbids position 1 to attend to position 1: -∞")
    assert by_hand.explain("weights", query=1, key=1).value == 0
    assert "minus infinity is 0" in str(by_hand.explain("weights", query=1, key=1))
    assert "may attend to nothing" in str(by_hand.explain("weights", query=2, key=1))


def test_the_first_line_says_where_and_how_much(translator: Translator) -> None:
    seen = translator.trace(SENTENCE, "I see")
    name = f"{CROSS}.weights"
    found = seen.explain(name, head=2, query="I", key=1)
    value = float(seen[name][2, 1, 1])
    writes, reads, source = (
        seen.sentence.writes[1], seen.sentence.reads[1], seen.sentence.source_pieces[1],
    )  # fmt: skip
    lines = str(found).split("\n")
    assert lines[0] == (
        f"{name}[head=2, query=1 ({reads} → {writes}), key=1 ({source})] = {number(value)}"
    )
    assert lines[1] == "  weights = exp(masked_scores) / Σ_key exp(masked_scores)"
    norm = str(seen.explain("decoder.layers.1.feed_forward_residual.norm", 0, 0)).split("\n")
    assert norm[1].endswith("z = decoder.layers.1.feed_forward_residual.sum")
    assert lines[2].startswith("  How much each query attends to each key")
    assert "\n  쿼리" not in str(found)
    assert "각 쿼리가" in str(seen.explain(name, 2, 1, 1, language="ko"))


def test_of_a_long_sum_the_largest_terms_are_shown_and_the_others_added_up() -> None:
    values = [0.5, -3.0, 0.25, 2.0, -0.125]
    text, note = written_sum([number(v) for v in values], values, "en", 2)
    assert text == "-3 + 2 + 0.625"
    assert note == " (the 2 largest of 5 terms, and as the last number the sum of the others)"
    assert written_sum(["1", "2", "3"], [1, 2, 3], "en", 2) == ("1 + 2 + 3", "")
    assert join(["-1", "-2 × 3", "4"]) == "-1 - 2 × 3 + 4"


def test_a_softmax_of_enormous_scores_does_not_overflow() -> None:
    steps = softmax_steps([1000.0, -math.inf, 998.0], 2, "en", 8)
    assert steps[-1].value == pytest.approx(1 / (1 + math.e**2))
    assert steps[-1].expression == "exp(998 - 1000) / 1.13534"


def test_an_edited_number_is_said_to_be_edited(translator: Translator) -> None:
    edits = {f"{CROSS}.heads": zero(head=1), "source_mask": forbid(key=0)}
    seen = translator.trace(SENTENCE, "I see", edit=edits)

    edited = seen.explain(f"{CROSS}.heads", head=1, query=0, d_v=2)
    assert str(edited).endswith("set by the edit zero(head=1); the equation does not hold here: 0")
    check(seen.explain(f"{CROSS}.heads", head=0, query=0, d_v=2), edited_value(seen), 1e-6)
    assert "forbid(key=0)" in str(seen.explain("source_mask", key=0))
    assert "queries may attend to it" in str(seen.explain("source_mask", key=1))


def test_an_edit_of_a_small_number_is_said_too(make) -> None:
    translator: Translator = make(seed=5)
    name = f"{CROSS}.weights"
    with torch.no_grad():  # sharp attention has small weights
        translator.bundle.model.decoder.layers[1].cross_attention.w_q.weight.mul_(40.0)
    plain = translator.trace(SENTENCE, "I see")
    seen = translator.trace(SENTENCE, "I see", edit={name: zero(head=0)})
    small = [(q, k) for q, k in torch.argwhere(plain[name][0] < 1e-4).tolist()]
    small = [(q, k) for q, k in small if plain[name][0, q, k] > 1e-12]
    assert small
    for query, key in small:
        assert "set by the edit" in str(seen.explain(name, head=0, query=query, key=key))
        own = plain.explain(name, head=0, query=query, key=key)
        assert own.steps[-1].value == pytest.approx(own.value, rel=1e-2)


def edited_value(seen: Trace) -> float:
    return float(seen[f"{CROSS}.heads"].at(head=0, query=0, d_v=2))


def test_a_number_that_its_equation_does_not_give_is_an_error(make) -> None:
    translator: Translator = make(seed=5)
    seen = translator.trace(SENTENCE, "I see")
    with torch.no_grad():
        translator.bundle.model.output_projection.weight.add_(1.0)
    with pytest.raises(TraceError, match=r"but its equation gives .* the model has changed"):
        seen.explain("logits", target=0, vocabulary=5)


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        ("logits", {"target": 0}, "has the axes target, vocabulary; vocabulary is missing"),
        ("logits", {"target": 0, "head": 0}, "'logits' has no axis 'head'"),
        ("logits", {"target": 9, "vocabulary": 0}, "has places 0 to 6, but not 9"),
        ("logit", {"target": 0}, "Did you mean 'logits'"),
    ],
)
def test_a_number_that_is_not_there_is_refused(
    translator: Translator, name: str, where: dict[str, int | str], message: str
) -> None:
    seen = translator.trace(SENTENCE, "I see")
    with pytest.raises(TraceError) as error:
        seen.explain(name, **where)
    assert message in str(error.value)


def test_what_goes_into_a_part_alone_is_not_in_its_trace(by_hand: Trace) -> None:
    with pytest.raises(TraceError, match="Trace the whole Transformer"):
        by_hand.explain("projected_q", query=0, projected=0)
    with pytest.raises(TraceError, match=r"has the axes .*; 5 were given"):
        by_hand.explain("weights", 0, 0, 0, 0, 0)
    with pytest.raises(ConfigError, match="no language 'fr'"):
        by_hand.explain("weights", query=0, key=0, language="fr")
    with pytest.raises(ConfigError, match="terms is 0"):
        by_hand.explain("weights", query=0, key=0, terms=0)


def test_each_phrase_has_the_same_fields_in_both_languages() -> None:
    for english, korean in PHRASES.values():
        fields = [sorted(set(re.findall(r"{(\w+)}", text))) for text in (english, korean)]
        assert fields[0] == fields[1]
        assert re.search("[가-힣]", korean)
        assert not re.search("[가-힣]", english)


def test_what_is_no_number_is_explained_by_an_equation_that_gives_none() -> None:
    tensor = torch.zeros(1)
    nothing, number = ExplanationStep("", "", math.nan, math.nan), ExplanationStep("", "", 1.0, 1.0)

    assert _same(math.nan, nothing, tensor)  # pyright: ignore[reportArgumentType]
    assert not _same(math.nan, number, tensor)  # pyright: ignore[reportArgumentType]
    assert not _same(1.0, nothing, tensor)  # pyright: ignore[reportArgumentType]


class Halved(torch.nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) / 2


class Rms(torch.nn.RMSNorm):
    """Has no bias, which the equation of LayerNorm asks for."""


class Middle(torch.nn.Module):
    """Gives every position the same."""

    def forward(self, length: int, start: int = 0) -> torch.Tensor:
        return torch.full((length, 14), 0.5)


NORM = "encoder.layers.0.self_attention_residual.norm"


@pytest.mark.parametrize(
    ("path", "part", "name", "message"),
    [
        (NORM, Halved(14), NORM, f"own part gives .*: {NORM} is of class Halved"),
        (NORM, Rms(14), NORM, f"equation of .* is not known: {NORM} is of class Rms"),
        (
            "source_embedding.positions",
            Middle(),
            "source_embedding.position",
            "own part gives .*: source_embedding.positions is of class Middle",
        ),
    ],
)
def test_a_number_of_an_own_part_has_no_equation_of_headways(
    make, path: str, part: torch.nn.Module, name: str, message: str
) -> None:
    translator: Translator = make()
    owner, _, attribute = path.rpartition(".")
    setattr(translator.bundle.model.get_submodule(owner), attribute, part.eval())
    seen = translator.trace(SENTENCE, "I see you")

    with pytest.raises(TraceError, match=f"{message}.*The numbers of the trace are right"):
        seen.explain(name, source=1, d_model=2)
    scores = "decoder.layers.0.self_attention.scores"
    check(seen.explain(scores, 1, 1, 0), float(seen[scores][1, 1, 0]), 1e-5)


class OwnAttention(MultiHeadAttention):
    """Has no masked scores to show."""

    def forward(self, query, key, value, mask, cache=None):
        q, k, v = self.project(query, key, value, cache)
        weights = (q @ k.mT / 2).masked_fill(~mask, -math.inf).softmax(-1)
        heads = probe(self, "weights", weights) @ v
        return probe(self, "output", self.w_o(heads.transpose(1, 2).flatten(-2)))


def test_an_own_attention_without_an_operand_is_named(make) -> None:
    translator: Translator = make()
    path = "decoder.layers.0.cross_attention"
    layer = translator.bundle.model.get_submodule("decoder.layers.0")
    own = OwnAttention(14, 2).eval()
    layer.cross_attention = own
    seen = translator.trace(SENTENCE, "I see you")

    for name in ("weights", "output"):
        words = f"equation of '{path}.{name}' is not known: {path} is of class OwnAttention"
        with pytest.raises(TraceError, match=words):
            seen.explain(f"{path}.{name}", *[0] * seen[f"{path}.{name}"].ndim)


def test_a_hook_is_a_reason_for_other_numbers(make) -> None:
    translator: Translator = make()
    norm = translator.bundle.model.get_submodule(NORM)
    norm.register_forward_hook(lambda _, __, y: y / 2)

    with pytest.raises(TraceError, match=f"{NORM} has hooks"):
        translator.trace(SENTENCE, "I see you").explain(NORM, source=1, d_model=2)
