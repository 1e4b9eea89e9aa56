"""The Transformer in the functional form of Keras (Figure 1): models made of models.

Each function returns a `keras.Model`, so that `summary()` shows one block at a time. Every layer
has a unique name: on PyTorch, Keras forgets to clear the gradients of weights with equal names.
The plain functions have the sizes of the paper; `transformer_from_config` builds every variant of a
configuration of this package that Keras can express.
"""

from typing import Any

from headway.config.model import Architecture, ModelConfig
from headway.errors import ConfigError, hinted
from headway.errors.elsewhere import ARGUMENTS
from headway.interop.keras.attention import MultiHeadAttention
from headway.interop.keras.backend import keras
from headway.interop.keras.embedding import OutputBias, TokenEmbedding
from headway.interop.keras.masks import look_ahead_mask, padding_mask
from headway.interop.keras.positional_encoding import PositionalEncoding

layers = keras.layers
_GATES = {"glu": "sigmoid", "reglu": "relu", "geglu": "gelu", "swiglu": "silu"}


@hinted(**ARGUMENTS)
def encoder_layer(
    d_ff: int, d_model: int, num_heads: int, dropout: float = 0.1, name: str = "encoder_layer"
) -> keras.Model:
    """Build self-attention and feed-forward: `inputs`, `padding_mask` → outputs.

    Elsewhere: EncoderLayer, TransformerEncoder, TransformerEncoderLayer.
    """
    return _encoder_layer(_sizes(1, d_ff, d_model, num_heads, dropout), name)


@hinted(**ARGUMENTS)
def encoder(
    vocab_size: int,
    num_layers: int,
    d_ff: int,
    d_model: int,
    num_heads: int,
    dropout: float = 0.1,
    name: str = "encoder",
) -> keras.Model:
    """Build embedding and layers: `inputs` (ids), `padding_mask` → memory."""
    config = _sizes(num_layers, d_ff, d_model, num_heads, dropout)
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")
    tokens = TokenEmbedding(vocab_size, d_model, name=f"{name}_tokens")
    x = _embed(config, tokens, inputs, name)
    return keras.Model([inputs, mask], _encoder_layers(config, x, mask, name), name=name)


@hinted(**ARGUMENTS)
def decoder_layer(
    d_ff: int, d_model: int, num_heads: int, dropout: float = 0.1, name: str = "decoder_layer"
) -> keras.Model:
    """Build the three sub-layers: `inputs`, `memory`, `look_ahead_mask`, `padding_mask` → outputs.

    The padding mask is that of the source, for cross-attention.

    Elsewhere: DecoderLayer, TransformerDecoder, TransformerDecoderLayer.
    """
    return _decoder_layer(_sizes(1, d_ff, d_model, num_heads, dropout), name)


@hinted(**ARGUMENTS)
def decoder(
    vocab_size: int,
    num_layers: int,
    d_ff: int,
    d_model: int,
    num_heads: int,
    dropout: float = 0.1,
    name: str = "decoder",
) -> keras.Model:
    """Build embedding and layers: ids, `memory` and both masks → hidden states."""
    config = _sizes(num_layers, d_ff, d_model, num_heads, dropout)
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    context = _decoder_inputs(d_model)
    tokens = TokenEmbedding(vocab_size, d_model, name=f"{name}_tokens")
    x = _embed(config, tokens, inputs, name)
    return keras.Model([inputs, *context], _decoder_layers(config, x, *context, name), name=name)


@hinted(**ARGUMENTS)
def transformer(
    vocab_size: int,
    num_layers: int,
    d_ff: int,
    d_model: int,
    num_heads: int,
    dropout: float = 0.1,
    name: str = "transformer",
) -> keras.Model:
    """Build the whole model: `inputs` and `decoder_inputs` (ids) → logits (B, T, vocab_size).

    One table of embeddings serves both sides and the output (section 3.4). `decoder_inputs` start
    with the start symbol: row t of the logits predicts piece t + 1. Padding is id 0.

    Elsewhere: Transformer.
    """
    config = _sizes(num_layers, d_ff, d_model, num_heads, dropout)
    return transformer_from_config(config.with_vocabulary(vocab_size), name)


