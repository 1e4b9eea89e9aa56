"""Recorded passes are the passes that were recorded; here what they record is run again."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from headway.bundle import Bundle
from headway.data.batching import Batch, collate, round_up
from headway.data.encoded import EncodedPair
from headway.model.transformer import Transformer
from headway.training import cuda_graphs
from headway.training.cuda_graphs import Limits, RecordedPasses, Shape
from headway.training.micro_batches import update_within_memory
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.update import TrainingStep

CPU = torch.device("cpu")


class Again:
    """Records by keeping the function; running it again writes to where its first result is."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        self.recorded += 1
        loss = torch.empty((), dtype=torch.float64)

        def replay() -> None:
            self.replayed += 1
            loss.copy_(run())

        return replay, loss


def make_step(
    model: Transformer, record: Again | None, limits: Limits | None = None, parts: int = 1
) -> TrainingStep:
    step = TrainingStep(
        Objective(model, 0.1, "float32"),
        build_optimizer(model),
        Schedule("constant", 0.01, 1, 9),
        clip_norm=0.5,
        seed=3,
        parts=parts,
    )
    if record is not None:
        step.recorded = RecordedPasses(step._forward_backward, CPU, limits, record)
    return step


@pytest.fixture
def pairs(pairs: list[EncodedPair]) -> list[EncodedPair]:
    """Return pairs that are twice as long, for which lengths are rounded."""
    return [EncodedPair([*p.source_ids, 5, *p.source_ids], p.target_ids * 2, 1) for p in pairs]


@pytest.fixture
def batches(pairs: list[EncodedPair]) -> list[Batch]:
    """Return batches of three shapes, which come again with other text."""
    cuts = [pairs[:4], pairs[4:8], pairs[8:15], pairs[4:8], pairs[:4], pairs[8:15], pairs[15:22]]
    return [collate(cut) for cut in cuts]


def without_dropout(model: Transformer) -> Transformer:
    for part in model.modules():
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return model


def test_updates_are_those_without_recordings(model: Transformer, batches: list[Batch]) -> None:
    without_dropout(model)
    other, record = copy.deepcopy(model), Again()
    recorded, plain = make_step(model, record), make_step(other, None)

    for number, batch in enumerate([*batches, *batches], start=1):
        found, expected = recorded(number, [batch]), plain(number, [batch])
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)

    assert record.recorded >= 2
    assert record.replayed >= 8
    for (name, weight), exact in zip(model.named_parameters(), other.parameters(), strict=True):
        if name.endswith("w_k.bias"):
            continue  # softmax has no use for it: its gradient is rounding, which Adam makes large
        torch.testing.assert_close(weight, exact, rtol=1e-4, atol=1e-6, msg=name)


def test_rows_and_columns_of_padding_change_nothing(
    model: Transformer, batches: list[Batch]
) -> None:
    without_dropout(model)
    other, record = copy.deepcopy(model), Again()
    # Sentences are not as long as that, and batches not so full.
    recorded, plain = make_step(model, record, Limits(160, 99)), make_step(other, None)
    shapes: list[torch.Size] = []
    recorded.objective.register_forward_pre_hook(
        lambda _, given: shapes.append(given[0].source_ids.shape)
    )

    for number, batch in enumerate([*batches, *batches], start=1):
        found, expected = recorded(number, [batch]), plain(number, [batch])
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        assert found.target_tokens == expected.target_tokens

    assert record.replayed > 8
    assert any(
        shape[0] > len(batch) for shape, batch in zip(shapes, [*batches, *batches], strict=True)
    )


def test_several_batches_and_their_parts_add_up(model: Transformer, batches: list[Batch]) -> None:
    without_dropout(model)
    other, record = copy.deepcopy(model), Again()
    recorded = make_step(model, record, Limits(40, 99), parts=2)
    plain = make_step(other, None, parts=2)

    for number in range(1, 5):
        found, expected = recorded(number, batches[:3]), plain(number, batches[:3])
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)
    assert record.replayed > 6


def test_gradients_stay_in_their_place(model: Transformer, batches: list[Batch]) -> None:
    step = make_step(model, Again())
    step(1, [batches[0]])
    places = [parameter.grad for parameter in model.parameters()]
    assert all(grad is not None and not grad.any() for grad in places)

    step(2, [batches[2]])
    step(3, [batches[0]])

    for parameter, place in zip(model.parameters(), places, strict=True):
        assert parameter.grad is place


def test_dropout_of_a_recorded_pass_hangs_on_the_step(
    model: Transformer, batches: list[Batch]
) -> None:
    states = copy.deepcopy(model.state_dict())

    def loss(step: TrainingStep, number: int) -> float:
        model.load_state_dict(states)
        return step(number, [batches[0]]).loss

    step = make_step(model, Again())
    first, second, again = loss(step, 1), loss(step, 2), loss(step, 1)
    assert first == again
    assert first != second


def test_the_loss_of_an_earlier_pass_stays(batches: list[Batch]) -> None:
    passes = RecordedPasses(
        lambda batch, scale: batch.label_ids.double().sum(), CPU, record=Again()
    )
    given = batches[0]
    other = Batch(given.source_ids, given.target_ids, 2 * given.label_ids, 9, given.indices)
    found = [passes(batch, 1.0) for batch in (given, given, other)]
    total = float(given.label_ids.sum())
    assert list(map(float, found)) == [total, total, 2 * total]


