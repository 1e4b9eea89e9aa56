"""Build CTranslate2's description of a model from a bundle, weight by weight.

The defaults of CTranslate2 often differ from this model, without an error: it would begin its
sinusoids at position 1, take a norm without `beta` for another kind of norm, and choose its own
epsilon and scale. So everything is specified here.
"""

import math
from typing import Any

import numpy as np
from torch import Tensor, nn

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID, Tokenizer
from headway.errors import ConfigError
from headway.interop.ctranslate2.library import common_spec, transformer_spec
from headway.model.attention import MultiHeadAttention
from headway.model.customized import describe_customizations
from headway.model.decoder import DecoderLayer
from headway.model.embedding import InputEmbedding
from headway.model.encoder import EncoderLayer
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.positional_encoding import LearnedPositionalEncoding, sinusoid_table

# Rows of the table of sinusoids. CTranslate2 cannot compute more: a longer sentence is an error
# there.
POSITIONS = 4096

# Name in CTranslate2, and whether the activation is gated.
_ACTIVATIONS = {
    "relu": ("RELU", False),
    "gelu": ("GELU", False),
    "gelu_tanh": ("GELUTanh", False),
    "silu": ("SWISH", False),
    "glu": ("Sigmoid", True),
    "reglu": ("RELU", True),
    "geglu": ("GELU", True),
    "swiglu": ("SWISH", True),
}


def check_expressible(bundle: Bundle) -> None:
    """Refuse, with a ConfigError, a model that CTranslate2 cannot compute."""
    if changes := describe_customizations(bundle.model):
        raise ConfigError(
            f"CTranslate2 computes the equations of Headway's own parts, but {changes}.",
            "Export a model without parts of your own or hooks.",
        )
    config = bundle.config
    if config.pad_id != PAD_ID:
        raise ConfigError(
            f"pad_id is {config.pad_id}, and the model hides that token within a sentence; "
            "CTranslate2 hides what is beyond its end only.",
            f"Export a model with pad_id {PAD_ID}, which no tokenizer puts into a sentence.",
        )
    if config.decoder_past != "self_attention":
        raise ConfigError(
            f"CTranslate2 has no decoder_past '{config.decoder_past}'.",
            "Export a model with decoder_past 'self_attention', or use --to firefox.",
        )
    epsilons = {m.eps for m in bundle.model.modules() if isinstance(m, nn.LayerNorm)}
    if epsilons != {config.norm_epsilon}:
        raise ConfigError(
            f"The norms have the epsilons {', '.join(map(str, sorted(epsilons)))} and the "
            f"configuration says {config.norm_epsilon}; CTranslate2 has one for all.",
            "Make the model with one norm_epsilon.",
        )
    if config.activation not in _ACTIVATIONS:
        raise ConfigError(
            f"CTranslate2 does not have the activation '{config.activation}'.",
            f"It has: {', '.join(sorted(_ACTIVATIONS))}.",
        )


def num_positions(bundle: Bundle) -> int:
    """Return the number of positions of the exported tables, the limit in CTranslate2."""
    if bundle.config.positions == "learned":
        return bundle.config.max_positions
    # The start or end symbol has a position too.
    longest = bundle.decoding.max_source_pieces + bundle.decoding.max_extra_pieces + 1
    return max(POSITIONS, longest)


def build_spec(bundle: Bundle) -> Any:
    """Return a `TransformerSpec` with every weight of the bundle, in float32 on the CPU.

    Equal tables are written once, so shared tables stay shared. Rows of a table without a piece are
    left out, because nothing could be written with them.
    """
    config, model = bundle.config, bundle.model
    spec = _empty_spec(config)
    source, target = spec.encoder.embeddings[0], spec.decoder.embeddings
    source.weight = _array(model.source_embedding.tokens.weight[: len(bundle.source_tokenizer)])
    target.weight = _array(model.target_embedding.tokens.weight[: len(bundle.target_tokenizer)])
    if (zero_id := bundle.config.zero_id) is not None and target.weight[zero_id].any():
        target.weight = target.weight.copy()  # because the output has the same table
        target.weight[zero_id] = 0
    _set_positions(spec.encoder, model.source_embedding, bundle)
    _set_positions(spec.decoder, model.target_embedding, bundle)
    for layer_spec, layer in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        assert isinstance(layer, EncoderLayer)
        _set_encoder_layer(layer_spec, layer)
    for layer_spec, layer in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        assert isinstance(layer, DecoderLayer)
        _set_decoder_layer(layer_spec, layer)
    for stack_spec, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        if stack.norm is not None:
            _set_norm(stack_spec.layer_norm, stack.norm)
    pieces = len(bundle.target_tokenizer)
    spec.decoder.projection.weight = _array(model.output_projection.weight[:pieces])
    if model.output_projection.bias is not None:
        spec.decoder.projection.bias = _array(model.output_projection.bias[:pieces])
    _set_vocabulary(spec, bundle)
    return spec


def _empty_spec(config: ModelConfig) -> Any:
    name, gated = _ACTIVATIONS[config.activation]
    common: dict[str, Any] = {
        "pre_norm": config.norm_position == "pre",
        "activation": common_spec.Activation[name],
        "ffn_glu": gated,
    }
    width = _head_width(config)
    if width * config.num_heads != config.d_model:
        common["head_dim"] = width
    heads = config.num_heads
    return transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.num_encoder_layers, heads, **common),
        transformer_spec.TransformerDecoderSpec(config.num_decoder_layers, heads, **common),
    )


