"""A batch in parts is the same update, and what does not fit is taken apart until it does."""

import copy
from collections.abc import Callable

import pytest
import torch

from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.errors import NotFiniteError, TrainingError
from headway.model.transformer import Transformer
from headway.runtime.memory import is_out_of_memory
from headway.training import objective as objective_module
from headway.training.distributed import World
from headway.training.loss import LossSums
from headway.training.micro_batches import update_within_memory
from headway.training.objective import Objective, batch_loss
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.update import StepResult, TrainingStep

MESSAGE = "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 8 bytes"


def make_step(model: Transformer) -> TrainingStep:
    return TrainingStep(
        Objective(model, 0.1, "float32"),
        build_optimizer(model),
        Schedule("constant", 0.01, 1, 9),
        clip_norm=None,
    )


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Return a function that lets no larger batch than so many pairs fit; it lists the sizes."""

    def limit(rows: int) -> list[int]:
        tried: list[int] = []

        def limited(model: Transformer, batch: Batch, smoothing: float, precision: str) -> LossSums:
            tried.append(len(batch))
            if len(batch) > rows:
                torch.rand(5)  # dropout has begun to draw
                raise RuntimeError(MESSAGE)
            return batch_loss(model, batch, smoothing, precision)

        monkeypatch.setattr(objective_module, "batch_loss", limited)
        return tried

    return limit


def without_dropout(model: Transformer) -> Transformer:
    for part in model.modules():
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return model


def test_a_batch_in_parts_is_the_same_update(
    model: Transformer, pairs: list[EncodedPair], memory: Callable[[int], list[int]]
) -> None:
    model = without_dropout(model.double())
    other = copy.deepcopy(model)
    batches = [collate(pairs[:4]), collate(pairs[4:])]  # the first fits, so its gradient is there
    whole = make_step(model)(1, batches)

    tried, step = memory(5), make_step(other)
    in_parts = update_within_memory(step, 1, batches)

    assert step.parts == 4
    assert tried == [4, 19, 2, 2, 10, 1, 1, 1, 1, 5, 5, 5, 4]
    assert in_parts.target_tokens == whole.target_tokens
    assert in_parts.loss == pytest.approx(whole.loss, rel=1e-12)
    assert in_parts.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-10)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-9)


def test_the_next_update_begins_with_the_parts_that_fitted(
    model: Transformer, pairs: list[EncodedPair], memory: Callable[[int], list[int]]
) -> None:
    step = make_step(model)
    memory(6)
    update_within_memory(step, 1, [collate(pairs)])
    tried = memory(6)

    update_within_memory(step, 2, [collate(pairs)])

    assert tried == [6, 6, 6, 5]
    assert step.parts == 4


def test_dropout_is_drawn_as_if_the_parts_had_been_known(
    model: Transformer, pairs: list[EncodedPair], memory: Callable[[int], list[int]]
) -> None:
    other = copy.deepcopy(model)
    memory(12)
    update_within_memory(make_step(model), 1, [collate(pairs)])

    known = make_step(other)
    known.parts = 2
    known(1, [collate(pairs)])

    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_one_pair_that_does_not_fit_is_an_error_that_changes_nothing(
    model: Transformer, pairs: list[EncodedPair], memory: Callable[[int], list[int]]
) -> None:
    tried = memory(0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}

    with pytest.raises(TrainingError, match=r"a single pair of up to 6 source .*max_pieces"):
        update_within_memory(make_step(model), 1, [collate(pairs[:5])])

    assert tried == [5, 3, 2, 1]
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.grad is None


def test_memory_that_the_optimizer_lacks_is_no_reason_for_parts(
    model: Transformer, pairs: list[EncodedPair]
) -> None:
    step = make_step(model)

    def fail(*_: object) -> None:
        raise RuntimeError(MESSAGE)

    step.optimizer.register_step_pre_hook(fail)  # the last thing before weights change

    with pytest.raises(TrainingError, match="not enough memory for the optimizer at step 3"):
        update_within_memory(step, 3, [collate(pairs)])

    assert step.parts == 1


def test_one_of_several_processes_cannot_begin_again_alone(
    model: Transformer, pairs: list[EncodedPair], memory: Callable[[int], list[int]]
) -> None:
    memory(5)
    step = make_step(model)
    step.world, step.parts = World(rank=1, size=3), 3

    with pytest.raises(TrainingError, match=r"process 1, .* in 3 parts.*training\.parts=6"):
        update_within_memory(step, 1, [collate(pairs)])


@pytest.mark.parametrize("error", [RuntimeError("shape"), NotFiniteError("nan"), KeyError("x")])
def test_other_errors_pass(
    model: Transformer, pairs: list[EncodedPair], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> StepResult:
        raise error

    monkeypatch.setattr(objective_module, "batch_loss", fail)

    with pytest.raises(type(error)) as caught:
        update_within_memory(make_step(model), 1, [collate(pairs)])

    assert caught.value is error


def test_what_torch_itself_says_is_recognized() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**55)

    assert is_out_of_memory(caught.value)
    assert is_out_of_memory(MemoryError("of loops"))
    assert not is_out_of_memory(ValueError("memory"))
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert not is_out_of_memory(RuntimeError("expected scalar type Float"))
    assert not is_out_of_memory(ValueError(MESSAGE))
