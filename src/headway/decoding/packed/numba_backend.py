"""The backend of kernels compiled by Numba, on a CPU."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from jaxtyping import Float, Int8
from numpy.typing import NDArray
from torch import Tensor, nn

from headway.data.draft_counts import DraftCounts
from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.backend import (
    Cache,
    Heads,
    Linear,
    Owners,
    SearchLoop,
    WholeDecoder,
    WholeEncoder,
)
from headway.decoding.packed.int8 import Int8Product, quantize_weight
from headway.decoding.packed.layers import (
    DecoderStep,
    FeedForward,
    MemoryAttention,
    PackedEmbedding,
    PastAttention,
    PastRecurrence,
    SourceAttention,
    Stack,
)
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.torch_backend import (
    SHARP,
    SHARP_PIECES,
    Product,
    product,
)
from headway.decoding.packed.weights import Projection
from headway.kernels import (
    attention_step,
    decoder_step,
    dispatch,
    encoder_pass,
    linear,
    recurrence_step,
    two_cores,
)
from headway.kernels.codegen.addresses import addresses_of
from headway.kernels.codegen.calls import Form, form
from headway.kernels.dispatch import Precision
from headway.kernels.float_linear import in_float_blocks, in_pair_blocks
from headway.kernels.linear_blocks import LARGEST_BYTE
from headway.kernels.quantized_linear import in_byte_blocks, least_steps
from headway.kernels.shortlist_rows import multiply_listed
from headway.kernels.top_k import sharpen
from headway.runtime.memory import sparse
from headway.runtime.openmp import usable_cores

Floats = NDArray[np.float32]
CacheArray = NDArray[Any]


class LoopProduct(ABC):
    """A matrix product by one compiled kernel."""

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Pack the weights."""
        bias = projection.bias.float().contiguous().numpy()
        self.weight = self.pack(projection.weight, bias)
        self.num_outputs = bias.size
        self.relu = relu

    @staticmethod
    @abstractmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Return weights and bias in the layout of `linear.project`."""

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        y = np.empty((len(x), self.num_outputs), np.float32)
        linear.project(x, self.weight, self.relu, y)
        return y


class LoopFeedForward:
    """Two products with ReLU or SiLU between them, equation 2, by one compiled kernel."""

    def __init__(self, first: LoopProduct, second: LoopProduct, activation: str) -> None:
        """Use the prepared weights; a ReLU is part of the first product, a SiLU is not."""
        self.first, self.second, self.activation = first, second, activation

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, d_model) -> (R, d_model)."""
        first, second = self.first, self.second
        y = np.empty((len(x), second.num_outputs), np.float32)
        linear.feed_forward(x, first.weight, second.weight, first.num_outputs, y, self.activation)
        return y


class Float32Product(LoopProduct):
    """A product in float32."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Return weights and bias in blocks of float32."""
        return in_float_blocks(weight.float().contiguous().numpy(), bias)


class Bfloat16Product(LoopProduct):
    """A product of numbers rounded to bfloat16, summed in float32."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Round the weights to bfloat16."""
        return in_pair_blocks(weight.float().contiguous().numpy(), bias)


class Int8LoopProduct(LoopProduct):
    """A product of integers; each row is rounded between its extremes."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Round the weights to 8-bit integers."""
        whole, steps = quantize_to_fit(weight)
        return in_byte_blocks(whole.numpy(), steps.numpy(), bias)


def quantize_to_fit(
    weight: Float[Tensor, "out in"],
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, " out"]]:
    """Return whole numbers and the step of each output, such that no sum overflows."""
    least = least_steps(weight.detach().float().numpy())
    return quantize_weight(weight, torch.from_numpy(least))


class SharpLoop:
    """The projection to the vocabulary in fewer bits; logits near the best are made exact."""

    def __init__(self, rough: Linear, weight: Floats, bias: Floats, margin: np.float32) -> None:
        """rough: the product in fewer bits. weight, (V, d_model), and bias, (V,), in float32.

        margin: how far below the best a logit is made exact, from `SHARP`.
        """
        self.rough, self.weight, self.bias, self.margin = rough, weight, bias, margin

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, d_model) -> (R, V)."""
        logits = self.rough(x)
        sharpen(x, self.weight, self.bias, self.margin, SHARP_PIECES, logits)
        return logits


class ListedLoop:
    """x weight^T + bias for the pieces of each row's list, in float32.

    The rows of the output table are read in place. So no rows are copied when a sentence begins,
    and the time of a row depends on its own list alone.
    """

    def __init__(self, weight: Floats, bias: Floats) -> None:
        """Use the table, (V, d_model), and the bias, (V,), without copying."""
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Floats, slots: Ints, allowed: AllowedPieces) -> Floats:
        """Compute (R, d_model) -> (R, W); minus infinity beyond the end of a row's list."""
        y = np.empty((len(x), allowed.width(slots)), np.float32)
        multiply_listed(x, slots, allowed.table, allowed.sizes, self.weight, self.bias, y)
        return y


