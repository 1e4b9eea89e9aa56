"""The two modes of a model: training, with dropout, and evaluation."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode within the block; afterwards restore the mode of each part.

    So a measurement between two updates does not end dropout. A mode belongs to the model and not
    to a thread: only one thread at a time may use a model in training.
    """
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training
