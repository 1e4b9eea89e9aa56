"""The loss of a batch in the precision of a run, through the layers that training uses."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch import nn

from headway.data.batching import Batch
from headway.model.customized import changed_parts
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import Compute, projected_cross_entropy
from headway.training.accelerated.install import accelerated
from headway.training.compiling import CompiledLayers
from headway.training.loss import LossSums, label_smoothed_cross_entropy


class Objective(nn.Module):
    """The loss that training minimizes, as a module, so that it can be wrapped like one."""

    def __init__(self, model: Transformer, label_smoothing: float, precision: str) -> None:
        """Join the model and the way its loss is computed; precision: float32 or bfloat16."""
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.precision = precision
        self.layers: CompiledLayers | None = None

    def compile_layers(self) -> None:
        """Have torch.compile compile the layers, on the model's present device (compiling.py)."""
        self.layers = CompiledLayers(self.model)

    def forward(self, batch: Batch) -> LossSums:
        """Return the summed losses of a batch."""
        if self.layers is None:
            return batch_loss(self.model, batch, self.label_smoothing, self.precision)
        # Compiled code keeps the kernels that were allowed when it was compiled.
        with without_cudnn_attention(), self.layers.in_place():
            return batch_loss(
                self.model, batch, self.label_smoothing, self.precision, self.layers.losses
            )


def batch_loss(
    model: Transformer,
    batch: Batch,
    label_smoothing: float,
    precision: str,
    compute: Compute | None = None,
) -> LossSums:
    """Return the summed losses of a batch, computed in this precision.

    compute: see `projected_cross_entropy`.
    """
    device = batch.source_ids.device.type
    with autocast(precision, device), without_cudnn_attention(), accelerated(model):
        hidden = model.hidden(batch.source_ids, batch.target_ids).flatten(0, 1)  # (B * T, d_model)
        labels, output = batch.label_ids.flatten(), model.output_projection
        # A changed or hooked layer computes more than its weights say. Hooks of all modules only
        # observe: a counter of operations is to count those of training.
        if changed_parts(output) or output._forward_hooks or output._forward_pre_hooks:
            logits = output(hidden).float()
            return label_smoothed_cross_entropy(logits, labels, label_smoothing, model.pad_id)
        return projected_cross_entropy(
            hidden, output.weight, output.bias, labels, label_smoothing, model.pad_id, None, compute
        )


def autocast(precision: str, device: str) -> contextlib.AbstractContextManager[object]:
    """Return the context that computes matrix products in this precision."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.bfloat16)


@contextlib.contextmanager
def without_cudnn_attention() -> Iterator[None]:
    """Exclude cuDNN's attention kernels if PyTorch has other fused ones.

    On some GPUs PyTorch prefers them in 16-bit types, but cuDNN plans each new shape, and batches
    have a hundred shapes: a small model makes a hundred updates in the time of one plan. At the
    lengths of sentences the other kernels are as fast (benchmarks/log/065).
    """
    switches = torch.backends.cuda
    with _switching:
        if not _settings_before:
            _settings_before.append(switches.cudnn_sdp_enabled())
            allowed = _settings_before[0] and not switches.mem_efficient_sdp_enabled()
            switches.enable_cudnn_sdp(allowed)
        else:
            _settings_before.append(_settings_before[0])
    try:
        yield
    finally:
        with _switching:
            before = _settings_before.pop()
            if not _settings_before:
                switches.enable_cudnn_sdp(before)


_settings_before: list[bool] = []
"""The process-wide switch as it was before the outermost block, once for each open block."""
_switching = threading.Lock()
