"""A diagnosis finds what is wrong in curves that show it, and nothing in those that do not."""

import copy
import math
import random
from collections.abc import Sequence
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.training.diagnosis import (
    BLOCK,
    Diagnosis,
    Observed,
    TrainingProblem,
    Validated,
    out_of_memory,
    unlearned_remark,
)

Curve = Sequence[float]
SOURCES = [f"sentence {number}" for number in range(6)]


def make(warmup_steps: int = 10, unigram_loss: float = 6.0) -> Diagnosis:
    return Diagnosis(Observed(), warmup_steps=warmup_steps, unigram_loss=unigram_loss)


def train(diagnosis: Diagnosis, losses: Curve, norms: Curve | None = None) -> list[TrainingProblem]:
    found = []
    for step, loss in enumerate(losses, 1):
        norm = norms[step - 1] if norms is not None else 1.0
        found += diagnosis.update(step, loss, norm, 0.003)
    return found


def validate(
    diagnosis: Diagnosis, results: Sequence[Validated], training: Curve, every: int = 500
) -> list[TrainingProblem]:
    """Observe an update and a validation in turn, so many steps apart."""
    found = []
    for number, (result, loss) in enumerate(zip(results, training, strict=True), 1):
        found += diagnosis.update(every * number, loss, 1.0, 0.003)
        found += diagnosis.validation(every * number, result)
    return found


def losses_only(*losses: float) -> list[Validated]:
    """Return validations of which each new lowest is the best."""
    return [
        Validated(loss, best=loss < min(losses[:index], default=math.inf))
        for index, loss in enumerate(losses)
    ]


def problems(found: Sequence[TrainingProblem]) -> list[str]:
    return [finding.problem for finding in found]


def noisy(rng: random.Random, curve: Curve, scatter: float) -> list[float]:
    return [value + rng.gauss(0, scatter) for value in curve]


def falling(steps: int, low: float = 1.2, high: float = 8.0) -> list[float]:
    return [low + (high - low) * math.exp(-step / 200) for step in range(steps)]


# Rising losses and exploding gradients


@given(st.lists(st.floats(0, 20), min_size=1, max_size=12))
def test_a_loss_that_never_rises_is_never_diagnosed(levels: list[float]) -> None:
    curve = [level for level in sorted(levels, reverse=True) for _ in range(20)]

    assert train(make(), curve) == []


@pytest.mark.parametrize("scatter", [0.1, 0.5, 2.0], ids=["large", "small", "one-pair"])
@pytest.mark.parametrize("shape", ["falling", "flat"])
def test_noise_is_not_diagnosed(scatter: float, shape: str) -> None:
    curve = falling(3000) if shape == "falling" else [2.0] * 3000
    for seed in range(8):
        rng = random.Random(seed)
        norms = [math.exp(rng.gauss(-1, 1)) for _ in curve]

        assert train(make(), noisy(rng, curve, scatter), norms) == []


def test_a_wave_as_between_epochs_is_not_diagnosed() -> None:
    """The measured runs rise by 0.1 of their loss at most, for one block."""
    curve = [2.3 + 0.12 * math.sin(step / 40) for step in range(4000)]

    assert train(make(), curve) == []


def test_one_spike_that_goes_away_is_not_diagnosed() -> None:
    curve = falling(1000)
    curve[600:640] = [9.0] * 40
    norms = [1.0] * 1000
    norms[600:640] = [500.0] * 40

    assert train(make(), curve, norms) == []


def test_a_loss_that_fell_and_rises_is_said_once_with_its_numbers() -> None:
    curve = [*falling(600), *([5.5] * 400)]

    (found,) = train(make(), noisy(random.Random(1), curve, 0.3))

    assert found.problem == "rising loss"
    assert "risen from 1.56" in found.message
    assert "(up to step 600)" in found.message
    assert "to 5.41: the rate, now 0.003," in found.message
    assert "lower learning_rate" in found.message


@pytest.mark.parametrize("clip_norm", [None, 0.5, 1.0, 5.0])
def test_a_gradient_that_is_clipped_is_not_to_be_clipped(clip_norm: float | None) -> None:
    fresh = Diagnosis(Observed(), warmup_steps=10, unigram_loss=5.41, clip_norm=clip_norm)
    diagnoses = [copy.deepcopy(fresh) for _ in range(3)]
    found = [
        *train(diagnoses[0], [*falling(600), *([5.5] * 400)]),
        *train(diagnoses[1], [2.0] * 400, [*[0.1] * 200, *[9.0] * 200]),
        *validate(diagnoses[2], losses_only(5.9, 5.7, 5.8), [6.0] * 3),
    ]

    assert problems(found) == ["rising loss", "exploding gradient", "nothing learned"]
    for finding in found:
        assert "lower learning_rate" in finding.message
        assert ("clip_norm=1.0" in finding.message) == (clip_norm in (None, 5.0))


