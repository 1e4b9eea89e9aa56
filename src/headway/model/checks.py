"""The checks of the layers' sizes and inputs."""

import operator
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from headway.errors import ConfigError


def check_sizes(sizes: Mapping[str, int | None]) -> None:
    """Refuse sizes that are not whole numbers from 1; None is an omitted size."""
    for name, size in sizes.items():
        if size is None:
            continue
        try:
            fits = operator.index(size) >= 1
        except TypeError:
            hint = f"Set {name} to an int."
            if isinstance(size, float) and 0 < size < 1:
                hint = f"Write dropout={size!r} if it is a rate."
            raise ConfigError(f"{name} is {size!r}, but must be a whole number.", hint) from None
        if not fits:
            raise ConfigError(f"{name} is {size}, but must be at least 1.", f"Set {name} to more.")


def check_dropout(p: float) -> None:
    """Refuse rates that are no probability, and 1, which would zero everything."""
    try:
        fits = 0.0 <= p < 1.0
    except TypeError:
        fits = False
    if not fits:
        raise ConfigError(f"Dropout is {p!r}, but must be from 0 to below 1.", "The paper has 0.1.")


def check_parts(parts: Mapping[str, object]) -> None:
    """Refuse parts of a layer or model that are no layers, such as sizes."""
    for name, part in parts.items():
        if not callable(part):
            raise ConfigError(
                f"{name} is {part!r}, but must be a layer.",
                "Transformer.from_config builds all layers from sizes.",
            )


def check_stack(layers: object) -> None:
    """Refuse a single layer instead of several."""
    if not isinstance(layers, Iterable):
        raise ConfigError(
            f"The layers are of type {type(layers).__name__}, but must be a list of layers.",
            "Build each layer separately, because a repeated one would share its weights.",
        )


def check_sublayer(sublayer: object) -> None:
    """Refuse the output of a sub-layer instead of the sub-layer."""
    if not callable(sublayer):
        raise ConfigError(
            f"The sub-layer is of type {type(sublayer).__name__}, but must be a layer or function.",
            "Residual calls it: residual(x, feed_forward), not residual(x, feed_forward(x)).",
        )


def check_tensor(name: str, value: object) -> None:
    """Refuse values that are no tensor, such as a NumPy array or a list."""
    if not isinstance(value, Tensor):
        raise ConfigError(
            f"{name} is a {type(value).__module__}.{type(value).__qualname__}, not a tensor.",
            "Convert it with torch.as_tensor.",
        )


@runtime_checkable
class _Heads(Protocol):
    """The sizes of a `MultiHeadAttention`."""

    d_model: int
    d_k: int
    d_v: int
    num_heads: int


def check_attention_inputs(
    sizes: _Heads,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    cached: bool = False,
) -> None:
    """Refuse inputs that do not fit the layer; cached inputs are not checked."""
    if cached:
        return
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, x)
        if x.dim() != 3 or x.size(-1) != sizes.d_model:
            raise ConfigError(
                f"{name} has shape {tuple(x.shape)}, but must be (B, L, {sizes.d_model}).",
                "Give a batch, even for one sentence, of the width of the layer.",
            )
    if key.size(1) != value.size(1):
        raise ConfigError(
            f"There are {key.size(1)} keys and {value.size(1)} values; each key needs one.",
            "Give keys and values of the same length.",
        )
    sentences = 1
    for x in (query, key, value):
        if x.size(0) == 1:
            continue
        if sentences not in (1, x.size(0)):
            raise ConfigError(
                f"There are {query.size(0)} sentences of queries, {key.size(0)} of keys and "
                f"{value.size(0)} of values.",
                "Give batches of one size, or of size 1.",
            )
        sentences = x.size(0)
    if mask is not None:
        check_tensor("mask", mask)
        _check_axes(mask)
        check_mask(mask, (sentences, sizes.num_heads, query.size(1), key.size(1)))


def check_head_width(sizes: _Heads, name: str, width: int) -> None:
    """Refuse a projection whose width is not num_heads times d_k or d_v; name: q, k or v."""
    head_width = sizes.d_v if name == "v" else sizes.d_k
    if width != sizes.num_heads * head_width:
        raise ConfigError(
            f"w_{name} makes {width} numbers, but {sizes.num_heads} heads of {head_width} are "
            f"{sizes.num_heads * head_width}.",
            "Set num_heads, d_k and d_v together, or make another MultiHeadAttention.",
        )


def check_attention_shapes(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Refuse queries, keys, values and a mask whose shapes do not fit equation 1."""
    if q.size(-1) != k.size(-1):
        raise ConfigError(
            f"Queries have width {q.size(-1)} and keys {k.size(-1)}; both must be d_k.",
            "Project both to the same width.",
        )
    if k.size(-2) != v.size(-2):
        raise ConfigError(
            f"There are {k.size(-2)} keys and {v.size(-2)} values; each key needs one value.",
            "Give keys and values of the same length.",
        )
    leading = q.shape[:-2]
    if not leading == k.shape[:-2] == v.shape[:-2]:
        try:
            leading = torch.broadcast_shapes(leading, k.shape[:-2], v.shape[:-2])
        except RuntimeError:
            raise ConfigError(
                f"Queries, keys and values have the shapes {tuple(q.shape)}, {tuple(k.shape)} and "
                f"{tuple(v.shape)}; the axes before the last two do not broadcast.",
                "Give each of these axes one size, or size 1.",
            ) from None
    check_mask(mask, (*leading, q.size(-2), k.size(-2)))


def check_mask(mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean or does not broadcast to the scores' shape."""
    if mask is None:
        return
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise ConfigError(
            f"The mask has type {mask.dtype}, but must be boolean with True = may attend.",
            "Convert it: `mask == 1` where 1 meant attend, `mask == 0` where it meant hide.",
        )
    # Missing axes of a mask always broadcast.
    from_last = zip(mask.shape[::-1], shape[::-1], strict=False)
    fits = all(size in (1, score_size) for size, score_size in from_last)
    if mask.dim() > len(shape) or not fits:
        raise ConfigError(
            f"The mask has shape {tuple(mask.shape)}, which does not broadcast to the scores "
            f"{tuple(shape)}: rows are queries, columns are keys.",
            "Make it with padding_mask, look_ahead_mask or target_mask of headway.model.masks.",
        )


def _check_axes(mask: Tensor) -> None:
    if mask.dim() == 3:
        raise ConfigError(
            f"The mask has three axes, {tuple(mask.shape)}; the scores of several heads have four, "
            "(B, H, T, S).",
            "Use mask[:, None] for one mask a sentence, mask[None] for one mask a head.",
        )
