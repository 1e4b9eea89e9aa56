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
from headway.decoding.packed.backend import Cache, Heads, Owners
from headway.decoding.packed.int8 import Int8Product
from headway.decoding.packed.weights import Projection
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision

Product = Callable[[Tensor], Tensor]


SHARP: dict[Precision, float] = {"bfloat16": 1.0, "int8": 4.0}
"""Logits this far below the best of their row may stay rough; benchmarks/log/010, 048."""
SHARP_PIECES = 64
"""The most logits of a row that are computed again; a search chooses from fewer."""

# Above this share of the vocabulary, gathering weights costs more than it saves.
_NEARLY_ALL = 0.5


def product(
    projection: Projection, precision: Precision, device: torch.device, *, relu: bool = False
) -> Product:
    """Prepare (R, in) -> (R, out); the result is in float32, with a ReLU if `relu`."""
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
    """The projection to the vocabulary in fewer bits; logits near the best again in float32.

    So rounding does not decide between the pieces that a search may choose.
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
    """x weight^T + bias for the union of all lists; each row then takes its own list.

    The union is gathered when sentences begin, not at each step. It is always in float32, because
    fewer bits save little time for so few pieces.
    """

    def __init__(self, projection: Projection, device: torch.device) -> None:
        """Keep the weights without copying; most models never use lists."""
        self.projection = projection
        self.device = device
        self.size = len(projection.weight)

    @cached_property
    def _all(self) -> tuple[Float[Tensor, "V+1 d_model"], Float[Tensor, " V+1"]]:
        """Append an output of minus infinity, for the places after the end of a list."""
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
        by_row = columns[torch.from_numpy(slots).to(x.device), : allowed.width(slots)]  # (R, W)
        return F.linear(x, weight, bias).gather(1, by_row)

    def _gather(
        self, allowed: AllowedPieces
    ) -> tuple[Float[Tensor, "U d_model"], Float[Tensor, " U"], Int[Tensor, "slots W"]]:
        """Return the outputs in any list, and the columns of each list among these."""
        in_list = np.arange(allowed.table.shape[1]) < allowed.sizes[:, None]
        pieces = np.where(in_list, allowed.table, self.size)
        union = np.union1d(pieces, [self.size])
        weight, bias = self._all
        if len(union) > _NEARLY_ALL * self.size:
            return weight, bias, torch.from_numpy(pieces).to(self.device)
        index = torch.from_numpy(union).to(self.device)
        columns = torch.from_numpy(np.searchsorted(union, pieces)).to(self.device)
        return weight[index], bias[index], columns


class TorchBackend:
    """The operations by PyTorch's operators, on tensors."""

    name = "PyTorch"
    by_memory = False

    def __init__(self, device: torch.device, precision: Precision = "float32") -> None:
        """Compute on this device, products in this precision, everything else in float32.

        Caches are in float32 with float32 products, else in bfloat16.
        """
        self.device = device
        self.precision: Precision = precision
        self.cache_dtype = torch.float32 if precision == "float32" else torch.bfloat16

    def array(self, tensor: Tensor) -> Tensor:
        """Return the tensor in float32."""
        return tensor.to(self.device, torch.float32)

    def tensor(self, array: Tensor) -> Tensor:
        """Return the tensor."""
        return array

    def empty(self, *shape: int) -> Tensor:
        """Return an array for a cache."""
        return torch.zeros(shape, device=self.device, dtype=self.cache_dtype)

    def cells(self, *shape: int) -> Tensor:
        """Return an array for the cells of an SSRU."""
        return torch.zeros(shape, device=self.device)

    def grow(self, cache: Tensor, room: int, lengths: Ints) -> Tensor:
        """Copy the whole cache at once."""
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

    def linear(
        self, projection: Projection, *, relu: bool = False, sensitive: bool = False
    ) -> Product:
        """Prepare x weight^T + bias; even a sensitive one in int8: bfloat16 would be too slow."""
        return product(projection, self.precision, self.device, relu=relu)

    def output(self, projection: Projection) -> Product:
        """Prepare the projection to the vocabulary; on a CPU logits near the best are in float32.

        On a GPU, the program would have to wait until the best logits are known.
        """
        rough = self.linear(projection)
        by = dispatch.pytorch_linear(self.precision, projection.weight.numel()).by
        if self.device.type != "cpu" or by is dispatch.By.PYTORCH_FLOAT32:
            return rough
        return SharpProduct(projection, rough, SHARP[self.precision])

    def listed(self, projection: Projection) -> ListedProduct:
        """Prepare the projection to the pieces of each row's list."""
        return ListedProduct(projection, self.device)

    def join(self, first: object, second: object, activation: object) -> None:
        """Return None, as `fuse` does."""

    def fuse(self, decoder: object) -> None:
        """Return None: PyTorch has separate operators."""

    def fuse_encoder(self, embedding: object, encoder: object, memory: object) -> None:
        """Return None, as `fuse` does."""

    def search_loop(
        self,
        embedding: object,
        decoder: object,
        output: object,
        encoder: object,
        drafts: object,
    ) -> None:
        """Return None: there is no loop without compiled kernels."""

    def norm(self, module: nn.LayerNorm) -> nn.LayerNorm:
        """Return the module, or a copy in float32 if its weights have another type."""
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
        """Pad the sentences to one length, attend, and remove the padding."""
        lengths = self._index(starts[1:] - starts[:-1])
        mask = torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]  # (B, S)
        padded = qkv.new_zeros(*mask.shape, qkv.size(1))
        padded[mask] = qkv
        q, k, v = (_split(part, heads.num_heads) for part in padded.split(_widths(heads), dim=2))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        return out.transpose(1, 2).flatten(2)[mask]

    def attend_to_past(
        self,
        qkv: Float[Tensor, "R width"],
        rows: Ints,
        lengths: Ints,
        owners: Owners,
        cache: Cache,
        heads: Heads,
    ) -> Float[Tensor, "R H*d_v"]:
        """Write in place, gather each row's past by its owners, and attend."""
        q, k, v = qkv.split(_widths(heads), dim=1)
        at = lengths[rows]
        owners[rows, at] = rows
        where, now = self._index(rows), self._index(at)
        cache.keys[where, now] = k.to(self.cache_dtype)
        cache.values[where, now] = v.to(self.cache_dtype)
        longest = int(at.max()) + 1
        past = torch.from_numpy(owners[rows, :longest]).long().to(self.device)  # (R, T)
        steps = torch.arange(longest, device=self.device)
        mask = steps <= now[:, None]  # (R, T)
        past = past.where(mask, 0)
        q = q.unflatten(1, (heads.num_heads, 1, heads.d_k))  # (R, H, 1, d_k)
        keys, values = cache.keys[past, steps], cache.values[past, steps]  # (R, T, H * d)
        return _attend(q, keys, values, mask[:, None, None]).flatten(1)

    def recur(
        self,
        projected: Float[Tensor, "R 2*d_model"],
        rows: Ints,
        lengths: Ints,
        owners: Owners,
        cells: Float[Tensor, "rows 2 d_model"],
    ) -> Float[Tensor, "R d_model"]:
        """Gather each row's cell by its owner, and write the new one in place."""
        at = lengths[rows]
        owners[rows, at] = rows
        candidate, gate = projected.chunk(2, dim=1)
        forget = gate.sigmoid()
        new = (1 - forget) * candidate
        parent = owners[rows, np.maximum(at - 1, 0)].astype(np.int64)
        before = cells[self._index(parent), self._index((at + 1) % 2)]
        has_past = self._index(at)[:, None] > 0
        new += torch.where(has_past, forget * before, 0.0)
        cells[self._index(rows), self._index(at % 2)] = new
        return new.relu()

    def attend_to_memory(
        self, q: Float[Tensor, "R width"], slots: Ints, lengths: Ints, cache: Cache, heads: Heads
    ) -> Float[Tensor, "R H*d_v"]:
        """Attend with all hypotheses of a sentence together, to read its memory once."""
        at_work, place = np.unique(slots, return_inverse=True)
        copy = np.arange(len(slots)) - np.searchsorted(slots, slots)  # the slots ascend
        sentence, hypothesis = self._index(place), self._index(copy)
        queries = q.new_zeros(len(at_work), int(copy.max()) + 1, q.size(1))  # (N, K, H * d_k)
        queries[sentence, hypothesis] = q
        source_lengths = self._index(lengths[at_work])
        longest = int(lengths[at_work].max())
        mask = torch.arange(longest, device=self.device) < source_lengths[:, None]  # (N, S)
        index = self._index(at_work)
        keys, values = cache.keys[index, :longest], cache.values[index, :longest]
        queries = queries.unflatten(2, (heads.num_heads, -1)).transpose(1, 2)  # (N, H, K, d_k)
        out = _attend(queries, keys, values, mask[:, None, None])  # (N, H, K, d_v)
        return out.transpose(1, 2).flatten(2)[sentence, hypothesis]

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
    mask: Bool[Tensor, "B 1 1 T"],
) -> Float[Tensor, "B H L d_v"]:
    """Compute equation 1; unwritten places of caches are zeros, never NaN."""
    k, v = (_split(part.float(), q.size(1)) for part in (keys, values))  # (B, H, T, d)
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (B, H, L, T)
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ v