@given(st.floats(0.51, 50), st.floats(0.1, 6))
def test_every_clear_rise_is_found(rise: float, low: float) -> None:
    curve = [low] * (3 * BLOCK) + [low + rise] * (2 * BLOCK)

    assert problems(train(make(), curve)) == ["rising loss"]


def test_a_gradient_that_explodes_is_said() -> None:
    norms = [0.5] * (4 * BLOCK) + [80.0] * (3 * BLOCK)

    (found,) = train(make(), [2.0] * len(norms), norms)

    assert found.problem == "exploding gradient"
    assert "norm is 80, where 0.5 was usual" in found.message


def test_a_gradient_that_was_tiny_may_grow() -> None:
    """A copy task that is learned has norms of 0.01, and 0.9 at its next mistake."""
    norms = [0.01] * (4 * BLOCK) + [0.9] * (3 * BLOCK)

    assert train(make(), [0.6] * len(norms), norms) == []


# Validations


@pytest.mark.parametrize(
    "losses",
    [
        # Measured: SCAN, Multi30k, the demonstration.
        [1.125, 0.746, 0.612, 0.47, 0.472, 0.537, 0.465, 0.407, 0.302, 0.284, 0.269, 0.274, 0.247,
         0.201, 0.214, 0.178, 0.26, 0.162, 0.189, 0.157, 0.16, 0.163, 0.159, 0.196, 0.163, 0.161,
         0.15, 0.159, 0.127, 0.134, 0.164, 0.122, 0.129, 0.117, 0.131, 0.136, 0.111, 0.101, 0.11],
        [1.049, 0.756, 0.601, 0.552, 0.464, 0.473, 0.351, 0.4, 0.241, 0.241, 0.375, 0.229, 0.202,
         0.199, 0.247, 0.153, 0.165, 0.148, 0.154, 0.127, 0.124, 0.108, 0.101, 0.097],
        [5.297, 4.295, 2.704, 2.418, 2.299, 2.278, 2.185, 2.126, 2.035, 2.043, 1.997, 1.958, 1.895,
         1.925, 1.896, 1.894, 1.87, 1.84, 1.846, 1.814, 1.784, 1.805, 1.784, 1.785, 1.739],
        [2.85, 0.474, 0.18, 0.12, 0.1, 0.072, 0.071, 0.066, 0.064, 0.063, 0.063],
    ],
    ids=["scan", "scan-short", "multi30k", "demo"],
)  # fmt: skip
def test_measured_validations_are_healthy(losses: list[float]) -> None:
    training = [3.0 - 0.01 * index for index in range(len(losses))]

    assert validate(make(), losses_only(*losses), training) == []


def test_over_fitting_is_said_with_the_best_step() -> None:
    losses = losses_only(4.0, 3.0, 2.5, 2.6, 2.7, 2.9, 3.1, 3.4)

    (found,) = validate(make(), losses, [4.0, 3.2, 2.8, 2.4, 2.0, 1.7, 1.5, 1.4])

    assert found.problem == "over-fitting"
    assert "from 2.500 at step 1,500 to 3.100" in found.message
    assert "training loss fell from 2.800 to 1.500" in found.message
    assert "and set training.patience to stop in time; more text" in found.message


def test_where_minutes_are_chosen_over_fitting_advises_fewer_of_them() -> None:
    diagnosis = Diagnosis(Observed(), warmup_steps=10, unigram_loss=6.0, falls_to_end=True)
    losses = losses_only(3.0, 2.5, 2.7, 2.9, 3.1)

    (found,) = validate(diagnosis, losses, [3.2, 2.8, 2.4, 2.0, 1.7])

    assert "and give another run fewer minutes or steps; more text" in found.message
    assert "patience" not in found.message


def test_it_is_not_over_fitting_when_training_does_worse_too() -> None:
    assert not validate(make(), losses_only(2.5, 2.6, 2.7, 2.9, 3.1), [2.0, 2.1, 2.2, 2.3, 2.4])


def test_it_is_not_over_fitting_while_the_chosen_score_still_has_new_bests() -> None:
    losses = [Validated(loss, best=True) for loss in (2.5, 2.7, 2.9, 3.1, 3.3)]

    assert not validate(make(), losses, [2.0, 1.8, 1.6, 1.4, 1.2])


