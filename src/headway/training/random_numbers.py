"""The random numbers of a training, which no other thread changes.

Generators are seeded for each step, from seed, step and part. Headway's own layers on a CPU draw
from a generator of the training. On a GPU, under torch.compile and in a user's own parts (change=,
hooks) PyTorch draws from its default generators, which all threads of a process share. Those are
seeded too, and a second training at the same time is refused.
"""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from headway.errors import RunError
from headway.model.customized import changed_parts, hooked_parts
from headway.model.uninitialized import DRAWS
from headway.runtime.processes import after_fork
from headway.training.accelerated.dropout import drawing_from

_running: list[bool] = []
"""The trainings of this process; True for those that draw from the default generators."""
_counting = threading.Lock()

after_fork(_running.clear)  # a child process has no other threads


class RandomNumbers:
    """Give each part of each step its random numbers."""

    def __init__(self, model: nn.Module, device: torch.device, *, compiled: bool) -> None:
        """Examine the model once; `shared` is True if it draws from the default generators."""
        changed = bool(changed_parts(model) or hooked_parts(model))
        self.device = device
        self.shared = compiled or changed or device.type != "cpu"
        self._generator = torch.Generator()

    @contextmanager
    def of(self, *numbers: int) -> Iterator[None]:
        """Draw the numbers of this seed, step and part inside the block."""
        if self.shared:
            seed_random(self.device, *numbers)
            yield
            return
        self._generator.manual_seed(_seed_of(numbers))
        with drawing_from(self._generator):
            yield


@contextmanager
def fresh_weights(*numbers: int) -> Iterator[None]:
    """Draw the weights of a new model from a separate generator, seeded by these numbers."""
    with _Drawing(torch.Generator().manual_seed(_seed_of(numbers))):
        yield


class _Drawing(TorchFunctionMode):
    """Pass a generator to the functions that draw weights in this thread."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in DRAWS:
            kwargs["generator"] = self.generator
        return func(*args, **kwargs)


@contextmanager
def training_here(*, shared: bool) -> Iterator[None]:
    """Register one training of this process; RunError if it would share generators with another."""
    with _counting:
        if _running and (shared or any(_running)):
            raise RunError(
                "Another training runs in this process, and the two would draw from the same "
                "random generators: a GPU, training.compile and change= use those of PyTorch.",
                "Wait until it ends, or train in another process.",
            )
        _running.append(shared)
    try:
        yield
    finally:
        with _counting:
            _running.remove(shared)


def seed_random(device: torch.device, *numbers: int) -> None:
    """Seed every generator that a layer may draw from."""
    seed = _seed_of(numbers)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed takes 0.2 ms
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
    if device.type == "mps":
        torch.mps.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def _seed_of(numbers: Sequence[int]) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
