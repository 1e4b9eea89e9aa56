"""Named values that are not recorded, but computed from recorded ones on request."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from headway.errors import TraceError
from headway.inspection.catalog import catalog, pattern_of
from headway.inspection.dataflow import normalized
from headway.inspection.model_kind import Variant
from headway.model.attention import MultiHeadAttention
from headway.model.customized import describe_customizations

Recorded = Mapping[str, Tensor]


@torch.no_grad()
def derive(
    name: str, recorded: Recorded, module: nn.Module | None, variant: Variant | None
) -> Tensor | None:
    """Return the derived value of this name, or None if it has no such name.

    Raises TraceError if a tensor that it is made from was not recorded.
    """
    path, _, last = name.rpartition(".")
    if name in _OF_LOGITS:
        return _OF_LOGITS[name](_need(recorded, "logits", name), -1)
    if last == "contributions":
        return _contributions(path, _need(recorded, f"{path}.heads".lstrip("."), name), module)
    if last in _OF_NORMALIZED and variant is not None and pattern_of(name) in catalog(variant):
        layer, _, sublayer = path.removesuffix("_residual").rpartition(".")
        read = normalized(layer, sublayer, variant)
        return _OF_NORMALIZED[last](_need(recorded, read, name))
    return None


def _need(recorded: Recorded, name: str, derived_name: str) -> Tensor:
    if name not in recorded:
        raise TraceError(
            f"'{derived_name}' is computed from '{name}', which was not recorded.",
            "Record it too, or everything: record='all'.",
        )
    return recorded[name]


def _contributions(path: str, heads: Tensor, module: nn.Module | None) -> Tensor:
    """Return heads[h] W^O[h] of each head, (…, H, T, d_model); they sum to the output less b^O."""
    if module is None:
        raise TraceError(
            "The contribution of a head needs the model's weights, which a trace from a file "
            "does not have.",
            "Load it together with its model: `Trace.load(path, module=model)`.",
        )
    attention = module.get_submodule(path)
    assert isinstance(attention, MultiHeadAttention)
    if changes := describe_customizations(attention):
        raise TraceError(
            "The contribution of a head is known only for Headway's own attention, but "
            f"{path}: {changes}.",
            "Use 'heads' and 'output', which the trace has.",
        )
    w_o = attention.w_o.weight.unflatten(1, (attention.num_heads, attention.d_v))
    return torch.einsum("...htv,mhv->...htm", heads, w_o)


def _mean(x: Tensor) -> Tensor:
    return x.mean(dim=-1)


def _variance(x: Tensor) -> Tensor:
    return x.var(dim=-1, correction=0)


_OF_LOGITS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "log_probs": torch.log_softmax,
    "probabilities": torch.softmax,
}
_OF_NORMALIZED: dict[str, Callable[[Tensor], Tensor]] = {"mean": _mean, "variance": _variance}