@given(st.lists(st.floats(0.01, 6, exclude_max=True), min_size=1, max_size=20))
def test_a_validation_loss_that_never_rises_is_never_diagnosed(losses: list[float]) -> None:
    falling_losses = sorted(losses, reverse=True)

    assert not validate(make(), losses_only(*falling_losses), falling_losses)


def gains(*gains: float, loss: float = 4.0) -> list[Validated]:
    return [Validated(loss, best=False, exchanged=(loss, loss + gain)) for gain in gains]


def test_a_decoder_that_ignores_its_source_is_said_at_the_third_validation() -> None:
    diagnosis = make()
    assert not validate(diagnosis, gains(0.01, -0.02), [4.0, 4.0])

    (found,) = validate(diagnosis, gains(0.03, 0.03), [4.0, 4.0])

    assert found.problem == "ignored source"
    assert "loss is 4.030 instead of 4.000" in found.message
    assert "misaligned" in found.message


def test_a_run_of_few_updates_is_not_told_that_it_ignores_its_source() -> None:
    """Measured: right pairs, 201 updates in all, a validation every 23.

    The share of the source is 2 % at update 92, and 10 % at update 201.
    """
    results = [
        Validated(loss, best=True, exchanged=(loss, loss + gain), same_output="A man is.")
        for loss, gain in ((5.546, 0.0), (5.204, 0.001), (4.852, 0.008), (4.541, 0.015))
    ]

    assert not validate(make(20, unigram_loss=5.62), results, [7.0] * 4, every=23)
    assert validate(make(20, unigram_loss=5.62), results, [7.0] * 4, every=500)


