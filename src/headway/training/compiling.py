"""Layers, and on a GPU the loss, compiled by torch.compile, for training alone.

Layer by layer, because all layers of a stack share what is compiled for the first of them, and
because gradients can be exchanged while those of earlier layers are computed. Validation, traces
and translation call the layers as they are: other code would be compiled for each.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import losses_and_gradient


def require_compiler(device: torch.device, backend: str = "inductor") -> None:
    """Compile a sum, to notice a compiler that is missing before anything is prepared.

    Raises ConfigError where nothing can be compiled for the device.
    """
    try:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2, device=device))
    except Exception as error:  # Dynamo's, Inductor's, Triton's, or of whom they call
        cause = getattr(error, "inner_exception", error)  # what Dynamo's own are raised for
        reason = " ".join(str(cause).split("\n\n")[0].split()) or type(cause).__name__
        raise ConfigError(
            f"torch.compile does not work on {device.type} here ({reason}).",
            "Install a C++ compiler (and Triton for a GPU), or leave training.compile out.",
        ) from error


class CompiledLayers:
    """What is compiled of a training: the forward pass of each layer; on a GPU `losses`, too."""

    def __init__(self, model: Transformer, backend: str = "inductor") -> None:
        """Prepare; a layer is compiled when it is called first, for batches of all sizes.

        Raises ConfigError where nothing can be compiled for the model's device.
        """
        device = next(model.parameters()).device
        require_compiler(device, backend)
        # On a CPU loops compute it, or it is as fast as it is.
        self.losses = losses_and_gradient
        if device.type != "cpu":
            self.losses = torch.compile(losses_and_gradient, dynamic=True, backend=backend)
        self._forwards = [
            (layer, torch.compile(layer.forward, dynamic=True, backend=backend))
            for layer in (*model.encoder.layers, *model.decoder.layers)
        ]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the model call what is compiled."""
        from torch.compiler import config as settings
        from torch.fx.experimental import _config as symbols

        before = [vars(layer).get("forward") for layer, _ in self._forwards]
        for layer, forward in self._forwards:
            layer.forward = forward
        try:
            with (
                # Rates and epsilons are the same in all layers. As symbols they would be traced,
                # found to be of no use, and all traced again.
                torch._dynamo.config.patch(specialize_float=True),
                # Sizes that are equal in the first batch are not in others.
                symbols.patch(use_duck_shape=False),  # pyright: ignore[reportAttributeAccessIssue]
                settings.patch(cache_key_tag=_kernels_of_attention()),  # pyright: ignore[reportAttributeAccessIssue]
                warnings.catch_warnings(),
            ):
                warnings.filterwarnings("ignore", r"\s*Online softmax is disabled")
                yield
        finally:
            for (layer, _), own in zip(self._forwards, before, strict=True):
                if own is None:
                    del layer.forward  # what is left is that of its class
                else:
                    layer.forward = own


def _kernels_of_attention() -> str:
    """Name those that are allowed, to keep code apart that was compiled when others were.

    PyTorch's cache on disk holds the kernel that was chosen then, and does not ask for that.
    """
    switches = torch.backends.cuda
    allowed = {
        "flash": switches.flash_sdp_enabled(),
        "efficient": switches.mem_efficient_sdp_enabled(),
        "math": switches.math_sdp_enabled(),
        "cudnn": switches.cudnn_sdp_enabled(),
    }
    own = torch.compiler.config.cache_key_tag
    return " ".join([own, "headway, attention by", *(name for name in allowed if allowed[name])])
