"""The two modes of a model: training, with dropout, and evaluation."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Have a model in eval mode within the block; then each of its parts is in its own mode again.

    A question that is asked of a model between two updates must not end its dropout. Modes are of
    the model and not of a thread: a model in training is for one thread at a time.
    """
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training
