"""The loss (section 5.4): cross-entropy with label smoothing, summed over real target pieces.

The updates of a run compute the same without holding all logits (`accelerated/cross_entropy.py`).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.errors import ConfigError


class LossSums(NamedTuple):
    """Sums over the real pieces of a batch; divide by their number for a mean."""

    loss: Float[Tensor, ""]
    """Smoothed cross-entropy, which training minimizes."""
    nll: Float[Tensor, ""]
    """Plain negative log-likelihood, whose mean's exponential is the perplexity."""


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "N V"],
    labels: Int[Tensor, " N"],
    smoothing: float = 0.1,
    pad_id: int = 0,
) -> LossSums:
    """Compare the predicted distribution with (1 - eps) truth + eps uniform.

    Uniform means over the V - 1 pieces that are not padding, so padding gets no mass; labels that
    are padding count for nothing. pad_id: 0 to V - 1.

    Elsewhere: cal_loss, LabelSmoothing, LabelSmoothingLoss, loss_function, masked_loss,
    MaskedSoftmaxCELoss.
    """
    check_padding(pad_id, logits.size(-1))
    if logits.dim() != 2:
        raise ConfigError(
            f"The logits have shape {tuple(logits.shape)}, but must have two axes, (N, V).",
            "Join the others: logits.flatten(0, -2), labels.flatten().",
        )
    check_rows(len(logits), labels)
    log_probs = logits.log_softmax(dim=-1)  # (N, V)
    real = labels != pad_id
    nll = -log_probs.gather(1, labels[:, None])[:, 0]
    uniform = -(log_probs.sum(-1) - log_probs[:, pad_id]) / (log_probs.size(-1) - 1)
    loss = (1 - smoothing) * nll + smoothing * uniform
    wide = sum_dtype(log_probs)
    return LossSums((loss * real).sum(dtype=wide), (nll * real).sum(dtype=wide))


def check_padding(pad_id: int, vocabulary: int) -> None:
    """Refuse a padding id outside the vocabulary."""
    if not 0 <= pad_id < vocabulary:
        raise ConfigError(
            f"pad_id is {pad_id}, but must be a token of the vocabulary, 0 to {vocabulary - 1}.",
            "Label padding with the id of its token, which is 0 in Headway's tokenizers.",
        )


def check_rows(rows: int, labels: Tensor) -> None:
    """Refuse labels unless there is one for each row."""
    if labels.shape != (rows,):
        raise ConfigError(
            f"There are {rows} rows, but labels of shape {tuple(labels.shape)}.",
            f"Give one label for each row, in one axis: ({rows},).",
        )


def sum_dtype(like: Tensor) -> torch.dtype:
    """Return float64, because sums of thousands lose digits; float32 on Apple's GPUs."""
    return torch.float32 if like.device.type == "mps" else torch.float64
