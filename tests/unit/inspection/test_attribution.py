"""Attribution: complete, a derivative, and what a model loses that does not know the word."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.data.tokenizer import END_ID, START_ID
from headway.errors import ConfigError
from headway.inspection.attribution import Attribution, attribute
from headway.model.probe import listening

SOURCE, TARGET = "너는 학교에 갑니다.", "You go to school."
METHODS = ["gradient_x_input", "integrated_gradients", "occlusion"]


@pytest.fixture(scope="module")
def exact(bundle: Bundle) -> Bundle:
    """Return the bundle in float64, where differences of differences still mean something."""
    return replace(bundle, model=copy.deepcopy(bundle.model).double())


def log_prob(bundle: Bundle, place: int, source_ids: list[int] | None = None) -> float:
    """Return what the model gives piece `place` of the target, by an ordinary pass."""
    source = source_ids or bundle.source_tokenizer.encode(SOURCE)
    target = bundle.target_tokenizer.encode(TARGET)
    with torch.no_grad():
        logits = bundle.model(
            torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *target]])
        )
    return float(logits[0, place].log_softmax(-1)[[*target, END_ID][place]])


def scores(found: Attribution) -> list[float]:
    return [*found.source_scores, *found.prefix_scores]


@pytest.fixture(scope="module")
def smooth(exact: Bundle, build: Any) -> Bundle:
    """Return a bundle without the kinks of ReLU, where a rule of quadrature is nearly exact."""
    sizes = {
        name: getattr(exact.config, name) for name in ("source_vocab_size", "target_vocab_size")
    }
    model = build(8, activation="gelu", shared_embeddings="none", **sizes)
    return replace(exact, model=model.double())


@pytest.mark.parametrize("place", [0, 2, 7])
def test_integrated_gradients_are_complete(smooth: Bundle, place: int) -> None:
    found = attribute(smooth, SOURCE, TARGET, place)

    assert found.value == pytest.approx(log_prob(smooth, place), abs=1e-12)
    assert abs(found.value - found.baseline) > 0.01
    assert sum(scores(found)) == pytest.approx(found.value - found.baseline, abs=1e-9)
    assert abs(found.gap) < 1e-9


@pytest.mark.parametrize("place", [0, 2, 7])
def test_integrated_gradients_are_complete_with_relu_given_more_steps(
    exact: Bundle, place: int
) -> None:
    assert abs(attribute(exact, SOURCE, TARGET, place, steps=1000).gap) < 5e-3


def test_more_steps_close_the_gap(smooth: Bundle) -> None:
    gaps = [abs(attribute(smooth, SOURCE, TARGET, 2, steps=steps).gap) for steps in (2, 8, 32)]

    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]


def test_gradient_times_input_is_the_derivative_of_making_a_word_louder(exact: Bundle) -> None:
    # d f(c x_i) / dc at c = 1, where the row of the table of a piece that occurs once is scaled.
    found = attribute(exact, SOURCE, TARGET, 3, method="gradient_x_input")
    ids = exact.source_tokenizer.encode(SOURCE)

    for place, piece in enumerate(ids):
        assert ids.count(piece) == 1
        values = []
        for factor in (1 + 1e-5, 1 - 1e-5):
            louder = copy.deepcopy(exact)
            with torch.no_grad():
                louder.model.source_embedding.tokens.weight[piece] *= factor
            values.append(log_prob(louder, 3))
        slope = (values[0] - values[1]) / 2e-5
        assert found.source_scores[place] == pytest.approx(slope, abs=1e-6)


def test_occlusion_is_what_a_model_loses_that_does_not_know_the_word(exact: Bundle) -> None:
    found = attribute(exact, SOURCE, TARGET, 3, method="occlusion")

    sides = (
        ("source_embedding", [*exact.source_tokenizer.encode(SOURCE), END_ID], found.source_scores),
        (
            "target_embedding",
            [START_ID, *exact.target_tokenizer.encode(TARGET)[:3]],
            found.prefix_scores,
        ),
    )
    for name, ids, ours in sides:
        for piece, score in zip(ids, ours, strict=True):
            assert ids.count(piece) == 1
            ignorant = copy.deepcopy(exact)
            with torch.no_grad():
                getattr(ignorant.model, name).tokens.weight[piece] = 0
            assert score == pytest.approx(log_prob(exact, 3) - log_prob(ignorant, 3), abs=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_pieces_have_their_names_and_numbers_are_finite(bundle: Bundle, method: Any) -> None:
    found = attribute(bundle, SOURCE, TARGET, 2, method=method, steps=3)

    target = bundle.target_tokenizer.pieces(bundle.target_tokenizer.encode(TARGET))
    source = bundle.source_tokenizer.pieces(bundle.source_tokenizer.encode(SOURCE))
    assert found.piece == target[2]
    assert found.source_pieces == (*source, "</s>")
    assert found.prefix_pieces == ("<s>", *target[:2])
    assert len(found.source_scores) == len(found.source_pieces)
    assert len(found.prefix_scores) == len(found.prefix_pieces)
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert values["source_scores"] == list(found.source_scores)
    assert values["gap"] == found.gap


@pytest.mark.parametrize("method", METHODS)
def test_why_this_and_not_that_is_the_difference_of_two_answers(exact: Bundle, method: Any) -> None:
    pieces = exact.target_tokenizer.pieces(exact.target_tokenizer.encode(TARGET))
    other = "▁the"
    assert other != pieces[1]

    both = attribute(exact, SOURCE, TARGET, 1, method=method, instead_of=other)

    this = attribute(exact, SOURCE, pieces, 1, method=method)
    that = attribute(exact, SOURCE, [pieces[0], other], 1, method=method)
    expected = [a - b for a, b in zip(scores(this), scores(that), strict=True)]
    assert scores(both) == pytest.approx(expected, abs=1e-10)
    assert both.value == pytest.approx(this.value - that.value, abs=1e-12)


def test_pieces_after_the_place_do_not_matter(bundle: Bundle) -> None:
    pieces = bundle.target_tokenizer.pieces(bundle.target_tokenizer.encode(TARGET))

    assert attribute(bundle, SOURCE, pieces, 2) == attribute(bundle, SOURCE, pieces[:3], 2)


def test_a_sentence_in_parts_is_refused(bundle: Bundle) -> None:
    short = replace(bundle, decoding=DecodingConfig(max_source_pieces=4))
    with pytest.raises(ConfigError, match=r"has \d parts, but attribution explains"):
        attribute(short, "나는 너를 본다 . " * 3, "I see", 0)


def test_nothing_is_left_behind_whatever_mode_the_caller_is_in(bundle: Bundle) -> None:
    before = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    usual = attribute(bundle, SOURCE, TARGET, 2)

    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            assert attribute(bundle, SOURCE, TARGET, 2) == usual

    assert not listening()
    assert all(parameter.grad is None for parameter in bundle.model.parameters())
    assert all(
        torch.equal(bundle.model.state_dict()[name], value) for name, value in before.items()
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "gradient"}, "no method 'gradient'.*Did you mean"),
        ({"place": 99}, r"place is 99, but the target has places 0 to \d+"),
        ({"place": -1}, "place is -1"),
        ({"steps": 0}, "steps is 0"),
        ({"instead_of": "▁zebra"}, "no token '▁zebra'"),
    ],
)
def test_wrong_questions_are_one_sentence(
    bundle: Bundle, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        attribute(bundle, SOURCE, TARGET, **({"place": 0} | changes))
