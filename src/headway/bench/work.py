"""One training step of ours, and large matrix products, which measure the machine itself.

All contestants train a model of the same size on the same kind of batch: random pieces, no padding,
dropout 0.1, label smoothing 0.1, Adam, one table of embeddings.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from headway.config.model import Architecture
from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.model.accounting import multiply_adds
from headway.model.transformer import Transformer
from headway.runtime.memory import prepare_process
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.update import TrainingStep

VOCABULARY = 8000
RATE = 1e-4
_PRODUCTS = 10

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a model, in the order of Table 3."""

    num_layers: int
    d_model: int
    d_ff: int
    num_heads: int


SIZES = {
    "tiny": Size(4, 128, 256, 4),
    "base": Size(6, 512, 2048, 8),
    "big": Size(6, 1024, 4096, 16),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A model of this size to train on a batch of random pieces, and the device."""

    size: str
    device: str
    sentences: int
    length: int
    """Length of both sides, in pieces."""

    @property
    def target_tokens(self) -> int:
        """Return the target pieces of a step."""
        return self.sentences * self.length


def default_task(size: str, device: str) -> Task:
    """Return a batch that keeps the device busy: about 25,000 pieces on a GPU, as section 5.1."""
    return Task(size, device, 128, 16) if device == "cpu" else Task(size, device, 800, 32)


def our_step(threads: int | None, task: Task, precision: str, compiled: bool = False) -> Work:
    """Prepare one step of our trainer, with or without torch.compile."""
    set_threads(threads)
    prepare_process()  # as `headway train` does
    model = our_model(task.size).to(task.device)
    objective = Objective(model, 0.1, precision)
    if compiled:
        objective.compile_layers()
    schedule = Schedule("constant", RATE, 1, 1)
    step = TrainingStep(objective, build_optimizer(model), schedule, clip_norm=None)
    batch = our_batch(task)
    return finished(task.device, lambda: step(1, [batch]))


def finished(device: str, work: Work) -> Work:
    """Return work that ends when the device has finished it."""
    return work if device == "cpu" else _OnDevice(torch.device(device), work)


class _OnDevice:
    """Work on a device other than the CPU."""

    def __init__(self, device: torch.device, work: Work) -> None:
        self.device = device
        self.work = work

    def __call__(self) -> None:
        self.work()
        torch.accelerator.synchronize(self.device)

    def rest(self) -> None:
        """Release the memory that PyTorch keeps for the next time."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def our_model(size: str) -> Transformer:
    """Return our model of this size, freshly initialized."""
    return Transformer.from_config(_architecture(size).with_vocabulary(VOCABULARY))


def our_batch(task: Task) -> Batch:
    """Return a batch of random pieces without padding."""
    shape = 2, task.sentences, task.length - 1  # and the end symbol
    sources, targets = torch.randint(4, VOCABULARY, shape).tolist()
    lines = range(1, task.sentences + 1)
    return collate([EncodedPair(*pair) for pair in zip(sources, targets, lines, strict=True)])


def matrix_product(threads: int | None, task: Task, precision: str) -> Work:
    """Prepare large matrix products, which every processor computes at its full rate.

    There are several, because a single product after a pause is a third slower.
    """
    set_threads(threads)
    dtype, width = getattr(torch, precision), _width(task)
    a, b = (torch.randn(width, width, device=task.device).to(dtype) for _ in range(2))
    product = torch.empty_like(a)

    def multiply() -> None:
        for _ in range(_PRODUCTS):
            torch.mm(a, b, out=product)

    return finished(task.device, multiply)


def _width(task: Task) -> int:
    """Return the width at which a product reaches the full rate."""
    return 2048 if task.device == "cpu" else 8192


def product_operations(task: Task) -> int:
    """Count the operations of these products."""
    return _PRODUCTS * 2 * _width(task) ** 3


def training_operations(task: Task) -> int:
    """Count the operations of the matrix products of one step: forward, and twice that backward."""
    config = _architecture(task.size).with_vocabulary(VOCABULARY)
    return 3 * 2 * task.sentences * multiply_adds(config, task.length, task.length).total


def _architecture(size: str) -> Architecture:
    sizes = dataclasses.asdict(SIZES[size])
    layers = sizes.pop("num_layers")
    return Architecture.parse(
        sizes | {"num_encoder_layers": layers, "num_decoder_layers": layers, "dropout": 0.1}
    )


def set_threads(threads: int | None) -> None:
    """Use this number of threads, or the default of PyTorch."""
    if threads is not None:
        torch.set_num_threads(threads)
