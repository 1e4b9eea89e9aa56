"""The loss from the decoder's output, without holding all logits at once (section 5.4)."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.errors import ConfigError
from headway.kernels import LANES, threads
from headway.kernels.arrays import array, can_loop
from headway.kernels.row_buckets import few_counts, has_few_shapes
from headway.training.accelerated.linear_gradients import add_weight_gradient
from headway.training.accelerated.no_double_backward import first_derivatives_only
from headway.training.loss import LossSums, check_padding, check_rows, sum_dtype

# From logits, labels, smoothing, pad_id, the bias's gradient and whether gradients are wanted.
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
    """Compute the same loss from the decoder's output, without holding all logits at once.

    Rows whose label is padding count for nothing. The rows go through projection, loss and gradient
    in chunks of so many (by default as many as suit the device); the backward pass only scales what
    the forward pass has stored, so there are first derivatives only. A test holds it equal to
    `label_smoothed_cross_entropy`. compute: `losses_and_gradient`, or that compiled.
    """
    check_padding(pad_id, len(weight))
    check_rows(len(hidden), labels)
    chunk = chunk or _rows_at_once(hidden.device, len(weight))
    if hidden.device.type == "cpu":
        # A GPU would have to be waited for: how many these are decides the sizes of what follows.
        few = has_few_shapes(hidden.device, _product_dtype(weight))
        hidden, labels = _real_rows(hidden, labels, pad_id, few)
    sums = _ProjectedCrossEntropy.apply(
        hidden, weight, bias, labels, smoothing, pad_id, chunk,
        torch.is_grad_enabled(), compute or losses_and_gradient,
    )  # fmt: skip
    return LossSums(*sums)  # type: ignore[misc]


def _real_rows(
    hidden: Float[Tensor, "N d_model"], labels: Int[Tensor, " N"], pad_id: int, few: bool
) -> tuple[Float[Tensor, "R d_model"], Int[Tensor, " R"]]:
    """Return the rows that count; with few numbers of them the last one again, as padding."""
    real = (labels != pad_id).nonzero()[:, 0]
    missing = few_counts(len(real)) - len(real) if few else 0
    labels = F.pad(labels[real], (0, missing), value=pad_id)
    return hidden.index_select(0, torch.cat([real, real[-1:].expand(missing)])), labels


def _product_dtype(weight: Tensor) -> torch.dtype:
    """Return the type in which products are computed."""
    device = weight.device.type
    lowered = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if lowered else weight.dtype


def _rows_at_once(device: torch.device, vocabulary: int) -> int:
    """Return how many rows have their logits at a time (benchmarks/log/027, 066).

    On a CPU few, which stay in the cache: measured. Elsewhere, by count, as many as have logits of
    256 MB in float32, for each chunk is some twenty calls; with gradients 1 GB at most.
    """
    return 512 if device.type == "cpu" else max(2**26 // vocabulary, 512)


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
        # Needed they are called under no_grad, too.
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
                in_loops = _has_loops(logits, pad_id)
                sums, grad_low = (_losses_and_gradient_in_loops if in_loops else compute)(
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
    """Return the losses of these rows and, where asked for, their gradient in the logits' type.

    The gradient's sum is added to grad_bias. A row whose label is padding has neither.
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
    # Where the answer costs nothing, a pass over all of it is left out.
    if logits.device.type != "cpu" or padding.any():
        grad.masked_fill_(padding[:, None], 0.0)
    if grad_bias is not None:
        grad_bias += grad.sum(0)
    return sums, grad.to(low)


def _losses_and_gradient_in_loops(
    logits: Tensor,
    labels: Tensor,
    smoothing: float,
    pad_id: int,
    grad_bias: Tensor | None,
    differentiate: bool,
) -> tuple[LossSums, Tensor | None]:
    """Return the same from loops, which put the gradient in the place of the logits."""
    from headway.kernels.cross_entropy import smoothed_losses

    _check_labels(labels, logits.size(1))
    rows, pieces = logits.shape
    losses = labels.new_empty(rows, 2, dtype=torch.float64)
    # One for each part, or sums would depend on which thread was first.
    width = 0 if grad_bias is None else pieces
    grads = logits.new_zeros(torch.get_num_threads(), width, dtype=torch.float32)
    given = array(logits), array(labels), smoothing, pad_id, differentiate
    threads.divide(smoothed_losses, *given, array(losses), array(grads), count=rows)
    if grad_bias is not None:
        grad_bias += grads.sum(0)
    return LossSums(*losses.sum(0)), logits if differentiate else None


def _has_loops(logits: Tensor, pad_id: int) -> bool:
    if not can_loop(logits) or logits.size(1) < LANES or not 0 <= pad_id < logits.size(1):
        return False
    return threads.can_divide()


def _check_labels(labels: Tensor, pieces: int) -> None:
    """Refuse what is no piece: loops would read and write beyond the logits."""
    least, largest = labels.aminmax()
    if least < 0 or largest >= pieces:
        wrong = int(least if least < 0 else largest)
        raise ConfigError(
            f"A label is {wrong}, but there are logits for pieces 0 to {pieces - 1}.",
            "Encode the text with the tokenizer that the model was made for.",
        )


def _logit_gradient(probs: Tensor, labels: Tensor, smoothing: float, pad_id: int) -> Tensor:
    """Return softmax minus the smoothed target, in the memory of probs."""
    padding = probs[:, pad_id].clone()
    grad = probs.sub_(smoothing / (probs.size(-1) - 1))
    grad[:, pad_id] = padding
    return grad.scatter_add_(1, labels[:, None], grad.new_full((len(labels), 1), smoothing - 1))