def _head_width(config: ModelConfig) -> int:
    """Return the width of a head in CTranslate2, which is the same for keys and values."""
    usual = config.d_model // config.num_heads
    return max(config.d_k or usual, config.d_v or usual)


def token_list(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces in the order of ids, one for each row of an exported table."""
    return tokenizer.pieces(range(len(tokenizer)))


def _set_vocabulary(spec: Any, bundle: Bundle) -> None:
    spec.register_source_vocabulary(token_list(bundle.source_tokenizer))
    spec.register_target_vocabulary(token_list(bundle.target_tokenizer))
    spec.config.unk_token = SPECIAL_PIECES[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = SPECIAL_PIECES[START_ID]
    spec.config.eos_token = SPECIAL_PIECES[END_ID]
    # A source sentence ends with the end symbol and has no start symbol.
    spec.config.add_source_bos, spec.config.add_source_eos = False, True
    spec.config.layer_norm_epsilon = bundle.config.norm_epsilon


def _set_positions(stack_spec: Any, embedding: InputEmbedding, bundle: Bundle) -> None:
    config = bundle.config
    stack_spec.scale_embeddings = config.scale_embeddings
    if isinstance(embedding.positions, LearnedPositionalEncoding):
        table = embedding.positions.weight
    else:
        table = sinusoid_table(
            num_positions(bundle), config.d_model, config.sinusoid_layout, config.first_position
        )
    stack_spec.position_encodings.encodings = _array(table)


def _set_encoder_layer(spec: Any, layer: EncoderLayer) -> None:
    _set_self_attention(spec.self_attention, layer.self_attention)
    _set_norm(spec.self_attention.layer_norm, layer.self_attention_residual.norm)
    _set_feed_forward(spec.ffn, layer.feed_forward)
    _set_norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)


def _set_decoder_layer(spec: Any, layer: DecoderLayer) -> None:
    _set_self_attention(spec.self_attention, layer.self_attention)
    _set_norm(spec.self_attention.layer_norm, layer.self_attention_residual.norm)
    _set_cross_attention(spec.attention, layer.cross_attention)
    _set_norm(spec.attention.layer_norm, layer.cross_attention_residual.norm)
    _set_feed_forward(spec.ffn, layer.feed_forward)
    _set_norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)


def _set_self_attention(spec: Any, attention: MultiHeadAttention) -> None:
    w_q, w_k, w_v = (_heads(attention, linear) for linear in ("w_q", "w_k", "w_v"))
    _set(spec.linear[0], np.concatenate([w_q, w_k, w_v]), attention.w_q.bias is not None)
    _set_output(spec, attention)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    w_q, w_k, w_v = (_heads(attention, linear) for linear in ("w_q", "w_k", "w_v"))
    _set(spec.linear[0], w_q, attention.w_q.bias is not None)
    _set(spec.linear[1], np.concatenate([w_k, w_v]), attention.w_k.bias is not None)
    _set_output(spec, attention)


def _set_output(spec: Any, attention: MultiHeadAttention) -> None:
    """Set W^O, with zeros in the columns of padded heads, and the scale."""
    by_head = _array(attention.w_o.weight).reshape(-1, attention.num_heads, attention.d_v)
    padding = max(attention.d_k - attention.d_v, 0)
    by_head = np.pad(by_head, ((0, 0), (0, 0), (0, padding)))
    spec.linear[-1].weight = by_head.reshape(by_head.shape[0], -1)
    if attention.w_o.bias is not None:
        spec.linear[-1].bias = _array(attention.w_o.bias)
    # Not left to CTranslate2, because a padded head is wider than its keys.
    spec.queries_scale = np.float32(1 / math.sqrt(attention.d_k))


def _heads(attention: MultiHeadAttention, name: str) -> np.ndarray:
    """Return W^Q, W^K or W^V with its bias as a last column, (num_heads * width, d_model + 1).

    In CTranslate2 keys and values have the same width. Zeros widen the narrower of the two. They
    change no product: q_i k_i = 0 there, and W^O has zeros for these columns of the values.
    """
    linear = getattr(attention, name)
    bias = linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias
    rows = np.column_stack([_array(linear.weight), _array(bias)])
    by_head = rows.reshape(attention.num_heads, -1, rows.shape[1])
    padding = max(attention.d_k, attention.d_v) - by_head.shape[1]
    return np.pad(by_head, ((0, 0), (0, padding), (0, 0))).reshape(-1, rows.shape[1])


def _set(spec: Any, rows: np.ndarray, bias: bool) -> None:
    spec.weight = np.ascontiguousarray(rows[:, :-1])
    if bias:
        spec.bias = np.ascontiguousarray(rows[:, -1])


def _set_feed_forward(spec: Any, feed_forward: PositionwiseFeedForward) -> None:
    """Set both projections; of a gated network `linear_0` is the activated one."""
    if feed_forward.w_gate is None:
        _set_linear(spec.linear_0, feed_forward.w_1)
    else:
        _set_linear(spec.linear_0, feed_forward.w_gate)
        _set_linear(spec.linear_0_noact, feed_forward.w_1)
    _set_linear(spec.linear_1, feed_forward.w_2)


def _set_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> np.ndarray:
    """Return a copy, because CTranslate2 quantizes in place."""
    return tensor.detach().float().cpu().numpy().copy()
