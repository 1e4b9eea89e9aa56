"""The loss from the decoder's output, without holding all logits at once (section 5.4)."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.errors import ConfigError
from headway.kernels import dispatch, threads
from headway.kernels.row_buckets import few_counts
from headway.training.accelerated.arrays import array
from headway.training.accelerated.linear_gradients import add_weight_gradient
from headway.training.accelerated.no_double_backward import first_derivatives_only
from headway.training.loss import LossSums, check_padding, check_rows, sum_dtype

# Takes logits, labels, smoothing, pad_id, the bias's gradient and whether to differentiate.
Compute = Callable[..., tuple[LossSums, Tensor | None]]


def projected_cross_entropy(
    hidden: Float[Tensor, "N d_model"],
    weight: Float[Tensor, "V d_model"],
    bias: Float[Tensor, " V"] | None,
    labels: Int[Tensor, " N"],
    smoothing: float = 0.1,
    pad_id: int = 0,
    chunk: int | None = None,
    compute: Compute | None = None,
) -> LossSums:
    """Compute the loss from the decoder's output, without holding all logits at once.

    Rows whose label is padding count for nothing. chunk: rows that go through projection, loss and
    gradient at a time; None for `dispatch.loss_rows`. The forward pass stores the gradients and the
    backward pass only scales them, so there are first derivatives only. A test holds the result
    equal to `label_smoothed_cross_entropy`. compute: `losses_and_gradient`, or its compiled form.
    """
    check_padding(pad_id, len(weight))
    check_rows(len(hidden), labels)
    chunk = chunk or dispatch.loss_rows(hidden.device, len(weight))
    if hidden.device.type == "cpu":
        # Not on a GPU: the CPU would wait for their number, which decides the following sizes.
        pads = dispatch.pads_rows(hidden.device, _product_dtype(weight))
        hidden, labels = _real_rows(hidden, labels, pad_id, pads)
    sums = _ProjectedCrossEntropy.apply(
        hidden, weight, bias, labels, smoothing, pad_id, chunk,
        torch.is_grad_enabled(), compute or losses_and_gradient,
    )  # fmt: skip
    return LossSums(*sums)  # type: ignore[misc]


def _real_rows(
    hidden: Float[Tensor, "N d_model"], labels: Int[Tensor, " N"], pad_id: int, pads: bool
) -> tuple[Float[Tensor, "R d_model"], Int[Tensor, " R"]]:
    """Return the rows that are not padding; pads: repeat the last as padding, to a row bucket."""
    real = (labels != pad_id).nonzero()[:, 0]
    missing = few_counts(len(real)) - len(real) if pads else 0
    labels = F.pad(labels[real], (0, missing), value=pad_id)
    return hidden.index_select(0, torch.cat([real, real[-1:].expand(missing)])), labels


def _product_dtype(weight: Tensor) -> torch.dtype:
    """Return the type of the products."""
    device = weight.device.type
    lowered = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if lowered else weight.dtype


class _ProjectedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        smoothing: float,
        pad_id: int,
        chunk: int,
        learning: bool,
        compute: Compute,
    ) -> tuple[Tensor, Tensor]:
        # needs_input_grad is True even under no_grad.
        differentiate = learning and any(ctx.needs_input_grad[:3])
        dtype = _product_dtype(weight)
        hidden_low, weight_low = hidden.to(dtype), weight.to(dtype)
        bias_low = None if bias is None else bias.to(dtype)
        loss = hidden.new_zeros((), dtype=sum_dtype(hidden))
        nll = torch.zeros_like(loss)
        grad_hidden = torch.empty_like(hidden_low) if differentiate else None
        grad_weight = weight.new_zeros(weight.shape) if differentiate else None
        grad_bias = torch.zeros_like(bias) if differentiate and bias is not None else None
        with torch.autocast(hidden.device.type, enabled=False):
            for start in range(0, len(labels), chunk):
                rows = slice(start, start + chunk)
                logits = F.linear(hidden_low[rows], weight_low, bias_low)
                by_kernel = dispatch.cross_entropy(logits, pad_id).by is dispatch.By.NUMBA
                sums, grad_low = (_losses_and_gradient_by_kernel if by_kernel else compute)(
                    logits, labels[rows], smoothing, pad_id, grad_bias, differentiate
                )
                loss += sums.loss
                nll += sums.nll
                if grad_hidden is None or grad_weight is None or grad_low is None:
                    continue
                torch.mm(grad_low, weight_low, out=grad_hidden[rows])
                add_weight_gradient(grad_weight, grad_low, hidden_low[rows])
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.hidden_dtype = hidden.dtype
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        grad_hidden, grad_weight, grad_bias = ctx.saved_tensors
        scale = grad_outputs[0]
        return (
            grad_hidden.to(ctx.hidden_dtype) * scale.to(ctx.hidden_dtype),
            grad_weight * scale.to(grad_weight.dtype),
            None if grad_bias is None else grad_bias * scale.to(grad_bias.dtype),
            *[None] * 6,
        )


def losses_and_gradient(
    logits: Float[Tensor, "rows V"],
    labels: Int[Tensor, " rows"],
    smoothing: float,
    pad_id: int,
    grad_bias: Float[Tensor, " V"] | None,
    differentiate: bool,
) -> tuple[LossSums, Float[Tensor, "rows V"] | None]:
    """Return the losses of these rows and, to differentiate, their gradient in the logits' type.

    The gradient's sum is added to grad_bias. Rows whose label is padding count for nothing.
    """
    low = logits.dtype
    logits = logits.to(torch.promote_types(low, torch.float32))
    probs = logits.softmax(dim=-1)  # (rows, V)
    # The logarithm of the sum of exponentials, without a second pass of exponentials: the largest
    # probability is at least 1 / V, so its logarithm is exact enough.
    log_sum = logits.amax(dim=-1) - probs.amax(dim=-1).log()
    nlls = log_sum - logits.gather(1, labels[:, None])[:, 0]
    total = logits.sum(-1) - logits[:, pad_id]
    uniform = log_sum - total / (logits.size(-1) - 1)
    wide = sum_dtype(logits)
    padding = labels == pad_id
    loss = ((1 - smoothing) * nlls + smoothing * uniform).masked_fill(padding, 0.0)
    sums = LossSums(loss.sum(dtype=wide), nlls.masked_fill(padding, 0.0).sum(dtype=wide))
    if not differentiate:
        return sums, None
    grad = _logit_gradient(probs, labels, smoothing, pad_id)
    # A GPU would be waited for to learn whether there is padding; a CPU saves the pass.
    if logits.device.type != "cpu" or padding.any():
        grad.masked_fill_(padding[:, None], 0.0)
    if grad_bias is not None:
        grad_bias += grad.sum(0)
    return sums, grad.to(low)


def _losses_and_gradient_by_kernel(
    logits: Tensor,
    labels: Tensor,
    smoothing: float,
    pad_id: int,
    grad_bias: Tensor | None,
    differentiate: bool,
) -> tuple[LossSums, Tensor | None]:
    """Return the same from the kernel, which overwrites the logits with the gradient."""
    from headway.kernels.cross_entropy import smoothed_losses

    _check_labels(labels, logits.size(1))
    rows, pieces = logits.shape
    losses = labels.new_empty(rows, 2, dtype=torch.float64)
    # One row for each part, so that sums do not depend on the order of the threads.
    width = 0 if grad_bias is None else pieces
    grads = logits.new_zeros(torch.get_num_threads(), width, dtype=torch.float32)
    threads.divide(
        smoothed_losses, array(logits), array(labels), smoothing, pad_id, differentiate,
        array(losses), array(grads), count=rows,
    )  # fmt: skip
    if grad_bias is not None:
        grad_bias += grads.sum(0)
    return LossSums(*losses.sum(0)), logits if differentiate else None


def _check_labels(labels: Tensor, pieces: int) -> None:
    """Refuse labels outside the vocabulary: the kernel would read and write beyond the logits."""
    smallest, largest = labels.aminmax()
    if smallest < 0 or largest >= pieces:
        wrong = int(smallest if smallest < 0 else largest)
        raise ConfigError(
            f"A label is {wrong}, but there are logits for tokens 0 to {pieces - 1}.",
            "Encode the text with the tokenizer that the model was made for.",
        )


def _logit_gradient(probs: Tensor, labels: Tensor, smoothing: float, pad_id: int) -> Tensor:
    """Return softmax minus the smoothed target, in the memory of probs."""
    padding = probs[:, pad_id].clone()
    grad = probs.sub_(smoothing / (probs.size(-1) - 1))
    grad[:, pad_id] = padding
    return grad.scatter_add_(1, labels[:, None], grad.new_full((len(labels), 1), smoothing - 1))
