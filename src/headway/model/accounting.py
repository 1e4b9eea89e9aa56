"""The size of a model and the cost of a pass: parameters (Table 3), multiply-adds (Table 1)."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor, nn

from headway.config.model import ModelConfig
from headway.model.feed_forward import GATED_ACTIVATIONS

_PARTS = {
    "source_embedding": "embedding",
    "target_embedding": "embedding",
    "output_projection": "output",
}


def count_parameters(model: nn.Module) -> int:
    """Count the parameters of a module; a shared table counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_by_part(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Count the numbers of each part; tensors: by attribute path, as in `named_parameters`.

    A shared tensor counts in the first part that holds it: with one table for source, target and
    output, `output` is 0 (or V, if it has a bias). A part that the paper does not have is counted
    under its own name.
    """
    table: dict[str, int] = {"embedding": 0, "encoder": 0, "decoder": 0, "output": 0}
    for path, tensor in tensors.items():
        name = path.partition(".")[0]
        part = _PARTS.get(name, name)
        table[part] = table.get(part, 0) + tensor.numel()
    return table


class MultiplyAdds(NamedTuple):
    """The multiply-adds of all matrix products in a forward pass."""

    projections: int
    """W^Q, W^K, W^V and W^O of every attention, W_x and W_f of an SSRU: O(n d^2) a layer."""
    attention: int
    """Q K^T and the weights times V: O(n^2 d) in Table 1."""
    feed_forward: int
    """Both projections of equation 2 (three in a gated variant): O(n d d_ff) a layer."""
    output: int
    """The logits: O(n d V)."""

    @property
    def total(self) -> int:
        """Return the sum of the four fields."""
        return sum(self)


def multiply_adds(config: ModelConfig, source_length: int, target_length: int) -> MultiplyAdds:
    """Count the multiply-adds of one pass over one sentence pair, as in training.

    Both lengths include the start or end symbol. A backward pass costs about twice as much.
    Decoding with a cache computes the same products, one row at a time, except the upper half of
    the scores of self-attention.
    """
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    source, target = source_length, target_length
    matrices = 3 if config.activation in GATED_ACTIVATIONS else 2
    if config.decoder_past == "ssru":
        past = 2 * target * config.d_model**2, 0
    else:
        past = _projections(config, target, target), _attention(config, target, target)
    return MultiplyAdds(
        projections=encoder * _projections(config, source, source)
        + decoder * (past[0] + _projections(config, target, source)),
        attention=encoder * _attention(config, source, source)
        + decoder * (past[1] + _attention(config, target, source)),
        feed_forward=(encoder * source + decoder * target)
        * matrices
        * config.d_model
        * config.d_ff,
        output=target * config.d_model * config.target_vocab_size,
    )


def _widths(config: ModelConfig) -> tuple[int, int]:
    """Return the widths of keys and of values over all heads."""
    default = config.d_model // config.num_heads
    d_k, d_v = config.d_k or default, config.d_v or default
    return config.num_heads * d_k, config.num_heads * d_v


def _projections(config: ModelConfig, queries: int, keys: int) -> int:
    keys_width, values_width = _widths(config)
    return config.d_model * (queries + keys) * (keys_width + values_width)


def _attention(config: ModelConfig, queries: int, keys: int) -> int:
    return queries * keys * sum(_widths(config))