class FusedDecoder:
    """A whole decoder, whose layers have the same sizes, activation and kinds of products."""

    def __init__(self, decoder: Stack, cache_dtype: Any) -> None:
        """Use the prepared weights; cache_dtype: float32, or uint16 for bfloat16."""
        products = _products(decoder)
        self.cache_dtype = cache_dtype
        self.products = products  # keeps the weights alive
        self.first_weights = tuple(role[0].weight for role in products)
        # One type for all precisions, so that their `decode_rows` is the same.
        self.weights = tuple(weight.view(np.int32) for weight in self.first_weights)
        self.weight_addresses = np.stack(
            [addresses_of([product.weight for product in role]) for role in products]
        )
        self.all_weights = _weights_of(products)
        self.d_ff = products[-2][0].num_outputs
        self.activation = _activation(decoder)
        self.gammas = np.stack([norm.gamma for norm in decoder.norms])
        self.betas = np.stack([norm.beta for norm in decoder.norms])
        self.epsilon = decoder.norms[0].epsilon
        attentions = [s for s in decoder.sublayers if isinstance(s, MemoryAttention)]
        self.heads = attentions[0].heads
        self.num_heads = self.heads.num_heads
        self.pre = decoder.pre
        self.recurrent = any(isinstance(s, PastRecurrence) for s in decoder.sublayers)

    @staticmethod
    def choice(decoder: Stack) -> dispatch.Choice:
        """Return the choice for this decoder: one call, or one for each operation."""
        products = _products(decoder)
        return _whole_stack(decoder, products)

    def __call__(self, x: Floats, step: DecoderStep) -> Floats:
        """Compute (R, d_model) -> (R, d_model), in place."""
        state: PackedState = step.state
        decoder_step.decode_rows(
            x, step.rows, step.slots, state.lengths, state.owners, state.source_lengths,
            *caches_of(state), 0, *self.arguments,
        )  # fmt: skip
        return x

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `decode_rows` that are the same at every step; compiles its callees."""
        return self.with_calls(_addresses_of_code(self.callees()))

    def with_calls(self, calls: Ints) -> tuple[Any, ...]:
        """Return these arguments with the addresses of kernels."""
        return (
            self.weights, self.weight_addresses, calls, self.num_heads, self.d_ff,
            self.gammas, self.betas, self.epsilon, self.pre, self.recurrent,
        )  # fmt: skip

    def callees(self) -> list[Form]:
        """Return the kernels whose addresses `decode_rows` takes, in its order."""
        rows, ints = np.empty((1, 1), np.float32), np.empty(1, np.int64)
        owners, cache = np.empty((1, 1), np.int32), np.empty((1, 1, 1), self.cache_dtype)
        *single, first, second = self.first_weights
        if self.recurrent:
            cells = np.empty((1, 1, 1), np.float32)
            past = form(recurrence_step.recur, rows, ints, ints, owners, cells, rows)
        else:
            attended = rows, ints, ints, owners, cache, cache, 0, self.num_heads, rows
            past = form(attention_step.attend_to_past, *attended)
        memory = rows, ints, ints, cache, cache, 0, self.num_heads, rows
        return [
            *(form(linear.product_with(weight), rows, weight, False, rows, 0) for weight in single),
            form(
                linear.network_with(first, second, self.activation),
                rows,
                first,
                second,
                self.d_ff,
                rows,
                0,
            ),
            past,
            form(attention_step.attend_to_memory, *memory),
            _attention(self.heads, self.cache_dtype),
        ]


def caches_of(
    state: PackedState,
) -> tuple[tuple[CacheArray, CacheArray, CacheArray, CacheArray], Ints]:
    """Return the first layer's caches, and the addresses of all layers' caches, (4, layers)."""
    if state.addresses is None:
        state.addresses = _addresses(state)
    memory = state.memory[0]
    if state.cells:
        cells = state.cells[0]
        no_values = np.empty((*cells.shape[:2], 0), np.float32)
        return (cells, no_values, memory.keys, memory.values), state.addresses
    past = state.past[0]
    return (past.keys, past.values, memory.keys, memory.values), state.addresses


class FusedEncoder:
    """The embedding, a whole encoder of the same kind, and the keys and values of the memory."""

    def __init__(self, embedding: PackedEmbedding, encoder: Stack, memory: LoopProduct) -> None:
        """Use the prepared weights."""
        products = _encoder_products(encoder)
        self.embedding = embedding
        self.products = products  # keeps the weights alive
        self.memory = memory
        self.first_weights = (*(role[0].weight for role in products), memory.weight)
        # One type for all precisions, so that `encode_rows` is compiled once.
        self.weights = tuple(weight.view(np.int32) for weight in self.first_weights)
        self.weight_addresses = np.stack(
            [addresses_of([product.weight for product in role]) for role in products]
        )
        self.divided = two_cores.Products(_weights_of([*products, [memory]]))
        self.d_ff = products[-2][0].num_outputs
        self.activation = _activation(encoder)
        self.gammas = np.stack([norm.gamma for norm in encoder.norms])
        self.betas = np.stack([norm.beta for norm in encoder.norms])
        self.epsilon = encoder.norms[0].epsilon
        attentions = [s for s in encoder.sublayers if isinstance(s, SourceAttention)]
        self.heads = attentions[0].heads
        self.pre = encoder.pre

    @staticmethod
    def choice(encoder: Stack, memory: Linear) -> dispatch.Choice:
        """Return the choice for this encoder: one call, or one for each operation."""
        return _whole_stack(encoder, [*_encoder_products(encoder), [memory]])

    def __call__(self, ids: Ints, starts: Ints) -> Floats:
        """Compute the keys and values of all decoder layers, (N,) -> (N, width)."""
        longest = int((starts[1:] - starts[:-1]).max())
        keys_values = np.empty((len(ids), self.memory.num_outputs), np.float32)
        with two_cores.second_core(self.divided, usable_cores()) as helper:
            all_known = encoder_pass.encode_rows(
                *self._arguments(ids, starts, helper, longest, self._calls, keys_values)
            )
        if not all_known:
            raise self.embedding.unknown(ids)
        return keys_values

    def _arguments(
        self, ids: Ints, starts: Ints, helper: int, longest: int, calls: Ints, keys_values: Floats
    ) -> tuple[Any, ...]:
        """Return the arguments of `encode_rows` for sentences of at most `longest` pieces."""
        heads = self.heads
        return (
            ids, starts, helper, self.embedding.table, np.float32(self.embedding.scale),
            self.embedding.positions_to(longest), self.weights, self.weight_addresses, calls,
            heads.num_heads, heads.num_heads * heads.d_k, heads.num_heads * heads.d_v, self.d_ff,
            self.gammas, self.betas, self.epsilon, self.pre, keys_values,
        )  # fmt: skip

    def kernels(self) -> list[Form]:
        """Return the kernels that encoding calls, from Python and by address."""
        ints, rows = np.empty(1, np.int64), np.empty((1, 1), np.float32)
        arguments = self._arguments(ints, ints, 0, 1, ints, rows)
        call = form(encoder_pass.encode_rows, *arguments)
        return [call, *self.callees(), *self.divided.kernels()]

    @cached_property
    def _calls(self) -> Ints:
        """The addresses of kernels, which are compiled at the first sentence."""
        return _addresses_of_code(self.callees())

    def callees(self) -> list[Form]:
        """Return the kernels whose addresses `encode_rows` takes, in its order."""
        w_qkv, w_o, w_1, w_2, memory = self.first_weights
        rows, starts, vector = np.empty((1, 1), np.float32), np.empty(1, np.int64), self.gammas[0]
        return [
            *(
                form(linear.product_with(weight), rows, weight, False, rows, 0)
                for weight in (w_qkv, w_o, memory)
            ),
            form(
                linear.network_with(w_1, w_2, self.activation), rows, w_1, w_2, self.d_ff, rows, 0
            ),
            form(attention_step.attend_to_source, rows, starts, rows, rows, 0, 1, rows),
            form(decoder_step.add_norm, rows, rows, vector, vector, self.epsilon, rows, rows),
            _attention(self.heads, np.float32),
        ]


def _addresses_of_code(callees: Sequence[Form]) -> Ints:
    return np.array([callee.address for callee in callees], np.int64)


def _attention(heads: Heads, dtype: Any) -> Form:
    """Return the form of equation 1 for these heads, keys and values in this type."""
    count = heads.num_heads
    keys: CacheArray = np.empty((0, count * heads.d_k), dtype)
    values: CacheArray = np.empty((0, count * heads.d_v), dtype)
    return attention_step.attention_for(keys, values, count)


def _whole_stack(stack: Stack, products: list[list[Any]]) -> dispatch.Choice:
    """Return the choice for a stack with these products by role."""
    networks = [s for s in stack.sublayers if isinstance(s, FeedForward)]
    return dispatch.whole_stack(
        compiled=all(isinstance(p, LoopProduct) for role in products for p in role),
        activated={network.name for network in networks} in ({"relu"}, {"silu"}),
        one_size=_has_one_size(stack),
        one_epsilon=len({float(norm.epsilon) for norm in stack.norms}) == 1,
        one_kind=all(len({type(product) for product in role}) == 1 for role in products),
    )


def _weights_of(products: list[list[Any]]) -> list[NDArray[Any]]:
    """Return the weights of products by role."""
    return [product.weight for role in products for product in role]


def _activation(stack: Stack) -> str:
    """Return the activation of the feed-forward networks, which is the same in all layers."""
    return next(s.name for s in stack.sublayers if isinstance(s, FeedForward))


def _addresses(state: PackedState) -> Ints:
    """Return the addresses of all layers' caches, in the order of `decode_rows`, (4, layers)."""
    # An SSRU has no values, so the address of the cells is there twice.
    past = [state.cells] * 2 if state.cells else _parts(state.past)
    return np.stack([addresses_of(part) for part in (*past, *_parts(state.memory))])