def transformer_from_config(config: ModelConfig, name: str = "transformer") -> keras.Model:
    """Build the model that a configuration describes, freshly initialized.

    Raises ConfigError for a learned table of positions and for an SSRU, which this form does not
    have.
    """
    if config.decoder_past != "self_attention":
        raise ConfigError(
            f"The Keras form has no decoder_past '{config.decoder_past}'.",
            "Use the PyTorch model, or train one with decoder_past 'self_attention'.",
        )
    if config.positions == "learned":
        raise ConfigError(
            "The Keras form has no learned positions, only the paper's sinusoids.",
            "Use the PyTorch model, or train one with positions 'sinusoidal'.",
        )
    source_tokens, target_tokens, projection = _tables(config)
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    decoder_inputs = keras.Input((None,), dtype="int32", name="decoder_inputs")
    source_mask = padding_mask(inputs, config.pad_id)
    target_mask = look_ahead_mask(decoder_inputs, config.pad_id)
    x = _embed(config, source_tokens, inputs, "source")
    memory = _encoder(config)([x, source_mask])
    y = _embed(config, target_tokens, decoder_inputs, "target")
    hidden = _decoder(config)([y, memory, target_mask, source_mask])
    if projection is None:
        logits = target_tokens(hidden, reverse=True)
        if config.output_bias:
            logits = OutputBias(name="output_bias")(logits)
    else:
        logits = projection(hidden)
    return keras.Model([inputs, decoder_inputs], logits, name=name)


def _sizes(
    num_layers: int, d_ff: int, d_model: int, num_heads: int, dropout: float
) -> Architecture:
    return Architecture.parse(
        {
            "num_encoder_layers": num_layers,
            "num_decoder_layers": num_layers,
            "d_ff": d_ff,
            "d_model": d_model,
            "num_heads": num_heads,
            "dropout": dropout,
        }
    )


def _tables(config: ModelConfig) -> tuple[Any, Any, Any]:
    """Return the embeddings of both sides, and the projection if no table serves as one."""

    def table(name: str, size: int, zero_id: int | None = None) -> TokenEmbedding:
        scale = config.scale_embeddings
        return TokenEmbedding(size, config.d_model, scale, zero_id, name=name)

    if config.shared_embeddings == "all":
        shared = table("tokens", config.target_vocab_size, config.zero_id)
        return shared, shared, None
    source = table("source_tokens", config.source_vocab_size)
    target = table("target_tokens", config.target_vocab_size, config.zero_id)
    if config.shared_embeddings == "target":
        return source, target, None
    start = keras.initializers.RandomNormal(stddev=config.d_model**-0.5)
    projection = layers.Dense(
        config.target_vocab_size,
        use_bias=config.output_bias,
        kernel_initializer=start,
        name="output_projection",
    )
    return source, target, projection


def _encoder(config: Architecture) -> keras.Model:
    """Build the stack without embeddings, which may be shared.

    Keras cannot load a saved model whose inner models share a layer.
    """
    x = keras.Input((None, config.d_model), name="inputs")
    mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")
    return keras.Model([x, mask], _encoder_layers(config, x, mask, "encoder"), name="encoder")


def _decoder(config: Architecture) -> keras.Model:
    x = keras.Input((None, config.d_model), name="inputs")
    context = _decoder_inputs(config.d_model)
    outputs = _decoder_layers(config, x, *context, "decoder")
    return keras.Model([x, *context], outputs, name="decoder")


def _decoder_inputs(d_model: int) -> tuple[Any, Any, Any]:
    """Return the inputs for the memory and for both masks."""
    return (
        keras.Input((None, d_model), name="memory"),
        keras.Input((1, None, None), dtype="bool", name="look_ahead_mask"),
        keras.Input((1, 1, None), dtype="bool", name="padding_mask"),
    )


def _encoder_layers(config: Architecture, x: Any, mask: Any, name: str) -> Any:
    for index in range(config.num_encoder_layers):
        x = _encoder_layer(config, f"{name}_layer_{index}")([x, mask])
    return _closing_norm(config, x, name)


def _decoder_layers(
    config: Architecture, x: Any, memory: Any, look_ahead: Any, padding: Any, name: str
) -> Any:
    for index in range(config.num_decoder_layers):
        x = _decoder_layer(config, f"{name}_layer_{index}")([x, memory, look_ahead, padding])
    return _closing_norm(config, x, name)


