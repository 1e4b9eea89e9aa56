"""Layers, and on a GPU the loss, compiled by torch.compile for training alone.

Layers are compiled one by one: all layers of a stack share the code compiled for the first, and
gradients can be exchanged while those of earlier layers are computed. Validation, traces and
translation call the plain layers, because each would need other compiled code.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import losses_and_gradient


def require_compiler(device: torch.device, backend: str = "inductor") -> None:
    """Compile a sum, so that a missing compiler is noticed before anything is prepared.

    Raises ConfigError if nothing can be compiled for the device.
    """
    try:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2, device=device))
    except Exception as error:  # of Dynamo, Inductor, Triton, or a compiler
        cause = getattr(error, "inner_exception", error)  # Dynamo's exceptions wrap it
        reason = " ".join(str(cause).split("\n\n")[0].split()) or type(cause).__name__
        raise ConfigError(
            f"torch.compile does not work on {device.type} here ({reason}).",
            "Install a C++ compiler (and Triton for a GPU), or leave training.compile out.",
        ) from error


class CompiledLayers:
    """The compiled code of a training: forward passes of layers, and on a GPU the loss."""

    def __init__(self, model: Transformer, backend: str = "inductor") -> None:
        """Prepare; a layer is compiled at its first call, for batches of all sizes.

        Raises ConfigError if nothing can be compiled for the model's device.
        """
        device = next(model.parameters()).device
        require_compiler(device, backend)
        # On a CPU a kernel computes it, or compiling it saves no time.
        self.losses = losses_and_gradient
        if device.type != "cpu":
            self.losses = torch.compile(losses_and_gradient, dynamic=True, backend=backend)
        self._forwards = [
            (layer, torch.compile(layer.forward, dynamic=True, backend=backend))
            for layer in (*model.encoder.layers, *model.decoder.layers)
        ]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the model call the compiled code inside the block."""
        from torch.compiler import config as settings
        from torch.fx.experimental import _config as symbols

        before = [vars(layer).get("forward") for layer, _ in self._forwards]
        for layer, forward in self._forwards:
            layer.forward = forward
        try:
            with (
                # Rates and epsilons are the same in all layers. As symbols they would be
                # traced, found constant, and everything would be traced again.
                torch._dynamo.config.patch(specialize_float=True),
                # Sizes that are equal in the first batch differ in later ones.
                symbols.patch(use_duck_shape=False),  # pyright: ignore[reportAttributeAccessIssue]
                settings.patch(cache_key_tag=_kernels_of_attention()),  # pyright: ignore[reportAttributeAccessIssue]
                warnings.catch_warnings(),
            ):
                warnings.filterwarnings("ignore", r"\s*Online softmax is disabled")
                yield
        finally:
            for (layer, _), forward in zip(self._forwards, before, strict=True):
                if forward is None:
                    del layer.forward  # that of its class remains
                else:
                    layer.forward = forward


def _kernels_of_attention() -> str:
    """Return the allowed kernels of attention as a key for PyTorch's cache on disk.

    Cached code contains the kernel that was chosen when it was compiled, but PyTorch's own key does
    not depend on it.
    """
    switches = torch.backends.cuda
    allowed = {
        "flash": switches.flash_sdp_enabled(),
        "efficient": switches.mem_efficient_sdp_enabled(),
        "math": switches.math_sdp_enabled(),
        "cudnn": switches.cudnn_sdp_enabled(),
    }
    tag = torch.compiler.config.cache_key_tag
    return " ".join([tag, "headway, attention by", *(name for name in allowed if allowed[name])])