def _parts(caches: Sequence[Cache]) -> list[list[CacheArray]]:
    """Return the keys and the values of all layers."""
    return [[cache.keys for cache in caches], [cache.values for cache in caches]]


def _has_one_size(stack: Stack) -> bool:
    """Return True if all layers have the same sub-layers, width and heads."""
    attentions = (
        s
        for s in stack.sublayers
        if isinstance(s, PastAttention | MemoryAttention | SourceAttention)
    )
    networks = (s for s in stack.sublayers if isinstance(s, FeedForward))
    heads = {attention.heads for attention in attentions}
    past = {type(s) for s in stack.sublayers if isinstance(s, PastAttention | PastRecurrence)}
    return len(heads) == len({network.d_ff for network in networks}) == 1 and len(past) <= 1


def _products(decoder: Stack) -> list[list[Any]]:
    """Return the products of all layers, by role, in the order of `decode_rows`."""
    past = [s for s in decoder.sublayers if isinstance(s, PastAttention)]
    recurrences = [s.w_xf for s in decoder.sublayers if isinstance(s, PastRecurrence)]
    memory = [s for s in decoder.sublayers if isinstance(s, MemoryAttention)]
    feed_forward = [s for s in decoder.sublayers if isinstance(s, FeedForward)]
    return [
        [attention.w_qkv for attention in past] + recurrences,
        [attention.w_o for attention in past] + recurrences,
        [attention.w_q for attention in memory],
        [attention.w_o for attention in memory],
        [network.w_1 for network in feed_forward],
        [network.w_2 for network in feed_forward],
    ]


