"""Training in Keras is the paper's, and step for step ours."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from headway.bundle import Bundle, model_tensors
from headway.config.training import TrainingConfig
from headway.data.encoded import EncodedPair
from headway.errors import ConfigError
from headway.interop.keras import (
    BatchDataset,
    LabelSmoothedCrossEntropy,
    PaperSchedule,
    RecipeSchedule,
    compile_model,
    from_bundle,
)
from headway.interop.keras.backend import keras
from headway.training.loss import label_smoothed_cross_entropy
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule, paper_rate
from headway.training.stream import BatchStream
from headway.training.update import TrainingStep

MakeBundle = Callable[..., Bundle]


def make_pairs(count: int) -> list[EncodedPair]:
    rng = np.random.default_rng(3)
    return [
        EncodedPair(
            rng.integers(4, 23, rng.integers(1, 9)).tolist(),
            rng.integers(4, 23, rng.integers(1, 11)).tolist(),
            line + 1,
        )
        for line in range(count)
    ]


def test_the_loss_is_ours_for_each_real_piece() -> None:
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((3, 5, 7)).astype(np.float32)
    labels = rng.integers(0, 7, (3, 5)).astype(np.int32)
    labels[0, 2:], labels[2] = 4, 4  # padding, here piece 4

    loss = LabelSmoothedCrossEntropy(0.2, pad_id=4)(labels, logits)

    flat = torch.from_numpy(logits).flatten(0, 1)
    ours = label_smoothed_cross_entropy(flat, torch.from_numpy(labels).long().flatten(), 0.2, 4)
    assert float(loss) == pytest.approx(float(ours.loss) / (labels != 4).sum(), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "decay"),
    [("constant", 0), ("cosine", 0), ("inverse_sqrt", 0), ("linear", 0), ("inverse_sqrt", 7)],
)
def test_the_rate_of_a_recipe_is_ours(name: str, decay: int) -> None:
    theirs = RecipeSchedule(name, 0.003, 5, 20, decay)
    ours = Schedule(name, 0.003, 5, 20, decay or None)
    for step in range(1, 21):
        assert float(theirs(step - 1)) == pytest.approx(ours(step), rel=1e-5), step


def test_the_rate_of_the_paper() -> None:
    schedule = PaperSchedule(512)
    for step in (1, 100, 3999, 4000, 4001, 100_000):
        assert float(schedule(step - 1)) == pytest.approx(paper_rate(step, 512, 4000), rel=1e-5)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"There is no schedule 'cosin'.*cosine"):
        RecipeSchedule("cosin", 0.003, 5, 20)


def test_every_epoch_has_each_pair_once_and_in_the_order_of_our_trainer() -> None:
    pairs = make_pairs(40)
    stream = BatchStream(pairs, max_tokens=48, accumulate=1, seed=5)
    expected = [rows for epoch in range(3) for rows in stream.epoch(epoch)]
    dataset = BatchDataset(pairs, max_tokens=48, steps=len(expected), seed=5, multiple=4)

    assert len(dataset) == len(expected)
    shapes = set()
    for index, rows in enumerate(expected):
        (source, target), labels = dataset[index]
        shapes.add(source.shape)
        assert source.shape == target.shape == labels.shape
        assert source.shape[1] % 4 == 0
        for row, pair in enumerate(pairs[i] for i in rows):
            assert source[row].tolist() == fill([*pair.source_ids, 3], source.shape[1])
            assert target[row].tolist() == fill([2, *pair.target_ids], source.shape[1])
            assert labels[row].tolist() == fill([*pair.target_ids, 3], source.shape[1])
        assert not labels[len(rows) :].any()
    assert len(shapes) <= 4
    assert sorted(row for rows in stream.epoch(2) for row in rows) == list(range(40))


def test_without_a_number_of_steps_it_is_one_epoch() -> None:
    pairs = make_pairs(40)
    stream = BatchStream(pairs, max_tokens=48, accumulate=1, seed=1)
    assert len(BatchDataset(pairs, max_tokens=48)) == len(stream.epoch(0))


def fill(ids: list[int], width: int) -> list[int]:
    return ids + [0] * (width - len(ids))


def test_fit_takes_the_steps_that_our_trainer_takes(make_bundle: MakeBundle) -> None:
    # Without dropout both are deterministic, so weights stay together from step to step.
    training = TrainingConfig(
        schedule="cosine", learning_rate=0.01, warmup_steps=3, max_steps=12, weight_decay=0.1,
        clip_norm=0.5, batch_tokens=60,
    )  # fmt: skip
    bundle, pairs = make_bundle(dropout=0.0), make_pairs(40)
    model = from_bundle(bundle)
    compile_model(model, training, bundle.config)
    before = {name: tensor.clone() for name, tensor in model_tensors(bundle.model).items()}

    stream = BatchStream(pairs, max_tokens=60, accumulate=1, seed=training.seed)
    step = TrainingStep(
        Objective(bundle.model, 0.1, "float32"),
        build_optimizer(bundle.model, weight_decay=0.1),
        Schedule("cosine", 0.01, 3, 12),
        clip_norm=0.5,
    )
    ours = []
    for number, group in zip(range(1, 11), stream.groups(0, 0), strict=False):
        ours.append(step(number, group.batches).loss)
    theirs = []
    record = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: theirs.append(logs["loss"])
    )
    dataset = BatchDataset(pairs, max_tokens=60, steps=len(ours), seed=training.seed)
    model.fit(dataset, shuffle=False, verbose=0, callbacks=[record])

    # Keras reports the mean of the batches so far, each with the number of its rows as weight.
    rows = np.array([len(labels) for _, labels in dataset])
    means = np.cumsum(ours * rows) / np.cumsum(rows)
    np.testing.assert_allclose(theirs, means, rtol=2e-4)
    moved = max(float((t - before[n]).abs().max()) for n, t in model_tensors(bundle.model).items())
    assert moved > 0.01
    trained = from_bundle(bundle)
    for ours_now, theirs_now in zip(trained.weights, model.weights, strict=True):
        # A key's bias shifts all scores of a query alike: its gradient is rounding, which Adam
        # turns into full steps in any direction.
        if not ours_now.path.endswith("w_k/bias"):
            apart = abs(ours_now.numpy() - theirs_now.numpy()).max()
            assert apart < 0.02 * moved, ours_now.path


def test_fit_takes_batches_of_any_width_after_two_alike(make_bundle: MakeBundle) -> None:
    # TensorFlow looks at two batches and refuses others than what they have in common.
    pairs = [EncodedPair([5] * 3, [6] * 3, line) for line in range(1, 21)]
    pairs += [EncodedPair([5] * 9, [6] * 9, line) for line in range(21, 31)]
    for seed in range(100):
        dataset = BatchDataset(pairs, max_tokens=16, seed=seed, multiple=4)
        natural = [dataset._width(index) for index in range(len(dataset))]
        if natural[0] == natural[1] == 4 and 12 in natural:
            break
    assert [dataset[index][1].shape[1] for index in range(3)][:2] == [8, 4]
    assert dataset[0][1].shape == dataset[0][0][0].shape == dataset[0][0][1].shape

    model = from_bundle(make_bundle())
    compile_model(model, TrainingConfig(warmup_steps=2), make_bundle().config)
    history = model.fit(dataset, shuffle=False, verbose=0)

    assert np.isfinite(history.history["loss"]).all()


def test_what_fit_does_not_do_is_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    with pytest.raises(ConfigError, match="accumulate is 4"):
        compile_model(from_bundle(bundle), TrainingConfig(accumulate=4), bundle.config)
    with pytest.raises(ConfigError, match="no pairs"):
        BatchDataset([], max_tokens=9)


def test_a_row_of_padding_alone_leaves_the_weights_finite(make_bundle: MakeBundle) -> None:
    model = from_bundle(make_bundle(dropout=0.1))
    compile_model(model, TrainingConfig(warmup_steps=2), make_bundle().config)
    source = np.array([[5, 3, 0], [0, 0, 0]], dtype=np.int32)
    target = np.array([[2, 6, 7], [0, 0, 0]], dtype=np.int32)
    labels = np.array([[6, 7, 3], [0, 0, 0]], dtype=np.int32)

    for _ in range(2):
        model.train_on_batch((source, target), labels)

    assert all(np.isfinite(weight).all() for weight in model.get_weights())
