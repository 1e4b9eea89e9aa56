"""What fits into some minutes: all of it, not more, with a rate that reaches zero."""

import itertools
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.config.model import Architecture
from headway.config.presets import architecture
from headway.config.training import TrainingConfig
from headway.errors import ConfigError
from headway.training.budget import Budget, Costs, Deadline, Plan, check_budget, plan
from headway.training.schedule import Schedule, paper_peak
from headway.training.settings import remarks

COSTS = Costs(step=0.5, compiling=0.0, validation=2.0, endless=3.0, end=30.0, updates=36)
RECIPE = TrainingConfig(
    max_steps=30_000,
    batch_tokens=2048,
    warmup_steps=2000,
    learning_rate=0.002,
    patience=10,
    max_epochs=3,
)
FINE_TUNE = RECIPE.replace({"start_from": "runs/other"})
TINY = architecture("tiny")


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass."""
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)


def chosen(
    minutes: float = 8,
    costs: Costs = COSTS,
    training: TrainingConfig = RECIPE,
    model: Architecture = TINY,
    pairs: int = 1000,
) -> Plan:
    return plan(Budget(minutes, began=1000.0), costs, training, model, pairs)


def said(plan: Plan) -> str:
    return " ".join(plan.summary())


def expected_seconds(found: Plan, costs: Costs) -> float:
    training = found.training
    validations = math.ceil(training.max_steps / (training.validate_every_steps or 1))
    steps = training.max_steps * costs.step + validations * costs.validation
    return costs.compiling + steps + 2 * costs.endless + costs.end


def test_eight_minutes_worked_out_by_hand() -> None:
    training = chosen().training

    # 480 - 30 - 2 * 3 = 444 seconds, of which 20 validations take 40: 808 steps.
    assert (training.max_steps, training.validate_every_steps) == (808, 41)
    assert training.warmup_steps == 80
    assert training.learning_rate == 0.002
    assert training.average_checkpoints == 5


@pytest.mark.parametrize(
    ("validation", "steps", "averaged"),
    # 480 - 30 - 6 = 444 seconds. A second average takes 40, and a tenth of the other 404 has room
    # for 20 validations, for 8 (an average of two, and no second one), or for the fewest, 4.
    [(2.0, 728, 5), (5.0, 808, 2), (20.0, 728, 1)],
)
def test_time_for_a_second_average_is_kept_only_where_there_is_one(
    validation: float, steps: int, averaged: int
) -> None:
    costs = Costs(0.5, 0.0, validation, 3.0, 30.0, second_average=40.0)
    training = chosen(costs=costs).training
    assert (training.max_steps, training.average_checkpoints) == (steps, averaged)


@given(start=st.floats(0, 200))
def test_the_validation_of_the_starting_model_takes_its_time(start: float) -> None:
    found = chosen(costs=replace(COSTS, start=start))
    assert found.training == chosen(costs=replace(COSTS, end=COSTS.end + start)).training
    assert found.training.max_steps <= chosen().training.max_steps - int(start)


def test_the_time_of_validations_that_few_steps_leave_no_room_for_goes_to_steps() -> None:
    # 180 - 30 - 10 = 140 seconds: four validations leave 60 of them, for 12 steps, which have room
    # for two. These leave 100, for 20 steps.
    costs = Costs(5.0, 0.0, 20.0, 5.0, 30.0)
    found = chosen(3, costs)
    assert (found.training.max_steps, found.training.validate_every_steps) == (20, 10)
    assert found.seconds == 180


def test_nothing_else_ends_the_run_and_the_rate_reaches_zero() -> None:
    training = chosen().training

    assert (training.patience, training.max_epochs) == (None, None)
    assert (training.schedule, training.decay_steps) == ("constant", 323)  # 0.4 of 808
    schedule = Schedule(
        training.schedule, 0.002, training.warmup_steps, training.max_steps, training.decay_steps
    )
    assert schedule(training.warmup_steps) == 0.002
    assert schedule(training.max_steps + 1) == 0.0
    assert schedule(training.max_steps) == pytest.approx(0.002 / 324)


@given(
    minutes=st.floats(1, 600),
    step=st.floats(0.001, 2),
    validation=st.floats(0, 30),
    endless=st.floats(0, 5),
    end=st.floats(0, 20),
)
def test_it_fits_and_leaves_little(
    minutes: float, step: float, validation: float, endless: float, end: float
) -> None:
    costs = Costs(step, 0.0, validation, endless, end)
    try:
        found = chosen(minutes, costs)
    except ConfigError:
        return
    training, seconds = found.training, expected_seconds(found, costs)

    assert seconds <= 60 * minutes * (1 + 1e-9)
    assert found.seconds == pytest.approx(seconds)
    if training.max_steps >= 100:  # of fewer, the validations are fewer, too
        assert seconds >= 60 * minutes - step - 10 * validation


def test_what_has_passed_is_gone() -> None:
    late = plan(Budget(8, began=1000.0 - 240), COSTS, RECIPE, TINY, pairs=1000)

    assert late.training.max_steps < chosen().training.max_steps / 2


def test_an_unset_peak_stays_that_of_the_recipe_and_not_of_the_short_warm_up() -> None:
    recipe = RECIPE.replace({"learning_rate": None})

    assert chosen(training=recipe).training.learning_rate == paper_peak(128, 2000)


def test_a_short_warm_up_stays() -> None:
    assert chosen(training=RECIPE.replace({"warmup_steps": 7})).training.warmup_steps == 7


def test_a_costly_validation_comes_seldom_and_a_cheap_one_often() -> None:
    def validations(seconds: float) -> int:
        costs = Costs(0.1, 0.0, seconds, 0.0, 0.0)
        training = chosen(10, costs).training
        return math.ceil(training.max_steps / (training.validate_every_steps or 1))

    assert validations(0.1) == 20
    assert validations(6.0) == 10
    assert validations(60.0) == 4


def test_a_fine_tune_of_few_steps_is_told_the_minutes_of_200() -> None:
    """Worked out by hand: fixed costs are paid once, and not with each step.

    12 + 2 seconds, 4 validations of 6.2 and 200 updates of 0.834 are 205.6 seconds. Minutes in
    proportion to the steps would be 9.
    """
    costs = Costs(0.834, 0.0, 6.2, 1.0, 12.0)
    short = chosen(2, costs, FINE_TUNE)
    text = said(short)

    assert (
        f"{short.training.max_steps} steps are too few to learn much. Give at least about" in text
    )
    assert text.endswith("at least about 4 minutes.")
    enough = chosen(4, costs, FINE_TUNE)
    assert enough.training.max_steps >= 200
    assert "a straight fall of the rate to zero, with a validation every" in said(enough)
    assert "Give" not in said(enough)
    assert "usable" not in text + said(enough)


def test_a_new_model_of_few_steps_is_told_the_minutes_of_a_usable_one() -> None:
    # 2,000 updates are 1,000 seconds, the rest 36, and 20 validations 40: 17.9 minutes.
    usable = (
        "A new model begins to be usable after 500 (short, simple sentences) to 2,000 steps: at "
        "this speed about "
    )

    assert said(chosen(8)).endswith(f"{usable}18 minutes for 2,000.")  # 500 are in the plan
    assert "too few" not in said(chosen(8))
    # 200 updates are 100 seconds, the rest 36, and 4 to 8 validations 8 to 16.
    # 500 are 250 seconds, and with the rest and 16 to 20 validations 5.5 minutes.
    few = f"too few to learn much. Give at least about 3 minutes. {usable}6 to 18 minutes."
    assert few in said(chosen(2))
    assert "usable" not in said(chosen(18))
    assert "usable" not in said(chosen(2, pairs=999))  # whatever the steps


def minutes_said(text: str, before: str) -> int | None:
    """Return the number of minutes that follows these words, if they are in the text."""
    match = re.search(rf"{before} ([\d,]+) minutes?\b", text)
    return int(match[1].replace(",", "")) if match else None


@given(
    minutes=st.floats(0.5, 60),
    passed=st.floats(0, 100),
    step=st.floats(0.01, 2),
    validation=st.floats(0, 60),
    end=st.floats(0, 60),
    second_average=st.floats(0, 30),
    training=st.sampled_from([RECIPE, FINE_TUNE]),
)
def test_the_minutes_that_are_said_have_room_for_the_steps_and_a_minute_less_has_not(
    minutes: float,
    passed: float,
    step: float,
    validation: float,
    end: float,
    second_average: float,
    training: TrainingConfig,
) -> None:
    costs = Costs(step, 0.0, validation, 1.0, end, second_average)

    def planned(minutes: float) -> tuple[int, str]:
        """Return the steps, and what is said of them."""
        try:
            plan_ = plan(Budget(minutes, began=1000.0 - passed), costs, training, TINY, pairs=1000)
        except ConfigError as error:
            return 0, str(error)
        return plan_.training.max_steps, said(plan_)

    steps, text = planned(minutes)
    thresholds = {
        "Give at least about": 200,
        r"at this speed about(?: [\d,]+ to)?": 2000,
    }
    if training is FINE_TUNE:
        assert "at this speed" not in text
        thresholds.popitem()
    for before, needed in thresholds.items():
        enough = minutes_said(text, before)
        assert (enough is None) == (steps >= needed)
        if enough is not None:
            assert enough > minutes
            assert planned(enough)[0] >= needed
            assert enough - 1 <= minutes or planned(enough - 1)[0] < needed


@pytest.mark.parametrize(
    ("minutes", "training", "model", "has_smaller"),
    [
        (2, RECIPE, TINY, False),
        (2, RECIPE, TINY.replace({"num_encoder_layers": 2}), False),
        (2, RECIPE, architecture("small"), True),
        (2, RECIPE, TINY.replace({"num_decoder_layers": 5}), True),
        (2, FINE_TUNE, architecture("base"), False),
        (8, RECIPE, architecture("base"), True),
        (60, RECIPE, architecture("base"), False),
        (0.5, RECIPE, architecture("small"), True),
        (0.5, RECIPE, TINY, False),
        (0.5, FINE_TUNE, architecture("small"), False),
    ],
)
def test_a_smaller_model_is_advised_where_there_is_one(
    minutes: float, training: TrainingConfig, model: Architecture, has_smaller: bool
) -> None:
    try:
        text = said(chosen(minutes, training=training, model=model))
    except ConfigError as error:
        text = str(error)

    advice = "A smaller model (preset tiny) makes more steps in the same time."
    assert (advice in text) is has_smaller
    assert ("smaller model" in text) is has_smaller


@pytest.mark.parametrize(
    ("training", "model", "advised"),
    [
        (RECIPE, TINY, set()),
        (RECIPE.replace({"batch_tokens": 2049}), TINY, {"batch_tokens"}),
        (RECIPE.replace({"batch_tokens": 1000}), TINY, set()),
        (RECIPE, TINY.replace({"num_encoder_layers": 6}), {"norm_position"}),
        (RECIPE, TINY.replace({"num_decoder_layers": 5}), set()),
        (RECIPE, TINY.replace({"num_decoder_layers": 6, "norm_position": "pre"}), set()),
        (FINE_TUNE.replace({"batch_tokens": 4096}), architecture("base"), set()),
        (
            RECIPE.replace({"batch_tokens": 25_000}),
            architecture("base"),
            {"batch_tokens", "norm_position"},
        ),
    ],
)
def test_settings_that_need_fewer_minutes_are_advised(
    training: TrainingConfig, model: Architecture, advised: set[str]
) -> None:
    text = said(chosen(2, training=training, model=model))
    assert {name for name in ("batch_tokens", "norm_position") if f".{name}=" in text} == advised


def test_minutes_that_do_not_suffice_at_all_are_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"0\.5 minutes are not enough.*at least about 3 minutes\. .* about 6 to 18 minutes"
        r".* --set training\.max_steps=20 --set training\.warmup_steps=2\.",
    ) as refused:
        chosen(0.5)

    settings = re.findall(r"--set training\.(\w+)=(\d+)", str(refused.value))
    suggested = TrainingConfig().replace({key: int(value) for key, value in settings})
    assert remarks(suggested, suggested.max_steps, 50_000) == []


@pytest.mark.parametrize("minutes", [0, -1.0, math.inf, math.nan])
def test_what_is_no_time_is_refused(minutes: float) -> None:
    with pytest.raises(ConfigError, match="must be a number above 0"):
        Budget(minutes)


def test_a_run_that_goes_on_and_several_processes_have_no_minutes() -> None:
    check_budget(resume=False, alone=True)
    with pytest.raises(ConfigError, match=r"number of steps is fixed when it starts.*--resume"):
        check_budget(resume=True, alone=True)
    with pytest.raises(ConfigError, match=r"several.*set training\.max_steps"):
        check_budget(resume=False, alone=False)


def fitted_run(
    seconds: Callable[[int], float], minutes: float = 8
) -> tuple[TrainingConfig, float, list[TrainingConfig]]:
    """Make the steps of a plan; return its last settings, the time of its end, and all settings.

    seconds: of a step, by its number. A validation takes as long as planned.
    """
    found = chosen(minutes)
    training, deadline, now, all_settings = found.training, found.deadline, 1000.0, []
    step = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now)
        while step < training.max_steps:
            step += 1
            now += seconds(step)
            if step % (training.validate_every_steps or 1) == 0 or step == training.max_steps:
                now += COSTS.validation
                training = deadline.fit(training, step)
                all_settings.append(training)
    return training, now + COSTS.end - 1000.0, all_settings


@pytest.mark.parametrize("factor", [0.6, 1.0, 1.5])
def test_a_run_on_a_faster_or_slower_machine_ends_in_time(factor: float) -> None:
    _, took, _ = fitted_run(lambda step: 0.5 * factor)
    assert took == pytest.approx(480, rel=0.02)


def test_a_machine_that_slows_down_before_the_fall_ends_in_time() -> None:
    training, took, _ = fitted_run(lambda step: 0.5 if step < 200 else 0.75)
    assert took == pytest.approx(480, rel=0.05)
    assert training.max_steps < 700  # 808 were planned


@given(slow=st.integers(0, 800), factor=st.floats(0.5, 3))
def test_rates_of_made_steps_stay_those_of_the_last_settings(slow: int, factor: float) -> None:
    training, _, all_settings = fitted_run(lambda step: 0.5 * (factor if step > slow else 1))
    last = Schedule(
        training.schedule, 1.0, training.warmup_steps, training.max_steps, training.decay_steps
    )
    for settings, step in zip(all_settings, itertools.count(41, 41), strict=False):
        schedule = Schedule(
            settings.schedule, 1.0, settings.warmup_steps, settings.max_steps, settings.decay_steps
        )
        upto = min(step, training.max_steps)
        assert [schedule(n) for n in range(1, upto + 1)] == [last(n) for n in range(1, upto + 1)]


def test_a_run_that_is_late_falls_to_zero_within_one_interval() -> None:
    found = chosen()
    deadline, training = Deadline(ends=1001.0), found.training
    for step in (41, 82):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", lambda now=1000.0 + step: now)
            training = deadline.fit(training, step)
    assert (training.max_steps, training.decay_steps) == (82 + 41, 41)


def test_once_the_fall_has_begun_the_settings_stay() -> None:
    found = chosen()
    for step in (500, 600):  # the fall begins after step 485
        assert found.deadline.fit(found.training, step) == found.training
