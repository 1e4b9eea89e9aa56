"""One training step of the same work, ours and, for the machine itself, large matrix products.

Everybody trains a model of the same size on the same kind of batch: random pieces, no padding,
dropout 0.1, label smoothing 0.1, Adam, one table of embeddings.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from headway.config.model import Architecture
from headway.data.batching import Batch, collate
from headway.data.cleaning import EncodedPair
from headway.model.accounting import multiply_adds
from headway.model.transformer import Transformer
from headway.training.memory import prepare_process
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.step import TrainingStep

VOCABULARY, SENTENCES, LENGTH = 8000, 128, 16
RATE = 1e-4
_LARGE, _PRODUCTS = 2048, 10

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a model, in the order of Table 3."""

    num_layers: int
    d_model: int
    d_ff: int
    num_heads: int


SIZES = {"tiny": Size(4, 128, 256, 4), "base": Size(6, 512, 2048, 8)}


def our_step(threads: int | None, size: str, precision: str) -> Work:
    """Prepare one step of our trainer."""
    set_threads(threads)
    prepare_process()  # as `headway train` does
    model = our_model(size)
    step = TrainingStep(
        model,
        build_optimizer(model),
        Schedule("constant", RATE, 1, 1),
        label_smoothing=0.1,
        clip_norm=None,
        precision=precision,
    )
    batch = our_batch()
    return lambda: step(1, [batch])


def our_model(size: str) -> Transformer:
    """Return our model of this size, freshly initialized."""
    return Transformer.from_config(_architecture(size).with_vocabulary(VOCABULARY))


def our_batch() -> Batch:
    """Return a batch of random pieces without padding, LENGTH long on both sides."""
    sources, targets = torch.randint(4, VOCABULARY, (2, SENTENCES, LENGTH - 1)).tolist()
    lines = range(1, SENTENCES + 1)
    return collate([EncodedPair(*pair) for pair in zip(sources, targets, lines, strict=True)])


def matrix_product(threads: int | None, precision: str) -> Work:
    """Prepare large matrix products, which every processor is good at.

    Several: a single one after a while of nothing is a third slower.
    """
    set_threads(threads)
    dtype = getattr(torch, precision)
    a, b = (torch.randn(_LARGE, _LARGE).to(dtype) for _ in range(2))
    product = torch.empty_like(a)

    def multiply() -> None:
        for _ in range(_PRODUCTS):
            torch.mm(a, b, out=product)

    return multiply


def product_operations() -> int:
    """Count the operations of these products."""
    return _PRODUCTS * 2 * _LARGE**3


def training_operations(size: str) -> int:
    """Count the operations of the matrix products of one step: the backward pass has twice more."""
    config = _architecture(size).with_vocabulary(VOCABULARY)
    return 3 * 2 * SENTENCES * multiply_adds(config, LENGTH, LENGTH).total


def _architecture(size: str) -> Architecture:
    sizes = dataclasses.asdict(SIZES[size])
    layers = sizes.pop("num_layers")
    return Architecture.parse(
        sizes | {"num_encoder_layers": layers, "num_decoder_layers": layers, "dropout": 0.1}
    )


def set_threads(threads: int | None) -> None:
    """Use so many threads, or PyTorch's own number."""
    if threads is not None:
        torch.set_num_threads(threads)