def _encoder_layer(config: Architecture, name: str) -> keras.Model:
    x = inputs = keras.Input((None, config.d_model), name="inputs")
    mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")
    attend = _attention(config, f"{name}_self_attention")
    x = _residual(config, attend.name, x, lambda y: _attend(attend, y, y, mask))
    x = _residual(config, f"{name}_feed_forward", x, lambda y: _feed_forward(config, y, name))
    return keras.Model([inputs, mask], x, name=name)


def _decoder_layer(config: Architecture, name: str) -> keras.Model:
    x = inputs = keras.Input((None, config.d_model), name="inputs")
    memory, look_ahead, padding = _decoder_inputs(config.d_model)
    decoded = _attention(config, f"{name}_self_attention")
    cross = _attention(config, f"{name}_cross_attention")
    x = _residual(config, decoded.name, x, lambda y: _attend(decoded, y, y, look_ahead))
    x = _residual(config, cross.name, x, lambda y: _attend(cross, y, memory, padding))
    x = _residual(config, f"{name}_feed_forward", x, lambda y: _feed_forward(config, y, name))
    return keras.Model([inputs, memory, look_ahead, padding], x, name=name)


def _embed(config: Architecture, tokens: TokenEmbedding, ids: Any, name: str) -> Any:
    """Compute Dropout(embedding * sqrt(d_model) + position) (sections 3.4, 3.5 and 5.4)."""
    positions = PositionalEncoding(
        config.max_positions,
        config.d_model,
        config.sinusoid_layout,
        config.first_position,
        name=f"{name}_positions",
    )
    dropout = layers.Dropout(config.dropout, name=f"{name}_embedding_dropout")
    return dropout(positions(tokens(ids)))


def _attention(config: Architecture, name: str) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.num_heads,
        config.d_k,
        config.d_v,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
        name=name,
    )


def _attend(attend: MultiHeadAttention, query: Any, key: Any, mask: Any) -> Any:
    return attend({"query": query, "key": key, "value": key, "mask": mask})


def _feed_forward(config: Architecture, x: Any, name: str) -> Any:
    """Compute max(0, x W_1 + b_1) W_2 + b_2 (equation 2), or its variant."""

    def dense(width: int, matrix: str) -> Any:
        return layers.Dense(width, use_bias=config.feed_forward_bias, name=f"{name}_{matrix}")

    hidden = dense(config.d_ff, "w_1")(x)
    if config.activation in _GATES:
        gate = layers.Activation(_GATES[config.activation])(dense(config.d_ff, "w_gate")(x))
        activated = layers.Multiply()([gate, hidden])
    elif config.activation == "gelu_tanh":
        activated = keras.ops.gelu(hidden, approximate=True)
    elif config.activation == "gelu":
        activated = keras.ops.gelu(hidden, approximate=False)
    else:
        activated = layers.Activation(config.activation)(hidden)
    if config.activation_dropout:
        activated = layers.Dropout(config.activation_dropout, name=f"{name}_activation_dropout")(
            activated
        )
    return dense(config.d_model, "w_2")(activated)


def _residual(config: Architecture, name: str, x: Any, sublayer: Any) -> Any:
    """Compute LayerNorm(x + Dropout(Sublayer(x))), or x + Dropout(Sublayer(LayerNorm(x)))."""
    # The default epsilon of Keras is 1e-3; with it a trained model gives other logits.
    norm = layers.LayerNormalization(epsilon=config.norm_epsilon, name=f"{name}_norm")
    dropout = layers.Dropout(config.dropout, name=f"{name}_dropout")
    add = layers.Add(name=f"{name}_sum")
    if config.norm_position == "pre":
        return add([x, dropout(sublayer(norm(x)))])
    return norm(add([x, dropout(sublayer(x))]))


def _closing_norm(config: Architecture, x: Any, name: str) -> Any:
    """Normalize the sums at the end of a pre-norm stack."""
    if config.norm_position == "post":
        return x
    return layers.LayerNormalization(epsilon=config.norm_epsilon, name=f"{name}_norm")(x)
