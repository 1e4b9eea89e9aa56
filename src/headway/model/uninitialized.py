"""Build a model without initializing its weights; the caller loads them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headway.config.model import ModelConfig
from headway.model.transformer import Transformer


def empty_model(config: ModelConfig, device: torch.device | str) -> Transformer:
    """Build a model with arbitrary weights, which saves the time of drawing them."""
    with _SkipInitialization(), torch.device(device):
        return Transformer.from_config(config)


class _SkipInitialization(TorchFunctionMode):
    """Leave the memory of weights as it was allocated, which costs nothing until it is written.

    The device "meta" would also skip this, but its operations import PyTorch's compiler: a second
    and 70 MB for every process that translates.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in DRAWS:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


DRAWS = {
    Tensor.normal_, Tensor.uniform_,
    nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_, nn.init.xavier_uniform_,
}  # fmt: skip
"""The functions that draw the weights of a new model."""
