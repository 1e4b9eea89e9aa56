"""The loss is the one of section 5.4."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headway.errors import ConfigError
from headway.training.loss import label_smoothed_cross_entropy

ROWS, WIDTH, PIECES = 11, 5, 7


def by_definition(logits: Tensor, labels: Tensor, smoothing: float, pad_id: int) -> float:
    """Sum cross-entropy with (1 - eps) truth + eps uniform over the pieces but padding."""
    total = 0.0
    for row, label in zip(logits.numpy(), labels.tolist(), strict=True):
        if label == pad_id:
            continue
        probabilities = np.exp(row - row.max())
        probabilities /= probabilities.sum()
        wanted = np.full(len(row), smoothing / (len(row) - 1))
        wanted[pad_id] = 0.0
        wanted[label] += 1 - smoothing
        total -= float((wanted * np.log(probabilities)).sum())
    return total


def example(seed: int = 0, pad_id: int = 0) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, PIECES, (ROWS,), generator=rng)
    labels[0], labels[-1] = pad_id, (pad_id + 1) % PIECES
    return {
        "hidden": torch.randn(ROWS, WIDTH, generator=rng, dtype=torch.float64),
        "weight": torch.randn(PIECES, WIDTH, generator=rng, dtype=torch.float64),
        "bias": torch.randn(PIECES, generator=rng, dtype=torch.float64),
        "labels": labels,
    }


def test_a_loss_worked_by_hand() -> None:
    # Two pieces beside padding, probabilities 1/4, 1/2, 1/4; the truth is piece 1, eps 0.2:
    # wanted 0, 0.8 + 0.1, 0.1, so the loss is 0.9 ln 2 + 0.1 ln 4 = 1.1 ln 2.
    logits = torch.tensor([[0.25, 0.5, 0.25], [0.1, 0.2, 0.7]], dtype=torch.float64).log()

    sums = label_smoothed_cross_entropy(logits, torch.tensor([1, 0]), smoothing=0.2, pad_id=0)

    assert float(sums.loss) == pytest.approx(1.1 * np.log(2), abs=1e-15)
    assert float(sums.nll) == pytest.approx(np.log(2), abs=1e-15)


@given(
    seed=st.integers(0, 10_000),
    smoothing=st.floats(0, 0.9),
    pad_id=st.integers(0, PIECES - 1),
)
def test_the_loss_is_the_definition(seed: int, smoothing: float, pad_id: int) -> None:
    values = example(seed, pad_id)
    logits = values["hidden"] @ values["weight"].T

    sums = label_smoothed_cross_entropy(logits, values["labels"], smoothing, pad_id)

    expected = by_definition(logits, values["labels"], smoothing, pad_id)
    assert float(sums.loss) == pytest.approx(expected, rel=1e-12)
    nll = by_definition(logits, values["labels"], 0.0, pad_id)
    assert float(sums.nll) == pytest.approx(nll, rel=1e-12)


def test_without_smoothing_it_is_cross_entropy() -> None:
    values = example()
    logits = values["hidden"] @ values["weight"].T

    sums = label_smoothed_cross_entropy(logits, values["labels"], smoothing=0.0, pad_id=0)

    expected = F.cross_entropy(logits, values["labels"], ignore_index=0, reduction="sum")
    torch.testing.assert_close(sums.loss, expected, rtol=1e-13, atol=0)
    assert torch.equal(sums.loss, sums.nll)


def test_the_best_distribution_gives_padding_no_mass() -> None:
    # At the minimum the prediction is the smoothed target itself, so the gradient there is 0.
    wanted = torch.tensor([[0.0, 0.05, 0.85, 0.05, 0.05]], dtype=torch.float64)
    logits = wanted.clamp_min(1e-300).log().requires_grad_()

    label_smoothed_cross_entropy(logits, torch.tensor([2]), smoothing=0.2, pad_id=0).loss.backward()

    assert logits.grad is not None
    assert logits.grad.abs().max() < 1e-15


def test_padding_rows_count_for_nothing() -> None:
    values = example()
    logits = (values["hidden"] @ values["weight"].T).requires_grad_()
    real = values["labels"] != 0

    sums = label_smoothed_cross_entropy(logits, values["labels"], 0.1, 0)
    sums.loss.backward()

    alone = label_smoothed_cross_entropy(logits[real], values["labels"][real], 0.1, 0)
    torch.testing.assert_close(sums.loss, alone.loss, rtol=1e-15, atol=0)
    assert logits.grad is not None
    assert not logits.grad[~real].any()


def test_sums_of_many_float32_losses_keep_their_digits() -> None:
    logits = torch.zeros(200_000, 3)
    labels = torch.ones(200_000, dtype=torch.int64)

    sums = label_smoothed_cross_entropy(logits, labels, 0.0, 0)

    one = float(-logits[:1].log_softmax(-1)[0, 1])  # ln 3, as float32 has it
    assert float(sums.nll) == pytest.approx(200_000 * one, rel=1e-12)


def test_logits_of_a_whole_batch_are_told_to_be_flattened() -> None:
    logits, labels = torch.randn(2, 5, 7), torch.ones(2, 5, dtype=torch.long)
    with pytest.raises(ConfigError, match=r"^The logits have shape \(2, 5, 7\), .* labels\.fl"):
        label_smoothed_cross_entropy(logits, labels)
    flat = label_smoothed_cross_entropy(logits.flatten(0, -2), labels.flatten())
    assert flat.loss > 0
