"""One update: batches add up, gradients are clipped, and a bad loss changes nothing."""

import copy

import pytest
import torch

from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.errors import TrainingError
from headway.model.transformer import Transformer
from headway.training.objective import Objective, batch_loss
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.update import TrainingStep


def make_step(
    model: Transformer, clip_norm: float | None = None, reads_before_step: bool = True
) -> TrainingStep:
    step = TrainingStep(
        Objective(model, 0.1, "float32"),
        build_optimizer(model),
        Schedule("constant", 0.01, 1, 9),
        clip_norm=clip_norm,
    )
    step.reads_before_step = reads_before_step
    return step


# On a GPU Adam's step is under way before loss and gradient norm are read.
both_ways = pytest.mark.parametrize(
    "reads_before_step", [True, False], ids=["reads before", "reads after"]
)


def without_dropout(model: Transformer) -> Transformer:
    for part in model.modules():
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return model


def spy_on_gradients(step: TrainingStep) -> dict[str, torch.Tensor]:
    """Return a dictionary that the next update fills with the gradients it uses."""
    seen: dict[str, torch.Tensor] = {}

    def remember(*_: object) -> None:
        for name, parameter in step.model.named_parameters():
            assert parameter.grad is not None, name
            seen[name] = parameter.grad.clone()

    step.optimizer.register_step_pre_hook(remember)
    return seen


def test_four_small_batches_are_one_large_one(model: Transformer, pairs: list[EncodedPair]) -> None:
    model = without_dropout(model.double())
    whole, parts = make_step(model), make_step(copy.deepcopy(model))
    of_whole, of_parts = spy_on_gradients(whole), spy_on_gradients(parts)
    cuts = [pairs[:3], pairs[3:4], pairs[4:15], pairs[15:]]

    one = whole(1, [collate(pairs)])
    four = parts(1, [collate(cut) for cut in cuts])

    assert one.target_tokens == four.target_tokens
    assert one.loss == pytest.approx(four.loss, rel=1e-12)
    assert one.gradient_norm == pytest.approx(four.gradient_norm, rel=1e-10)
    for name in of_whole:
        torch.testing.assert_close(of_parts[name], of_whole[name], rtol=1e-9, atol=1e-12)


def test_the_mean_is_over_real_target_pieces(model: Transformer) -> None:
    pairs = [EncodedPair([4, 5, 6], [7], 1), EncodedPair([8], [4, 5, 6, 7], 2)]
    sums = batch_loss(without_dropout(model), collate(pairs), 0.1, "float32")

    result = make_step(model)(1, [collate(pairs)])

    assert result.target_tokens == 7  # 1 + 4 pieces and two end symbols
    assert result.loss == pytest.approx(float(sums.loss.detach()) / 7, rel=1e-6)


@both_ways
def test_the_norm_is_reported_before_clipping_and_the_gradient_is_clipped(
    model: Transformer, pairs: list[EncodedPair], reads_before_step: bool
) -> None:
    step = make_step(without_dropout(model), clip_norm=0.01, reads_before_step=reads_before_step)
    seen = spy_on_gradients(step)

    result = step(1, [collate(pairs)])

    total = torch.cat([gradient.flatten() for gradient in seen.values()]).norm()
    assert result.gradient_norm > 0.1
    assert float(total) == pytest.approx(0.01, rel=1e-3)


@both_ways
@pytest.mark.parametrize("limit", [None, 1e6], ids=["none", "out of reach"])
def test_below_its_limit_the_gradient_is_left_alone(
    model: Transformer, pairs: list[EncodedPair], limit: float | None, reads_before_step: bool
) -> None:
    step = make_step(without_dropout(model), clip_norm=limit, reads_before_step=reads_before_step)
    seen = spy_on_gradients(step)
    tokens = collate(pairs).num_target_tokens
    other = copy.deepcopy(model)
    (batch_loss(other, collate(pairs), 0.1, "float32").loss / tokens).backward()

    step(1, [collate(pairs)])

    for name, parameter in other.named_parameters():
        assert parameter.grad is not None
        assert torch.equal(seen[name], parameter.grad)


def test_the_rate_is_that_of_the_schedule(model: Transformer, pairs: list[EncodedPair]) -> None:
    step = make_step(model)
    step.schedule = Schedule("constant", 0.03, 4, 9)

    result = step(3, [collate(pairs)])

    assert result.rate == pytest.approx(0.0225)
    assert {group["lr"] for group in step.optimizer.param_groups} == {result.rate}