def _encoder_products(encoder: Stack) -> list[list[Any]]:
    """Return the products of all layers, by role, in the order of `encode_rows`."""
    attention = [s for s in encoder.sublayers if isinstance(s, SourceAttention)]
    feed_forward = [s for s in encoder.sublayers if isinstance(s, FeedForward)]
    return [
        [sublayer.w_qkv for sublayer in attention],
        [sublayer.w_o for sublayer in attention],
        [network.w_1 for network in feed_forward],
        [network.w_2 for network in feed_forward],
    ]


class _Norm(NamedTuple):
    gamma: Floats
    beta: Floats
    epsilon: np.float32


class NumbaBackend:
    """The operations by compiled kernels, on NumPy arrays."""

    name = ", ".join(
        text
        for text, applies in [
            (f"Numba {numba.__version__}", True),
            (f"sums of bytes to {LARGEST_BYTE}", dispatch.multiplies_bytes()),
            ("sums of bfloat16", dispatch.multiplies_bfloat16()),
            ("tiles", dispatch.has_amx()),
        ]
        if applies
    )
    by_memory = True

    def __init__(self, precision: Precision = "float32") -> None:
        """Compute products in this precision, and everything else in float32.

        Caches are in float32 with float32 products, else in bfloat16.
        """
        self.precision: Precision = precision
        self.cache_dtype = np.float32 if precision == "float32" else np.uint16

    def array(self, tensor: Tensor) -> Floats:
        """Return the tensor as an array in float32."""
        return tensor.detach().float().cpu().contiguous().numpy()

    def tensor(self, array: Floats) -> Tensor:
        """Return the same memory as a tensor."""
        return torch.from_numpy(array)

    def empty(self, *shape: int) -> CacheArray:
        """Return an array for a cache; memory is allocated when it is first written."""
        return sparse(shape, self.cache_dtype)

    def cells(self, *shape: int) -> Floats:
        """Return an array for the cells of an SSRU."""
        return np.zeros(shape, np.float32)

    def grow(self, cache: CacheArray, room: int, lengths: Ints) -> CacheArray:
        """Copy only the written positions, so that the others take no memory yet."""
        longer = self.empty(len(cache), room, cache.shape[2])
        for row, length in enumerate(lengths.tolist()):
            longer[row, : min(length, cache.shape[1])] = cache[row, :length]
        return longer

    def keep(self, rows: Floats, first: int, slots: Ints, starts: Ints, cache: CacheArray) -> None:
        """Write sentences' keys or values to the beginning of their slots."""
        attention_step.keep_memory(rows, first, slots, starts, cache)

    def take(self, table: Floats, ids: Ints) -> Floats:
        """Return these rows of a table."""
        return table[ids]

    def linear(
        self, projection: Projection, *, relu: bool = False, sensitive: bool = False
    ) -> Callable[[Floats], Floats]:
        """Prepare x weight^T + bias, as `dispatch.compiled_linear` chooses."""
        weights = projection.weight.numel()
        match dispatch.compiled_linear(self.precision, weights, sensitive=sensitive).by:
            case dispatch.By.NUMBA_INT8:
                return Int8LoopProduct(projection, relu)
            case dispatch.By.NUMBA_BFLOAT16:
                return Bfloat16Product(projection, relu)
            case dispatch.By.PYTORCH_INT8:
                return _by_pytorch(Int8Product(projection, relu))
            case dispatch.By.PYTORCH_BFLOAT16:
                return _by_pytorch(product(projection, "bfloat16", torch.device("cpu"), relu=relu))
            case _:
                return Float32Product(projection, relu)

    def output(self, projection: Projection) -> Linear:
        """Prepare the projection to the vocabulary; logits near the best are in float32."""
        rough = self.linear(projection)
        if type(rough) is Float32Product:
            return rough
        weight, bias = self.array(projection.weight), self.array(projection.bias)
        return SharpLoop(rough, weight, bias, np.float32(SHARP[self.precision]))

    def listed(self, projection: Projection) -> ListedLoop:
        """Prepare the projection to the pieces of each row's list."""
        return ListedLoop(self.array(projection.weight), self.array(projection.bias))

    def join(self, first: Linear, second: Linear, activation: str) -> LoopFeedForward | None:
        """Return both products as one call if both are compiled, with ReLU or SiLU between them."""
        if not isinstance(first, LoopProduct) or not isinstance(second, LoopProduct):
            return None
        if activation not in ("relu", "silu"):
            return None
        return LoopFeedForward(first, second, activation)

    def fuse(self, decoder: Stack) -> WholeDecoder | None:
        """Return the decoder as one call if `dispatch.whole_stack` chooses that."""
        whole = FusedDecoder.choice(decoder).by is dispatch.By.NUMBA_WHOLE
        return FusedDecoder(decoder, self.cache_dtype) if whole else None

    def fuse_encoder(
        self, embedding: PackedEmbedding, encoder: Stack, memory: Linear
    ) -> WholeEncoder | None:
        """Return the encoder as one call if `dispatch.whole_stack` chooses that."""
        whole = FusedEncoder.choice(encoder, memory).by is dispatch.By.NUMBA_WHOLE
        if not whole or not isinstance(memory, LoopProduct):
            return None
        return FusedEncoder(embedding, encoder, memory)

    def search_loop(
        self,
        embedding: PackedEmbedding,
        decoder: WholeDecoder | None,
        output: Linear,
        encoder: WholeEncoder | None,
        drafts: DraftCounts | None,
    ) -> SearchLoop | None:
        """Return the loop if `dispatch.search_loop` chooses it."""
        product = output.rough if isinstance(output, SharpLoop) else output
        compiled = isinstance(product, LoopProduct)
        choice = dispatch.search_loop(
            whole=isinstance(decoder, FusedDecoder),
            compiled=compiled,
            one_vocabulary=compiled and product.num_outputs <= len(embedding.table),
        )
        if choice.by is dispatch.By.SEPARATE:
            return None
        assert isinstance(decoder, FusedDecoder)
        assert isinstance(output, LoopProduct | SharpLoop)
        assert encoder is None or isinstance(encoder, FusedEncoder)
        from headway.decoding.packed.search_loop import CompiledLoop

        return CompiledLoop(embedding, decoder, output, encoder, drafts)

    def norm(self, module: nn.LayerNorm) -> _Norm:
        """Extract the vectors of the module."""
        shape = module.normalized_shape
        gamma = torch.ones(shape) if module.weight is None else module.weight
        beta = torch.zeros(shape) if module.bias is None else module.bias
        return _Norm(self.array(gamma), self.array(beta), np.float32(module.eps))

    def normalize(self, x: Floats, norm: _Norm) -> Floats:
        """Compute LayerNorm(x)."""
        return self.add_norm(x, np.zeros_like(x), norm)[1]

    def add_norm(self, x: Floats, y: Floats, norm: _Norm) -> tuple[Floats, Floats]:
        """Compute x + y and LayerNorm(x + y)."""
        total, result = np.empty_like(x), np.empty_like(x)
        decoder_step.add_norm(x, y, norm.gamma, norm.beta, norm.epsilon, total, result)
        return total, result

    def attend_to_source(self, qkv: Floats, starts: Ints, heads: Heads) -> Floats:
        """Let each piece attend to its sentence."""
        longest = int((starts[1:] - starts[:-1]).max())
        out = np.empty((len(qkv), heads.num_heads * heads.d_v), np.float32)
        keys = np.empty((longest, heads.num_heads * heads.d_k), np.float32)
        values = np.empty((longest, heads.num_heads * heads.d_v), np.float32)
        attend = attention_step.attend_at(keys, values, heads.num_heads)
        attention_step.attend_to_source(qkv, starts, keys, values, attend, heads.num_heads, out)
        return out

    def attend_to_past(
        self, qkv: Floats, rows: Ints, lengths: Ints, owners: Owners, cache: Cache, heads: Heads
    ) -> Floats:
        """Append the newest keys and values; attend to all so far."""
        out = np.empty((len(qkv), heads.num_heads * heads.d_v), np.float32)
        keys, values, count = cache.keys, cache.values, heads.num_heads
        attend = attention_step.attend_at(keys, values, count)
        attention_step.attend_to_past(qkv, rows, lengths, owners, keys, values, attend, count, out)
        return out

    def recur(
        self, projected: Floats, rows: Ints, lengths: Ints, owners: Owners, cells: Floats
    ) -> Floats:
        """Update the cells of these rows; return ReLU of them."""
        out = np.empty((len(projected), projected.shape[1] // 2), np.float32)
        recurrence_step.recur(projected, rows, lengths, owners, cells, out)
        return out

    def attend_to_memory(
        self, q: Floats, slots: Ints, lengths: Ints, cache: Cache, heads: Heads
    ) -> Floats:
        """Attend to the memory in each row's slot."""
        out = np.empty((len(q), heads.num_heads * heads.d_v), np.float32)
        keys, values, count = cache.keys, cache.values, heads.num_heads
        attend = attention_step.attend_at(keys, values, count)
        attention_step.attend_to_memory(q, slots, lengths, keys, values, attend, count, out)
        return out


def _by_pytorch(multiply: Product) -> Callable[[Floats], Floats]:
    """Let a PyTorch product take arrays; used where kernels lack instructions for the product."""
    return lambda x: multiply(torch.from_numpy(x)).numpy()
