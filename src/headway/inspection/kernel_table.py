"""The implementation of each operation of a model on this machine's CPU, and the reason for it.

The choices are those of `headway.kernels.dispatch`, for the sizes of the model. The parts are the
products of `training/accelerated` and `decoding/packed`.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import torch

from headway.config.model import ModelConfig
from headway.kernels import dispatch
from headway.kernels.dispatch import By, Choice, Precision

SENTENCES, LENGTH = 64, 32
"""The training batch that the table is for: some 2,000 pieces."""

_CPU = torch.device("cpu")


class KernelRow(NamedTuple):
    """An operation in one precision."""

    phase: Literal["training", "decoding"]
    operation: str
    part: str
    """The weights that the operation multiplies, or ""."""
    precision: str
    implementation: str
    reason: str


class _Part(NamedTuple):
    """Weights of one product."""

    name: str
    outputs: int
    inputs: int
    bias: bool = True
    sensitive: bool = False
    """Rounding to 8 bits would cost more accuracy than its speed is worth."""


def kernel_table(config: ModelConfig) -> list[KernelRow]:
    """Return a row for each operation, part and precision, for this model on this machine."""
    rows: list[KernelRow] = []
    for precision in ("float32", "bfloat16"):
        for operation, part, choice in _training(config, precision):
            rows.append(KernelRow("training", operation, part, precision, *choice))
    for precision in get_args(Precision):
        for operation, part, choice in _decoding(config, precision):
            rows.append(KernelRow("decoding", operation, part, precision, *choice))
    return rows


def _training(config: ModelConfig, precision: str) -> Iterator[tuple[str, str, Choice]]:
    dtype = getattr(torch, precision)
    count = SENTENCES * LENGTH
    x = torch.empty(SENTENCES, LENGTH, config.d_model)
    d_k, d_v = _head_widths(config)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        choice = dispatch.attention(x, x, x, d_k, d_v, config.attention_dropout)
        yield "attention and its gradient", "", choice
    if config.decoder_past == "ssru":
        yield "SSRU and its gradient", "", Choice(By.PYTORCH, "it computes as it is written")
    for part in _layer_parts(config):
        rows = torch.empty(count, part.inputs, dtype=dtype)
        grad = torch.empty(count, part.outputs, dtype=dtype)
        weight = torch.empty(part.outputs, part.inputs, dtype=dtype)
        yield "projection", part.name, dispatch.linear(rows, weight[:, 0] if part.bias else None)
        yield "gradient of a weight", part.name, dispatch.weight_gradient(grad, rows)
        yield "gradient of an input", part.name, dispatch.input_gradient(grad, weight, x.dtype)
    if config.activation == "relu":
        hidden = torch.empty(count, config.d_ff, dtype=dtype)
        yield "ReLU and its gradient", "", dispatch.relu(hidden)
    if config.dropout > 0:
        yield "dropout and addition", "", dispatch.dropout(x, x.to(dtype))
    chunk = dispatch.loss_rows(_CPU, config.target_vocab_size)
    logits = torch.empty(chunk, config.target_vocab_size, dtype=dtype)
    hidden = torch.empty(chunk, config.d_model, dtype=dtype)
    yield "loss and its gradient", "", dispatch.cross_entropy(logits, config.pad_id)
    yield "gradient of a weight", "output", dispatch.weight_gradient(logits, hidden)


def _decoding(config: ModelConfig, precision: Precision) -> Iterator[tuple[str, str, Choice]]:
    backend = dispatch.decoder(_CPU)
    compiled = backend.by is dispatch.By.NUMBA
    choices: dict[str, Choice] = {}
    for part in _packed_parts(config):
        weights = part.outputs * part.inputs
        choices[part.name] = (
            dispatch.compiled_linear(precision, weights, sensitive=part.sensitive)
            if compiled
            else dispatch.pytorch_linear(precision, weights)
        )
        yield "projection", part.name, choices[part.name]
    recurrent = config.decoder_past == "ssru"
    operations = "attention, SSRU, LayerNorm" if recurrent else "attention, LayerNorm"
    yield f"{operations}, shortlist and best tokens", "", backend
    if compiled:
        past = "w_xf" if recurrent else "w_qkv"
        stacks = {
            "encoder layers": ("w_qkv", "w_o of the encoder", "w_1", "w_2", "memory"),
            "decoder layers": (past, "w_q", "w_o", "w_1", "w_2"),
        }
        for stack, parts in stacks.items():  # the products that are in one call with the layers
            products_by = {choices[name].by for name in parts}
            choice = dispatch.whole_stack(
                compiled=products_by.isdisjoint(_NOT_COMPILED),
                activated=config.activation in ("relu", "silu"),
                one_size=True,
                one_epsilon=True,
                one_kind=True,
            )
            choices[stack] = choice
            yield stack, "", choice
        whole = choices["decoder layers"].by is dispatch.By.NUMBA_WHOLE
        compiled = choices["output"].by not in _NOT_COMPILED
        yield (
            "search",
            "",
            dispatch.search_loop(whole=whole, compiled=compiled, one_vocabulary=True),
        )


_NOT_COMPILED = {dispatch.By.PYTORCH_BFLOAT16, dispatch.By.PYTORCH_INT8}
"""The implementations of products in the Numba backend that are no compiled kernels."""


def _head_widths(config: ModelConfig) -> tuple[int, int]:
    width = config.d_model // config.num_heads
    return config.d_k or width, config.d_v or width


def _layer_parts(config: ModelConfig) -> Iterator[_Part]:
    """Yield the products that training joins in a layer; those of one input are one product."""
    (d_k, d_v), heads, d_model = _head_widths(config), config.num_heads, config.d_model
    bias = config.attention_bias
    yield _Part("w_qkv", heads * (2 * d_k + d_v), d_model, bias)
    yield _Part("w_q", heads * d_k, d_model, bias)
    yield _Part("w_kv", heads * (d_k + d_v), d_model, bias)
    yield _Part("w_o", d_model, heads * d_v, bias)
    yield _Part("w_1", config.d_ff, d_model, config.feed_forward_bias)
    yield _Part("w_2", d_model, config.d_ff, config.feed_forward_bias)


def _packed_parts(config: ModelConfig) -> Iterator[_Part]:
    """Yield the products of the packed engine."""
    (d_k, d_v), heads, d_model = _head_widths(config), config.num_heads, config.d_model
    gated = config.activation.endswith("glu")
    yield _Part("w_qkv", heads * (2 * d_k + d_v), d_model)
    if config.decoder_past == "ssru":
        yield _Part("w_xf", 2 * d_model, d_model)
    yield _Part("w_q", heads * d_k, d_model)
    yield _Part("w_o", d_model, heads * d_v, sensitive=True)
    yield _Part("w_o of the encoder", d_model, heads * d_v)
    yield _Part("w_1", (2 if gated else 1) * config.d_ff, d_model)
    yield _Part("w_2", d_model, config.d_ff)
    width = config.num_decoder_layers * heads * (d_k + d_v)
    yield _Part("memory", width, d_model, sensitive=True)
    yield _Part("output", config.target_vocab_size, d_model)