@given(
    every=st.integers(1, 499),
    warmup_steps=st.integers(0, 50),
    loss=st.floats(0.1, 9),
    unigram_loss=st.floats(0.1, 9),
)
def test_validations_before_500_updates_say_nothing_of_what_was_learned(
    every: int, warmup_steps: int, loss: float, unigram_loss: float
) -> None:
    spoiled = Validated(loss, best=False, exchanged=(loss, loss), same_output="a man")

    validations = [spoiled] * (499 // every)

    diagnosis = make(warmup_steps, unigram_loss)
    assert not validate(diagnosis, validations, [loss] * len(validations), every)


@pytest.mark.parametrize("problem", ["ignored source", "same output"])
@pytest.mark.parametrize(("every", "is_early"), [(200, True), (700, False)])
def test_a_model_of_few_updates_is_to_train_longer_first(
    problem: str, every: int, is_early: bool
) -> None:
    spoiled = Validated(4.0, best=False, exchanged=(4.0, 4.0), same_output="a man")
    found = {each.problem: each.message for each in validate(make(), [spoiled] * 5, [4] * 5, every)}

    message = found[problem]
    early = "After 1,000 steps that may still change: train longer. If it does not, most likely"
    assert (early in message) is is_early
    assert ("Most likely" in message) is not is_early


@pytest.mark.parametrize(
    ("unigram_loss", "losses", "gains"),
    [
        (6.17, [6.146, 5.355, 4.727, 4.235], [0.0058, 0.1252, 0.5826, 0.8266]),
        (6.38, [6.644, 6.271, 6.042], [0.0008, 0.0146, 0.0510]),
        (5.41, [5.084, 3.803, 2.486, 1.309], [0.1113, 0.7677, 1.5893, 2.7443]),
    ],
    ids=["multi30k", "python-documentation", "demo"],
)
def test_measured_uses_of_the_source_are_healthy_from_the_first_steps(
    unigram_loss: float, losses: list[float], gains: list[float]
) -> None:
    """Validations every 50 steps, of models that first learn which pieces are frequent."""
    results = [
        Validated(loss, best=True, exchanged=(loss, loss + gain))
        for loss, gain in zip(losses, gains, strict=True)
        for _ in range(3)  # as if each had lasted
    ]

    found = validate(make(unigram_loss=unigram_loss), results, [7.0] * len(results))

    assert "ignored source" not in problems(found)


def test_a_measured_run_of_too_high_a_rate_ignores_its_source() -> None:
    """Multi30k at rate 0.02: translations are of all sorts, and of no sentence."""
    results = [
        Validated(loss, best=True, exchanged=(loss, loss + gain))
        for loss, gain in ((4.844, 0.0311), (4.802, 0.0494), (4.589, 0.0527))
    ]

    found = validate(make(unigram_loss=6.17), results, [5.3] * 3)

    assert problems(found) == ["ignored source"]


def test_nothing_is_said_of_the_source_before_the_frequent_pieces_are_learned() -> None:
    assert not validate(make(unigram_loss=4.05), gains(*[0.0] * 9), [4.0] * 9)
    late = validate(make(unigram_loss=3.9), gains(*[0.0] * 9), [4.0] * 9)
    assert problems(late) == ["nothing learned"]
    assert not validate(make(warmup_steps=4500), gains(*[0.0] * 9), [4.0] * 9)


def test_a_model_that_stays_at_the_frequencies_of_pieces_is_said() -> None:
    diagnosis = make(warmup_steps=1000, unigram_loss=5.41)
    assert not validate(diagnosis, losses_only(5.6, 5.53, 5.53, 5.52), [6.0] * 4)

    (found,) = validate(diagnosis, losses_only(*[5.54] * 5), [6.0] * 5)

    assert found.problem == "nothing learned"
    assert "is 5.54, but knowing how frequent each token is would give 5.41" in found.message


@pytest.mark.parametrize(
    ("losses", "advice"),
    [
        ((5.9, 5.8, 5.7), "the rate is too low, or it has not been long enough"),
        ((5.9, 5.7, 5.8), "the rate is too high"),
        ((5.9, 5.9, 5.8), "the rate is too high"),
    ],
)
def test_a_loss_that_still_falls_is_not_blamed_on_a_high_rate(
    losses: tuple[float, ...], advice: str
) -> None:
    (found,) = validate(make(unigram_loss=5.41), losses_only(*losses), [6.0] * 3)

    assert advice in found.message
    assert ("higher learning_rate" in found.message) == ("too low" in advice)


def test_losses_that_an_older_checkpoint_does_not_know_do_not_fall() -> None:
    diagnosis = make(unigram_loss=5.41)
    diagnosis.observed = Observed(unlearned=2)

    (found,) = validate(diagnosis, losses_only(9.0), [6.0])

    assert "the rate is too high" in found.message


def test_a_model_that_has_learned_once_is_not_said_to_have_learned_nothing() -> None:
    assert not validate(make(unigram_loss=5.4), losses_only(5.3, *[5.5] * 9), [6.0] * 10)


def test_an_output_that_is_always_the_same_is_said() -> None:
    same = Validated(3.0, best=False, same_output="a man")
    other = Validated(3.0, best=False)
    diagnosis = make()
    assert not validate(diagnosis, [same, same, other, same, same], [4.0] * 5)

    (found,) = validate(diagnosis, [same], [4.0])

    assert found.problem == "same output"
    assert "translated as 'a man'" in found.message


# The rest


def test_nothing_is_said_twice() -> None:
    diagnosis = make()

    assert problems(diagnosis.new(3, out_of_memory(2), out_of_memory(2))) == ["out of memory"]
    assert diagnosis.new(4, out_of_memory(4)) == []
    assert diagnosis.observed.findings == [{"step": 3} | out_of_memory(2)._asdict()]


def test_a_continued_run_says_what_the_whole_run_says() -> None:
    """The state is plain values, and all that a diagnosis goes by."""
    curve = [*falling(600), *([5.5] * 400)]
    whole = make()
    expected = train(whole, curve)

    for cut in (1, 333, 700, 751):
        first = make()
        found = train(first, curve[:cut])
        second = make()
        second.observed = Observed(**copy.deepcopy(asdict(first.observed)))
        for step, loss in enumerate(curve[cut:], cut + 1):
            found += second.update(step, loss, 1.0, 0.003)
        assert found == expected
        assert second.observed == whole.observed


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["", "", "", "", "a", "b"], "test: 4 of 6 translations are empty."),
        (["the", "the", "the", "the", "", "b"], "test: 4 of 6 translations are the same, 'the'."),
    ],
)
def test_the_cause_and_a_remedy_are_said(outputs: list[str], words: str) -> None:
    remark = unlearned_remark("test", SOURCES, outputs, 13)
    assert remark is not None
    assert remark.startswith(words)
    assert "too little in 13 steps: train for more steps" in remark


@pytest.mark.parametrize("outputs", [["", "", "", "a", "b", "c"], list("abcdef")])
def test_half_of_the_lines_are_no_reason(outputs: list[str]) -> None:
    assert unlearned_remark("test", SOURCES, outputs, 13) is None


def test_one_source_has_one_translation() -> None:
    assert unlearned_remark("test", ["a"] * 9, ["b"] * 9, 13) is None
