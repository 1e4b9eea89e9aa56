"""ReLU and its gradient; in bfloat16 on a CPU by the bits, where there are loops for it."""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.kernels import threads
from headway.kernels.arrays import array, can_loop, is_watched


def relu_(y: Float[Tensor, "*shape"]) -> None:
    """Put 0 for what is below 0 in y, where nothing else holds it; what is no number stays so."""
    if y.dtype != torch.bfloat16 or is_watched() or not y.is_contiguous() or not can_loop(y):
        y.relu_()
        return
    from headway.kernels import relu

    lots = -(-y.numel() // relu.LOT)
    threads.divide(relu.rectify, array(y).reshape(-1), count=lots)


def relu_gradient(
    grad: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """Return the gradient of what `relu_` was given, from that of y, which it has left."""
    if grad.dtype != torch.bfloat16 or is_watched() or not can_loop(grad, y):
        return torch.ops.aten.threshold_backward(grad, y, 0)  # type: ignore[no-any-return]
    from headway.kernels import relu

    out = torch.empty(y.shape, dtype=y.dtype)
    given = (array(tensor).reshape(-1) for tensor in (grad, y, out))
    threads.divide(relu.pass_active, *given, count=-(-out.numel() // relu.LOT))
    return out
