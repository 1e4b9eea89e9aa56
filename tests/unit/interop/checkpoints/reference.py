"""The Transformer by the equations of the paper, in float64, from tensors by name.

It shares no code with `headway.model`: a comparison with it finds an error of an import.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

Take = Callable[[str], Tensor]


@dataclass
class Reference:
    """A model: `take` gives a tensor by our name; the rest is what tensors do not show."""

    take: Take
    layers: dict[str, int]
    heads: int
    pre: bool
    epsilon: float
    activation: Callable[[Tensor], Tensor]
    positions: Tensor | Mapping[str, Tensor]
    """The vector of each position, (L, d_model); by side if the sides differ."""
    scale: bool = True

    def __call__(self, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
        """Return memory (S, d_model) and logits (T, V) of one sentence, from rows of the tables."""
        memory = self._stack("encoder", self._embed("source", source), None)
        hidden = self._stack("decoder", self._embed("target", target), memory)
        return memory, hidden @ self._get("output_projection.weight").T

    def _get(self, name: str) -> Tensor:
        return self.take(name).double()

    def _embed(self, side: str, ids: list[int]) -> Tensor:
        table = self._get(f"{side}_embedding.tokens.weight")
        factor = math.sqrt(table.size(1)) if self.scale else 1.0
        given = self.positions
        positions = given if isinstance(given, Tensor) else given[side]
        return table[ids] * factor + positions[: len(ids)].double()

    def _stack(self, stack: str, x: Tensor, memory: Tensor | None) -> Tensor:
        for i in range(self.layers[stack]):
            at = f"{stack}.layers.{i}"
            past = None if memory is None else torch.ones(len(x), len(x)).tril().bool()
            x = self._add(f"{at}.self_attention", x, partial(self._attend, memory=None, mask=past))
            if memory is not None:
                attend = partial(self._attend, memory=memory, mask=None)
                x = self._add(f"{at}.cross_attention", x, attend)
            x = self._add(f"{at}.feed_forward", x, self._feed)
        return self._norm(f"{stack}.norm", x) if self.pre else x

    def _add(self, name: str, x: Tensor, sublayer: Callable[[Tensor, str], Tensor]) -> Tensor:
        norm = f"{name}_residual.norm"
        if self.pre:
            return x + sublayer(self._norm(norm, x), name)
        return self._norm(norm, x + sublayer(x, name))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred**2).mean(-1, keepdim=True)
        normed = centred / (variance + self.epsilon).sqrt()
        return normed * self._get(f"{name}.weight") + self._get(f"{name}.bias")

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self._get(f"{name}.weight").T + self._get(f"{name}.bias")

    def _feed(self, x: Tensor, name: str) -> Tensor:
        return self._linear(f"{name}.w_2", self.activation(self._linear(f"{name}.w_1", x)))

    def _attend(self, x: Tensor, name: str, memory: Tensor | None, mask: Tensor | None) -> Tensor:
        y = x if memory is None else memory
        queries, keys, values = (
            self._linear(f"{name}.{w}", z).unflatten(1, (self.heads, -1)).transpose(0, 1)
            for w, z in (("w_q", x), ("w_k", y), ("w_v", y))
        )
        scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        mixed = scores.softmax(-1) @ values
        return self._linear(f"{name}.w_o", mixed.transpose(0, 1).flatten(1))
