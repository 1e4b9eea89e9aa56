"""The attention of a translation to its source, by one teacher-forced pass.

No engine keeps attention weights. They are computed afterwards, by the model itself, for finished
hypotheses. So they depend neither on the engine nor on the other sentences of a batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.data.tokenizer import START_ID
from headway.errors import ConfigError, require_type
from headway.model.masks import padding_mask
from headway.model.probe import listen, stop_listening
from headway.model.transformer import Transformer


class Attend(Protocol):
    """Compute how the hypotheses of one sentence attend to it."""

    def __call__(
        self, source_ids: Sequence[int], targets: Sequence[Sequence[int]], /
    ) -> list[Float[Tensor, "T S"]]:
        """Return the weights of each target; each row sums to 1.

        source_ids: S pieces, END included. Row t belongs to the step that chooses piece t of a
        target. The last of its T rows belongs to the end symbol.
        """
        ...


class AttentionReader:
    """Read the cross-attention of one decoder layer (section 3.2.3), averaged over its heads.

    With several models it is also averaged over the models, as an ensemble does.
    """

    def __init__(self, models: Sequence[Transformer], layer: int | None = None) -> None:
        """Read from these models, which must be in eval mode.

        layer: counted from 0, as in `decoder.layers.3`; None is the last layer of each model.
        Raises ConfigError if a model has no such layer.
        """
        self.models = list(models)
        self.layers = [chosen_layer(model, layer) for model in self.models]

    @torch.no_grad()
    def __call__(
        self, source_ids: Sequence[int], targets: Sequence[Sequence[int]], /
    ) -> list[Float[Tensor, "T S"]]:
        """Return the weights of each target, as `Attend` says, in float32 on the CPU."""
        pairs = zip(self.models, self.layers, strict=True)
        weights = [_weights(model, layer, source_ids, targets) for model, layer in pairs]
        mean = torch.stack(weights).mean(dim=0)  # (B, T, S)
        return [rows[: len(ids) + 1].clone() for rows, ids in zip(mean, targets, strict=True)]


def chosen_layer(model: Transformer, layer: int | None, name: str = "attention_layer") -> int:
    """Return the number of a decoder layer, from 0; None means the last.

    name: the caller's name for the layer, used in the message.
    """
    count = len(model.decoder.layers)
    if layer is None:
        return count - 1
    require_type(name, layer, Integral, "Give the number of a decoder layer, from 0, or None.")
    if not 0 <= layer < count:
        raise ConfigError(
            f"{name} is {layer}, but the decoder has layers 0 to {count - 1}.",
            "Choose one of these; None is the last.",
        )
    return layer


def _weights(
    model: Transformer, layer: int, source_ids: Sequence[int], targets: Sequence[Sequence[int]]
) -> Float[Tensor, "B T S"]:
    """Return the weights of padded targets; rows beyond the end of a target mean nothing."""
    device = model.output_projection.weight.device
    source = torch.tensor([list(source_ids)], device=device)
    longest = max(map(len, targets))
    padded = [[START_ID, *ids, *[model.pad_id] * (longest - len(ids))] for ids in targets]
    mask = padding_mask(source, model.pad_id)
    with cross_attention(model, [layer]) as weights:
        memory = model.encode(source, mask).expand(len(targets), -1, -1)
        model.decode(torch.tensor(padded, device=device), memory, mask)
    return weights[layer]


@contextmanager
def cross_attention(
    model: Transformer, layers: Sequence[int]
) -> Iterator[dict[int, Float[Tensor, "B T S"]]]:
    """Collect the cross-attention of these decoder layers, averaged over the heads, on the CPU.

    The block makes one pass; the dictionary then has the weights by layer. Raises ConfigError for
    an attention of the caller's own that does not pass its weights to `probe`.
    """
    with cross_attention_by_head(model, layers) as by_head:
        averages: dict[int, Tensor] = {}
        yield averages
        averages.update({layer: weights.mean(dim=1) for layer, weights in by_head.items()})


@contextmanager
def cross_attention_by_head(
    model: Transformer, layers: Sequence[int]
) -> Iterator[dict[int, Float[Tensor, "B H T S"]]]:
    """Collect the same of each head."""
    parts = {n: model.decoder.get_submodule(f"layers.{n}.cross_attention") for n in layers}
    weights: dict[int, Tensor] = {}

    def receive(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        if name == "weights":
            numbers = [number for number, part in parts.items() if part is module]
            weights.update(dict.fromkeys(numbers, tensor.float().cpu()))
        return tensor

    token = listen(receive)
    try:
        yield weights
    finally:
        stop_listening(token)
    for layer, part in parts.items():
        if layer not in weights:
            raise ConfigError(
                f"decoder.layers.{layer}.cross_attention, of class {type(part).__qualname__}, "
                "does not pass on its weights.",
                'In its forward, call probe(self, "weights", weights) with (B, H, T, S) and go on '
                "with the tensor that it returns.",
            )
