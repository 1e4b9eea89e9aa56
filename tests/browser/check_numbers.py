"""What the page says under the pointer is what Python says, to four places."""

import json
import random
from typing import Any

import pytest

from headway.inspection.edit import zero
from headway.inspection.translator import Translator

SENTENCE = "저는 학생입니다."
KINDS = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}


def point(page: Any, key: str, shape: tuple[int, int], row: int, column: int) -> list[str]:
    """Return the lines that stand beside the pointer over a cell of a matrix."""
    canvas = page.locator(f'canvas[data-key="{key}"]')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.hover(
        position={
            "x": (column + 0.5) * box["width"] / shape[1],
            "y": (row + 0.5) * box["height"] / shape[0],
        }
    )
    return page.locator(".tooltip > div").all_inner_texts()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_says_its_number_its_labels_and_its_name(
    seen: Any, translator: Translator, kind: str
) -> None:
    trace = translator.trace(SENTENCE)
    draw = random.Random(kind)
    for _ in range(4):
        layer, head = draw.randrange(2), draw.randrange(4)
        name = KINDS[kind].format(layer) + ".weights"
        weights = trace[name]
        _, rows, columns = weights.shape
        row, column = draw.randrange(rows), draw.randrange(columns)
        page = seen.open("attention", view=kind, l=layer, h=head)
        lines = point(page, "big-matrix", (rows, columns), row, column)
        _, query, key = weights.axes
        assert lines[0].split(" ")[0] == f"{weights[head, row, column].item():.4f}"
        assert lines[1] == f"{query.label(row)}  ·  {key.pieces[column]}"
        code = page.locator(".about-name").text_content()
        assert code == f'trace["{name}"].at(head={head}, query={row}, key={column})'
        assert eval(code, {"trace": trace}) == weights[head, row, column]
        score = trace[name.replace("weights", "scores")][head, row, column].item()
        assert f"{score:.4f}".replace("-", "−") in " ".join(lines)


@pytest.mark.parametrize("screen", ["attention", "hand"])
def test_the_strongest_cell_of_the_row_is_chosen_first(
    seen: Any, translator: Translator, screen: str
) -> None:
    trace = translator.trace(SENTENCE)
    page = seen.open(screen, view="cross", l=1, h=1, q=3, t=3)
    code = page.locator(".about-name").text_content()
    own = trace["decoder.layers.1.cross_attention.weights"][1, 3]
    assert eval(code, {"trace": trace}) == own.max()
    assert float(page.locator(".about-value").text_content()) == pytest.approx(
        own.max().item(), abs=5.1e-5
    )


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    "screen",
    ["translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment"],
)
def test_what_is_this_explains_a_number_before_any_is_pointed_at(
    seen: Any, translator: Translator, screen: str, language: str
) -> None:
    page = seen.open(screen, lang=language)
    code = page.locator(".about-name").text_content()
    positions = translator.bundle.model.source_embedding.positions
    assert eval(code, {"trace": translator.trace(SENTENCE), "positions": positions}).numel() > 0
    assert page.locator(".about-body > p").first.inner_text().endswith(".")
    assert page.locator(".about-formula math").count() == 1