def test_no_gradient_is_left_for_the_next_update(
    model: Transformer, pairs: list[EncodedPair]
) -> None:
    make_step(model)(1, [collate(pairs)])

    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_a_loss_that_is_not_finite_changes_no_weight(
    model: Transformer, pairs: list[EncodedPair], value: float
) -> None:
    step = make_step(model, clip_norm=1.0)
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.w_2.bias[3] = value
    before = {name: p.detach().clone() for name, p in model.named_parameters()}

    with pytest.raises(TrainingError, match=r"not finite at step 5.* lower learning_rate or more"):
        step(5, [collate(pairs)])

    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.nan_to_num(), before[name].nan_to_num()), name
        assert parameter.grad is None
    assert not step.optimizer.state


@both_ways
def test_a_gradient_that_is_not_finite_changes_no_weight(
    model: Transformer, pairs: list[EncodedPair], reads_before_step: bool
) -> None:
    step = make_step(model, reads_before_step=reads_before_step)
    model.output_projection.weight.register_hook(lambda gradient: gradient * float("inf"))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}

    with pytest.raises(TrainingError, match="gradient is not finite at step 2"):
        step(2, [collate(pairs)])

    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]), name


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_without_waiting_a_loss_that_is_not_finite_leaves_adam_as_it_was(
    model: Transformer, pairs: list[EncodedPair], value: float
) -> None:
    step, batch = make_step(model, clip_norm=1.0, reads_before_step=False), collate(pairs)
    step(1, [batch])
    weight = model.decoder.layers[0].feed_forward.w_2.bias
    kept = float(weight.detach()[3])
    before = copy.deepcopy((model.state_dict(), step.optimizer.state_dict()["state"]))
    with torch.no_grad():
        weight[3] = value

    with pytest.raises(TrainingError, match="not finite at step 2"):
        step(2, [batch])

    with torch.no_grad():
        weight[3] = kept
    after = model.state_dict(), step.optimizer.state_dict()["state"]
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in model.parameters())
    # And the next update is made.
    step(3, [batch])
    assert not torch.equal(weight, before[0]["decoder.layers.0.feed_forward.w_2.bias"])


def test_without_waiting_updates_are_the_same(model: Transformer, pairs: list[EncodedPair]) -> None:
    models = [model, copy.deepcopy(model)]
    steps = [
        make_step(each, clip_norm=0.5, reads_before_step=reads_before_step)
        for each, reads_before_step in zip(models, (True, False), strict=True)
    ]

    results = [[step(n, [collate(pairs)]) for n in (1, 2, 3)] for step in steps]

    assert results[0] == results[1]
    torch.testing.assert_close(models[0].state_dict(), models[1].state_dict(), rtol=0, atol=0)


@both_ways
def test_no_number_is_read_before_all_parts_are_under_way(
    model: Transformer,
    pairs: list[EncodedPair],
    monkeypatch: pytest.MonkeyPatch,
    reads_before_step: bool,
) -> None:
    events: list[str] = []
    step = make_step(model, reads_before_step=reads_before_step)
    step.optimizer.register_step_pre_hook(lambda *_: events.append("update"))
    read = torch.Tensor.__float__

    def reading(tensor: torch.Tensor) -> float:
        events.append("read")
        return read(tensor)

    monkeypatch.setattr(torch.Tensor, "__float__", reading)
    step.objective.register_forward_hook(lambda *_: events.append("part"))

    step(1, [collate(pairs[:3]), collate(pairs[3:9]), collate(pairs[9:])])

    assert events[:3] == ["part"] * 3
    assert events[3:] == (
        ["read", "read", "update"] if reads_before_step else ["update", "read", "read"]
    )


def test_training_mode_is_switched_on(model: Transformer, pairs: list[EncodedPair]) -> None:
    model.eval()

    make_step(model)(1, [collate(pairs)])

    assert model.training


@pytest.mark.parametrize("parts", [2, 5])
def test_a_batch_cut_into_parts_is_the_same_update(
    model: Transformer, pairs: list[EncodedPair], parts: int
) -> None:
    model = without_dropout(model.double())
    whole, cut = make_step(model), make_step(copy.deepcopy(model))
    cut.parts = parts
    of_whole, of_cut = spy_on_gradients(whole), spy_on_gradients(cut)
    batches = [collate(pairs[:20]), collate(pairs[20:])]  # three rows: some parts have none

    one, other = whole(1, batches), cut(1, batches)

    assert one.target_tokens == other.target_tokens
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-10)
    for name in of_whole:
        torch.testing.assert_close(of_cut[name], of_whole[name], rtol=1e-9, atol=1e-12)


def test_dropout_depends_on_seed_and_step_alone(
    model: Transformer, pairs: list[EncodedPair]
) -> None:
    def loss(seed: int, step: int) -> float:
        update = make_step(copy.deepcopy(model))
        update.seed = seed
        return update(step, [collate(pairs)]).loss

    first = loss(1, 1)
    torch.manual_seed(9)  # whatever else has drawn numbers

    assert loss(1, 1) == first
    assert loss(1, 2) != first
    assert loss(2, 1) != first
