"""The backend of PyTorch operators, for any device."""

import copy
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.backend import Cache, Heads, Owners, Precision
from headway.decoding.packed.int8 import Int8Product
from headway.decoding.packed.weights import Projection
from headway.kernels import dispatch

Product = Callable[[Tensor], Tensor]


SHARP: dict[Precision, float] = {"bfloat16": 1.0, "int8": 4.0}
"""Logits that are so much below the best of their row may stay rough; benchmarks/log/010, 048."""
SHARP_PIECES = 64
"""Logits that are computed again, at most, for one row: more than may ever be chosen from."""

# From this share of the vocabulary on, gathering weights costs more than it saves.
_NEARLY_ALL = 0.5


def product(
    projection: Projection, precision: Precision, device: torch.device, *, relu: bool = False
) -> Product:
    """Prepare (R, in) -> (R, out) in float32 whatever it is computed in; a ReLU where asked."""
    by = dispatch.pytorch_linear(precision, projection.weight.numel()).by
    if by is dispatch.By.PYTORCH_INT8:
        return Int8Product(projection, relu)
    dtype = torch.bfloat16 if by is dispatch.By.PYTORCH_BFLOAT16 else torch.float32
    weight = projection.weight.to(device, dtype)
    bias = projection.bias.to(device, dtype)

    def multiply(x: Float[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        y = F.linear(x.to(dtype), weight, bias)
        return (y.relu_() if relu else y).float()

    return multiply


class SharpProduct:
    """The projection to the vocabulary in fewer bits; what comes near the best, in float32 again.

    So rounding does not decide between pieces of which each may be chosen.
    """

    def __init__(self, projection: Projection, rough: Product, margin: float) -> None:
        """Keep both kinds of weights; rough: the product in fewer bits. margin: of `SHARP`."""
        self.rough = rough
        self.margin = margin
        self.weight, self.bias = projection.weight.float(), projection.bias.float()

    def __call__(self, x: Float[Tensor, "R d_model"]) -> Float[Tensor, "R V"]:
        """Compute the logits."""
        logits = self.rough(x)
        best, pieces = logits.topk(min(SHARP_PIECES, logits.size(1)), dim=1)
        rows, places = (best > best[:, :1] - self.margin).nonzero(as_tuple=True)
        near = pieces[rows, places]
        logits[rows, near] = (x[rows] * self.weight[near]).sum(dim=1) + self.bias[near]
        return logits


class ListedProduct:
    """x weight^T + bias for the union of all lists, of which each row then takes its own.

    The union is gathered when sentences begin, not at each step. In float32 whatever the rest is
    in, for there is little to save in so few pieces.
    """

    def __init__(self, projection: Projection, device: torch.device) -> None:
        """Keep the weights where they are; most models are never asked for a list."""
        self.projection = projection
        self.device = device
        self.size = len(projection.weight)

    @cached_property
    def _all(self) -> tuple[Float[Tensor, "V+1 d_model"], Float[Tensor, " V+1"]]:
        """Add one output: minus infinity, for places without a piece."""
        weight = self.projection.weight.to(self.device, torch.float32)
        bias = self.projection.bias.to(self.device, torch.float32)
        return (
            torch.cat([weight, weight.new_zeros(1, weight.size(1))]),
            torch.cat([bias, bias.new_tensor([-math.inf])]),
        )

    def __call__(
        self, x: Float[Tensor, "R d_model"], slots: Ints, allowed: AllowedPieces
    ) -> Float[Tensor, "R W"]:
        """Compute (R, d_model) -> (R, W); minus infinity beyond the end of a row's list."""
        if allowed.prepared is None:
            allowed.prepared = self._gather(allowed)
        weight, bias, columns = allowed.prepared
        own = columns[torch.from_numpy(slots).to(x.device), : allowed.width(slots)]  # (R, W)
        return F.linear(x, weight, bias).gather(1, own)

    def _gather(
        self, allowed: AllowedPieces
    ) -> tuple[Float[Tensor, "U d_model"], Float[Tensor, " U"], Int[Tensor, "slots W"]]:
        """Return the outputs that are in any list, and in which of these each list's are."""
        there = np.arange(allowed.table.shape[1]) < allowed.sizes[:, None]
        pieces = np.where(there, allowed.table, self.size)
        union = np.union1d(pieces, [self.size])
        weight, bias = self._all
        if len(union) > _NEARLY_ALL * self.size:
            return weight, bias, torch.from_numpy(pieces).to(self.device)
        index = torch.from_numpy(union).to(self.device)
        columns = torch.from_numpy(np.searchsorted(union, pieces)).to(self.device)
        return weight[index], bias[index], columns


class TorchBackend:
    """Tensors in, tensors out."""

    name = "PyTorch"
    by_memory = False

    def __init__(self, device: torch.device, precision: Precision = "float32") -> None:
        """Work on this device, with products in this precision, all else in float32.

        Caches are kept in bfloat16 where products are not in float32.
        """
        self.device = device
        self.precision: Precision = precision
        self.cache_dtype = torch.float32 if precision == "float32" else torch.bfloat16

    def array(self, tensor: Tensor) -> Tensor:
        """Return the tensor in float32."""
        return tensor.to(self.device, torch.float32)

    def tensor(self, array: Tensor) -> Tensor:
        """Return it as it is."""
        return array

    def empty(self, *shape: int) -> Tensor:
        """Return room for a cache."""
        return torch.zeros(shape, device=self.device, dtype=self.cache_dtype)

    def grow(self, cache: Tensor, room: int, lengths: Ints) -> Tensor:
        """Copy all of it at once."""
        longer = cache.new_zeros(len(cache), room, cache.size(2))
        longer[:, : cache.size(1)] = cache
        return longer

    def keep(self, rows: Tensor, first: int, slots: Ints, starts: Ints, cache: Tensor) -> None:
        """Write sentences' keys or values to the beginning of their slots."""
        numbers = rows[:, first : first + cache.size(2)]
        for slot, begin, end in zip(slots, starts[:-1], starts[1:], strict=True):
            cache[slot, : end - begin] = numbers[begin:end]

    def take(self, table: Tensor, ids: Ints) -> Tensor:
        """Return these rows of a table."""
        return table[self._index(ids)]

    def linear(self, projection: Projection, *, relu: bool = False, fine: bool = False) -> Product:
        """Prepare x weight^T + bias; in int8 also what is fine, for PyTorch is slower between."""
        return product(projection, self.precision, self.device, relu=relu)

    def output(self, projection: Projection) -> Product:
        """Prepare the projection to the vocabulary; on a CPU what decides is in float32.

        A GPU would have to wait until it is known which logits these are.
        """
        rough = self.linear(projection)
        by = dispatch.pytorch_linear(self.precision, projection.weight.numel()).by
        if self.device.type != "cpu" or by is dispatch.By.PYTORCH_FLOAT32:
            return rough
        return SharpProduct(projection, rough, SHARP[self.precision])

    def listed(self, projection: Projection) -> ListedProduct:
        """Prepare the projection to the pieces of each row's list."""
        return ListedProduct(projection, self.device)

    def join(self, first: object, second: object) -> None:
        """Return None, as `fuse` does."""

    def fuse(self, decoder: object) -> None:
        """Return None: operators are what these kernels are made of."""

    def norm(self, module: nn.LayerNorm) -> nn.LayerNorm:
        """Use the module, or where its numbers are of another type a copy of it in float32."""
        if module.weight is None or module.weight.dtype == torch.float32:
            return module
        return copy.deepcopy(module).float()

    def normalize(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Compute LayerNorm(x)."""
        return norm(x)

    def add_norm(self, x: Tensor, y: Tensor, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        """Compute x + y and LayerNorm(x + y)."""
        total = x + y
        return total, norm(total)

    def attend_to_source(
        self, qkv: Float[Tensor, "N width"], starts: Ints, heads: Heads
    ) -> Float[Tensor, "N H*d_v"]:
        """Pad the sentences to one length, attend, and take the padding away again."""
        lengths = self._index(starts[1:] - starts[:-1])
        there = torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]  # (B, S)
        padded = qkv.new_zeros(*there.shape, qkv.size(1))
        padded[there] = qkv
        q, k, v = (_split(part, heads.num_heads) for part in padded.split(_widths(heads), dim=2))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=there[:, None, None])
        return out.transpose(1, 2).flatten(2)[there]

    def attend_to_past(
        self,
        qkv: Float[Tensor, "R width"],
        rows: Ints,
        lengths: Ints,
        owners: Owners,
        cache: Cache,
        heads: Heads,
    ) -> Float[Tensor, "R H*d_v"]:
        """Write in place, gather each row's past by its owners, attend."""
        q, k, v = qkv.split(_widths(heads), dim=1)
        at = lengths[rows]
        owners[rows, at] = rows
        where, now = self._index(rows), self._index(at)
        cache.keys[where, now] = k.to(self.cache_dtype)
        cache.values[where, now] = v.to(self.cache_dtype)
        longest = int(at.max()) + 1
        past = torch.from_numpy(owners[rows, :longest]).long().to(self.device)  # (R, T)
        steps = torch.arange(longest, device=self.device)
        there = steps <= now[:, None]
        past = past.where(there, 0)
        q = q.unflatten(1, (heads.num_heads, 1, heads.d_k))  # (R, H, 1, d_k)
        keys, values = cache.keys[past, steps], cache.values[past, steps]  # (R, T, H * d)
        return _attend(q, keys, values, there[:, None, None]).flatten(1)

    def attend_to_memory(
        self, q: Float[Tensor, "R width"], slots: Ints, lengths: Ints, cache: Cache, heads: Heads
    ) -> Float[Tensor, "R H*d_v"]:
        """Attend with all hypotheses of a sentence together, which reads its memory once."""
        at_work, place = np.unique(slots, return_inverse=True)
        copy = np.arange(len(slots)) - np.searchsorted(slots, slots)  # the slots ascend
        where, beside = self._index(place), self._index(copy)
        queries = q.new_zeros(len(at_work), int(copy.max()) + 1, q.size(1))  # (N, K, H * d_k)
        queries[where, beside] = q
        own = self._index(lengths[at_work])
        longest = int(lengths[at_work].max())
        there = torch.arange(longest, device=self.device) < own[:, None]  # (N, S)
        index = self._index(at_work)
        keys, values = cache.keys[index, :longest], cache.values[index, :longest]
        queries = queries.unflatten(2, (heads.num_heads, -1)).transpose(1, 2)  # (N, H, K, d_k)
        out = _attend(queries, keys, values, there[:, None, None])  # (N, H, K, d_v)
        return out.transpose(1, 2).flatten(2)[where, beside]

    def _index(self, ints: Ints) -> Tensor:
        return torch.from_numpy(ints).to(self.device)


def _widths(heads: Heads) -> list[int]:
    return [heads.num_heads * heads.d_k] * 2 + [heads.num_heads * heads.d_v]


def _split(x: Float[Tensor, "B L width"], num_heads: int) -> Float[Tensor, "B H L d"]:
    return x.unflatten(2, (num_heads, -1)).transpose(1, 2)


def _attend(
    q: Float[Tensor, "B H L d_k"],
    keys: Float[Tensor, "B T H*d_k"],
    values: Float[Tensor, "B T H*d_v"],
    there: Bool[Tensor, "B 1 1 T"],
) -> Float[Tensor, "B H L d_v"]:
    """Compute equation 1; caches hold zeros where nothing was written, never NaN."""
    k, v = (_split(part.float(), q.size(1)) for part in (keys, values))  # (B, H, T, d)
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (B, H, L, T)
    return scores.masked_fill(~there, -math.inf).softmax(dim=-1) @ v