def test_the_mean_of_the_heads_is_the_mean(seen: Any, translator: Translator) -> None:
    weights = translator.trace(SENTENCE)["decoder.layers.1.cross_attention.weights"].mean(0)
    page = seen.open("attention", view="cross", l=1)
    lines = point(page, "big-matrix", tuple(weights.shape), 3, 1)  # type: ignore[arg-type]
    assert abs(float(lines[0].split(" ")[0]) - weights[3, 1].item()) < 6e-5
    code = page.locator(".about-name").text_content()
    assert eval(code, {"trace": translator.trace(SENTENCE)}) == weights[3, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_worked_out_by_hand_is_what_the_model_has(
    seen: Any, translator: Translator, kind: str
) -> None:
    trace = translator.trace(SENTENCE)
    page = seen.open("hand", view=kind, l=1, h=2, q=3, k=1, show="all")
    heads = trace[KINDS[kind].format(1) + ".heads"].at(head=2, query=3)
    texts = page.locator('[data-key="strip:head3"] .strip-digits').all_inner_texts()
    own = [float(text.replace("−", "-")) for text in texts]
    assert len(own) == len(heads)
    assert max(abs(a - b) for a, b in zip(own, heads.tolist(), strict=True)) < 1e-4
    assert page.locator(".compared.differs").count() == 0
    assert page.locator(".compared.agrees").count() >= 4


def test_probabilities_are_of_the_whole_vocabulary(seen: Any, translator: Translator) -> None:
    trace = translator.trace(SENTENCE)
    page = seen.open("translate", t=2)
    best = trace["probabilities"][2].topk(10)
    rows = page.locator(".candidate[data-piece]").evaluate_all(
        "(all) => all.map((own) => [own.dataset.piece, Number(own.dataset.p)])"
    )
    assert trace.sentence is not None
    pieces = [trace.sentence.vocabulary[number] for number in best.indices.tolist()]
    assert [piece for piece, _ in rows] == pieces
    assert [p for _, p in rows] == pytest.approx(best.values.tolist(), rel=1e-6)
    others = 1 - best.values.double().sum().item()
    said = page.locator(".candidate.is-other .bar-share").inner_text()
    assert float(said.removesuffix(" %")) == pytest.approx(100 * others, abs=0.06)


@pytest.mark.parametrize(
    ("screen", "pointed", "state"),
    [
        ("translate", ".stage-pieces [data-weight]", {"h": 1}),
        ("translate", ".stage-pieces [data-weight]", {}),
        ("translate", ".candidate", {}),
        (
            "hand",
            '[data-key^="strip:"] .strip-cell[data-index="2"]',
            {"view": "cross", "show": "all"},
        ),
        ("attention", ".flow-node", {"show": "flow"}),
    ],
)
def test_what_python_is_said_to_call_a_number_is_that_number(
    seen: Any, translator: Translator, screen: str, pointed: str, state: dict[str, Any]
) -> None:
    trace = translator.trace(SENTENCE)
    page = seen.open(screen, **state)
    places = page.locator(pointed)
    seen_codes = set()
    for index in range(places.count()):
        places.nth(index).hover(force=True)  # also below its own label
        code = page.locator(".about-name").text_content()
        value = page.locator(".about-value").text_content()
        assert eval(code, {"trace": trace}).item() == pytest.approx(
            float(value.replace("−", "-")), abs=6e-5
        ), code
        seen_codes.add(code)
    assert len(seen_codes) > 1


def test_the_names_beside_the_arithmetic_are_python(seen: Any, translator: Translator) -> None:
    trace = translator.trace(SENTENCE)
    page = seen.open("hand", view="cross", l=1, h=2, q=3, k=1, show="all")
    codes = page.locator("code.tensor-name").all_inner_texts()
    assert len(codes) > 8
    for code in codes:
        assert eval(code, {"trace": trace}).isfinite().all(), code


def test_the_difference_of_two_heads_is_said_in_python(seen: Any, translator: Translator) -> None:
    weights = translator.trace(SENTENCE)["decoder.layers.1.cross_attention.weights"]
    page = seen.open("attention", view="cross", l=1, h=2, show="vs0")
    point(page, "compare-difference", tuple(weights.shape[1:]), 3, 1)  # type: ignore[arg-type]
    code = page.locator(".about-name").text_content()
    difference = eval(code, {"trace": translator.trace(SENTENCE)})
    assert difference == weights[2, 3, 1] - weights[0, 3, 1]


@pytest.mark.parametrize("letter", ["A", "B", "D"])
def test_of_two_traces_python_says_which(seen: Any, translator: Translator, letter: str) -> None:
    heads, weights = (f"decoder.layers.0.self_attention.{part}" for part in ("heads", "weights"))
    edits = {heads: zero(head=1)}
    a = translator.trace(SENTENCE)
    b = translator.trace(SENTENCE, a.sentence.writes[:-1], edit=edits)
    later = weights.replace("0", "1")
    given = json.dumps([{"name": heads, "kind": "zero", "where": {"head": 1}}])
    page = seen.open("what-if", edits=given, view="decoder", l=1, h=2)
    point(page, f"what-if:matrix:{letter}", tuple(a[later].shape[1:]), 3, 1)  # type: ignore[arg-type]
    code = page.locator(".about-name").text_content()
    own = {"A": a[later], "B": b[later], "D": b[later] - a[later]}[letter]
    assert eval(code, {"a": a, "b": b}) == own[2, 3, 1]
    assert b[later][2, 3, 1] != a[later][2, 3, 1]


def test_a_position_beyond_the_sentence_has_python_too(seen: Any, translator: Translator) -> None:
    page = seen.open("position", pos=40, dim=3)
    page.locator('canvas[data-key="position-picture"]').hover(position={"x": 300, "y": 300})
    code = page.locator(".about-name").text_content()
    value = page.locator(".about-value").text_content()
    positions = translator.bundle.model.source_embedding.positions
    assert float(value.replace("−", "-")) == pytest.approx(
        eval(code, {"positions": positions}).item(), abs=6e-7
    )