def shape_of(rows: int, source: int, target: int, limits: Limits | None, parts: int) -> Shape:
    ids = torch.ones(rows, source, dtype=torch.long)
    labels = torch.ones(rows, target, dtype=torch.long)
    batch = Batch(ids, labels, labels, rows * target, tuple(range(rows)))
    passes = RecordedPasses(lambda *_: torch.zeros(()), CPU, limits, Again())
    return passes._shape(batch, parts)


@pytest.mark.parametrize(
    ("given", "parts", "expected"),
    [
        ((800, 32, 28), 1, (800, 32, 28)),  # as full as can be
        ((801, 32, 28), 1, (801, 32, 28)),  # fuller: as it is
        ((600, 33, 31), 1, (640, 40, 32)),  # 25,600 // 40
        ((10, 32, 31), 1, (100, 32, 32)),  # an eighth
        ((101, 32, 31), 1, (200, 32, 32)),
        ((101, 32, 31), 2, (150, 32, 32)),
        ((400, 17, 31), 2, (400, 20, 32)),
        ((400, 50, 49), 1, (407, 55, 55)),  # no sentence is longer
    ],
)
def test_shapes_are_few(
    given: tuple[int, int, int], parts: int, expected: tuple[int, int, int]
) -> None:
    assert shape_of(*given, Limits(25_600, 55), parts) == expected


def test_without_limits_lengths_are_rounded() -> None:
    assert shape_of(101, 50, 31, None, 2) == (101, 56, 32)


def test_padding_keeps_to_the_positions_that_there_are(bundle: Bundle) -> None:
    longest, record = 11, Again()
    assert round_up(longest) > longest
    table = {"positions": "learned", "max_positions": longest}
    model = Transformer.from_config(bundle.config.replace(table))
    step = make_step(model, record, Limits(99, longest))
    for number in range(1, 4):
        step(number, [collate([EncodedPair([5] * (longest - 1), [6] * 4, 1)])])
    assert record.replayed


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch, batches: list[Batch]) -> None:
    monkeypatch.setattr(cuda_graphs, "_MOST", 2)
    record, rows = Again(), []

    def run(batch: Batch, scale: object) -> Tensor:
        rows.append(tuple(batch.source_ids.shape))
        return torch.zeros(())

    passes = RecordedPasses(run, CPU, record=record)
    a, b, c = (batches[0].padded(9, width, 13) for width in (13, 15, 17))
    for batch in (a, b, c, a, b):  # each seen, then two of them recorded
        passes(batch, 1.0)
    assert record.recorded == 2
    assert passes.preparations == 5

    for _ in range(3):
        passes(c, 1.0)
    assert rows[-3:] == [(9, 17)] * 3  # as it is, without more padding
    passes(a, 1.0)
    assert rows[-1] == (9, 14)
    assert (record.recorded, record.replayed) == (2, 3)
    assert passes.preparations == 5


class Full(Again):
    """Has memory for so many recordings."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __call__(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        if self.recorded == self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return super().__call__(run)


def test_where_memory_is_short_recordings_make_room_for_passes(
    model: Transformer, batches: list[Batch]
) -> None:
    without_dropout(model)
    other = copy.deepcopy(model)
    step, plain = make_step(model, Again()), make_step(other, None)
    recorded = step.recorded
    assert recorded is not None
    run = recorded.run

    def limited(batch: Batch, scale: Tensor | float) -> Tensor:
        loss = run(batch, scale)
        if recorded._recordings and isinstance(scale, float):
            raise torch.OutOfMemoryError("CUDA out of memory.")  # and half a sum of gradients
        return loss

    recorded.run = limited
    for number, batch in enumerate([*batches, *batches], start=1):
        found = update_within_memory(step, number, [batch])
        expected = plain(number, [batch])
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)

    assert recorded.stopped_by == "there is not enough memory"
    assert step.parts == 1


def test_only_an_unrecorded_step_that_reads_later_could_record(model: Transformer) -> None:
    recorded, plain, early = (make_step(model, r) for r in (Again(), None, None))
    recorded.reads_before_step = plain.reads_before_step = False

    assert [step.could_record() for step in (recorded, plain, early)] == [False, True, False]


@pytest.mark.parametrize("most", [0, 1])
def test_what_does_not_fit_as_a_recording_is_no_reason_to_divide_batches(
    model: Transformer, batches: list[Batch], most: int
) -> None:
    without_dropout(model)
    other = copy.deepcopy(model)
    step, plain = make_step(model, Full(most)), make_step(other, None)
    assert step.recorded is not None

    for number, batch in enumerate([*batches, *batches], start=1):
        loss = update_within_memory(step, number, [batch]).loss
        assert loss == pytest.approx(plain(number, [batch]).loss, rel=1e-6)

    assert step.recorded.stopped_by == "there is not enough memory"
    assert step.parts == 1
    assert not step.recorded._recordings
    assert step.preparations() == 0  # none any more


class Refused(Again):
    """Meets a part that waits for the GPU."""

    def __call__(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        raise RuntimeError("operation not permitted when stream is capturing\nMore about it")


def test_what_cannot_be_recorded_is_computed_as_it_is(
    model: Transformer, batches: list[Batch]
) -> None:
    without_dropout(model)
    other = copy.deepcopy(model)
    step, plain = make_step(model, Refused()), make_step(other, None)
    assert step.recorded is not None

    for number, batch in enumerate([*batches, *batches], start=1):
        assert step(number, [batch]).loss == pytest.approx(plain(number, [batch]).loss, rel=1e-6)

    assert step.recorded.stopped_by == ("operation not permitted when stream is capturing")
