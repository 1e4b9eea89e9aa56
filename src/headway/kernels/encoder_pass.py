"""The embedding, all encoder layers and the projection of the memory in one call (section 3.1)."""

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints
from headway.kernels.codegen.addresses import array_at
from headway.kernels.codegen.calls import call_at
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import Code, Value, generated

Bits = NDArray[np.int32]
Weights = tuple[Bits, Bits, Bits, Bits, Bits]
"""w_qkv, w_o, w_1 and w_2 of the first layer, and the weights of the memory's projection: the bits
of the weights that `linear.project` takes."""


@compiled
def encode_rows(
    ids: Ints,
    starts: Ints,
    helper: int,
    table: Floats,
    scale: np.float32,
    positions: Floats,
    weights: Weights,
    weight_addresses: Ints,
    calls: Ints,
    num_heads: int,
    d_keys: int,
    d_values: int,
    d_ff: int,
    gammas: Floats,
    betas: Floats,
    epsilon: np.float32,
    pre: bool,
    keys_values: Floats,
) -> bool:
    """Encode concatenated sentences; return False if an id is not in the table.

    Sentence b is ids starts[b] to starts[b + 1], (N,). helper: of `two_cores.multiply`. table: (V,
    d_model). positions: as many as the longest sentence has pieces, or more, (T, d_model).
    weight_addresses, (4, layers): where the weights of each layer are (`addresses_of`). calls: the
    addresses of `linear.product_with` for w_qkv, w_o and the memory in their own types, of
    `linear.network_with`, `attention_step.attend_to_source`, `decoder_step.add_norm` and
    `attention_step.attend_at`, (7,). So the result has the same bits as with one call for each
    operation. d_keys and d_values: widths of all heads together. gammas and betas: one row for each
    sub-layer and, with pre-norm, one for the last norm. keys_values: the result, (N, width of all
    decoder layers).
    """
    w_qkv, w_o, w_1, w_2, w_memory = weights
    count, d_model = ids.size, table.shape[1]
    x = np.empty((count, d_model), np.float32)
    longest = 0
    for b in range(starts.size - 1):
        longest = max(longest, starts[b + 1] - starts[b])
        for row in range(starts[b], starts[b + 1]):
            piece, position = ids[row], row - starts[b]
            if piece < 0 or piece >= table.shape[0]:
                return False
            for c in range(d_model):
                x[row, c] = _embedded(table[piece, c], scale, positions[position, c])
    total = np.empty((count, d_model), np.float32)
    y = np.zeros((count, d_model), np.float32)
    qkv = np.empty((count, 2 * d_keys + d_values), np.float32)
    heads = np.empty((count, d_values), np.float32)
    keys = np.empty((longest, d_keys), np.float32)
    values = np.empty((longest, d_values), np.float32)
    # A sub-layer's output is added to the base. Post-norm: x itself. Pre-norm: the sum before the
    # norm, which takes turns with `total`.
    base = x
    norm = 0
    if pre:
        base = np.empty((count, d_model), np.float32)
        call_at(calls[5], (x, y, gammas[0], betas[0], epsilon, base, x))
        norm = 1
    for layer in range(weight_addresses.shape[1]):
        call_at(calls[0], (x, array_at(w_qkv, weight_addresses[0, layer]), False, qkv, helper))
        call_at(calls[4], (qkv, starts, keys, values, calls[6], num_heads, heads))
        call_at(calls[1], (heads, array_at(w_o, weight_addresses[1, layer]), False, y, helper))
        call_at(calls[5], (base, y, gammas[norm], betas[norm], epsilon, total, x))
        if pre:
            base, total = total, base
        first = array_at(w_1, weight_addresses[2, layer])
        second = array_at(w_2, weight_addresses[3, layer])
        call_at(calls[3], (x, first, second, d_ff, y, helper))
        call_at(calls[5], (base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x))
        if pre:
            base, total = total, base
        norm += 2
    call_at(calls[2], (x, w_memory, False, keys_values, helper))
    return True


@generated(types.float32)
def _embedded(code: Code, number: Value, scale: Value, position: Value) -> Value:
    """Return number * scale + position, rounded after each operation."""
    return code.exact_add(code.exact_multiply(number, scale), position)
