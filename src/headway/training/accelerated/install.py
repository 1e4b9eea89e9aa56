"""Replace layers' methods by kernels during a forward pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

from torch import Tensor, nn

from headway.model.attention import MultiHeadAttention
from headway.model.cache import KeyValueCache
from headway.model.checks import check_attention_inputs, check_head_width
from headway.model.customized import is_customized
from headway.model.embedding import InputEmbedding
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.probe import listening, probe
from headway.model.residual import Residual
from headway.training.accelerated.attention import concat_in_kernels, learns_in_kernels
from headway.training.accelerated.dropout import add_dropped, dropout
from headway.training.accelerated.linear import (
    Project,
    is_plain,
    project,
    project_apart,
    project_by_modules,
)

Method = Callable[..., Any]


@contextmanager
def accelerated(model: nn.Module) -> Iterator[None]:
    """Compute the paper's layers with the fast kernels inside the block.

    The results are the same to rounding; dropout draws other masks from the same distribution. For
    a training loop of your own: open it around the forward pass. On a CPU it brings the kernels
    that Numba compiles and, also without Numba, dropout masks that are drawn quickly; on a GPU it
    joins the projections of one input. Layers of your own, layers with another `forward`, and
    layers that a trace listens to compute as they are written; projections of your own are called.
    Gradients are first derivatives only. Blocks may be nested; no other thread may use the model
    meanwhile.
    """
    substituted = [
        (module, name, method)
        for module in model.modules()
        for name, method in _substitutes(module).items()
    ]
    try:
        for module, name, method in substituted:
            setattr(module, name, MethodType(method, module))
        yield
    finally:
        # Ctrl-C may have come before all of them were replaced.
        for module, name, _ in substituted:
            vars(module).pop(name, None)


def _substitutes(module: nn.Module) -> dict[str, Method]:
    """Return the methods to replace in this module, by name.

    A layer with a projection of a user's own calls its projections instead of joining them.
    """
    kind = type(module)
    if kind not in _SUBSTITUTES or is_customized(module):
        return {}
    if kind in _CALLING_MODULES and not all(is_plain(child) for child in module.children()):
        return _CALLING_MODULES[kind]
    return _SUBSTITUTES[kind]


def _attention(
    layer: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    cache: KeyValueCache | None = None,
) -> Tensor:
    """Compute the layer with joined projections and, where they fit, kernels for equation 1."""
    return _attend(layer, project, query, key, value, mask, cache)


def _attention_calling_modules(
    layer: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    cache: KeyValueCache | None = None,
) -> Tensor:
    """Compute the layer with a projection of a user's own, which is called."""
    return _attend(layer, project_by_modules, query, key, value, mask, cache)


def _attend(
    layer: MultiHeadAttention,
    project_all: Project,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    cache: KeyValueCache | None,
) -> Tensor:
    if cache is not None:
        return MultiHeadAttention.forward(layer, query, key, value, mask, cache)
    check_attention_inputs(layer, query, key, value, mask)
    if not learns_in_kernels(layer, query, key, value):
        return MultiHeadAttention.forward(layer, query, key, value, mask)
    for name, linear in (("q", layer.w_q), ("k", layer.w_k), ("v", layer.w_v)):
        width = getattr(linear, "out_features", None)  # a projection of a user's own may lack it
        if width is not None:
            check_head_width(layer, name, width)
    concat = concat_in_kernels(layer, project_all, query, key, value, mask)
    return project_all(concat, layer.w_o)


def _projections(
    layer: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cache: KeyValueCache | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """If inputs are the same tensor, compute their projections as one product, on a GPU."""
    if cache is not None or key is not value:
        return MultiHeadAttention.project(layer, query, key, value, cache)
    if query is key:
        q, k, v = project_apart(query, layer.w_q, layer.w_k, layer.w_v)
        return layer.split("q", q), layer.split("k", k), layer.split("v", v)
    q = layer.split("q", layer.w_q(query))
    k, v = project_apart(key, layer.w_k, layer.w_v)
    return q, layer.split("k", k), layer.split("v", v)


def _drop(layer: MultiHeadAttention, weights: Tensor) -> Tensor:
    return dropout(weights, layer.dropout, layer.training)


def _feed_forward(layer: PositionwiseFeedForward, x: Tensor) -> Tensor:
    """Compute the layer with bias and ReLU joined to the products, under autocast on a CPU."""
    return _feed(layer, project, x)


def _feed_forward_calling_modules(layer: PositionwiseFeedForward, x: Tensor) -> Tensor:
    """Compute the layer with a projection of a user's own, which is called."""
    return _feed(layer, project_by_modules, x)


def _feed(layer: PositionwiseFeedForward, project_all: Project, x: Tensor) -> Tensor:
    if layer.activation == "relu" and not listening():
        activated = project_all(x, layer.w_1, relu=True)
    else:
        hidden = project_all(x, layer.w_1)
        gate = None if layer.w_gate is None else project_all(x, layer.w_gate)
        activated = probe(layer, "activated", layer.activate(hidden, gate))
    activated = dropout(activated, layer.dropout, layer.training)
    return probe(layer, "output", project_all(activated, layer.w_2))


def _add(layer: Residual, x: Tensor, y: Tensor) -> Tensor:
    return probe(layer, "sum", add_dropped(x, y, layer.dropout, layer.training))


def _drop_embedded(layer: InputEmbedding, embedded: Tensor) -> Tensor:
    return dropout(embedded, layer.dropout, layer.training)


_SUBSTITUTES: dict[type[nn.Module], dict[str, Method]] = {
    MultiHeadAttention: {"forward": _attention, "project": _projections, "drop": _drop},
    PositionwiseFeedForward: {"forward": _feed_forward},
    Residual: {"add": _add},
    InputEmbedding: {"drop": _drop_embedded},
}
"""The methods to replace, by class of a layer."""
_CALLING_MODULES: dict[type[nn.Module], dict[str, Method]] = {
    MultiHeadAttention: {"forward": _attention_calling_modules, "drop": _drop},
    PositionwiseFeedForward: {"forward": _feed_forward_calling_modules},
}
"""The same for layers that have a projection of a user's own."""
