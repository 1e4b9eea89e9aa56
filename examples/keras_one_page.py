"""The Transformer of "Attention Is All You Need" in the functional form of Keras 3.

To read from top to bottom, as a lecture goes: positions, attention, heads, masks, encoder, decoder,
transformer. It needs Keras and one back end, and nothing of Headway. Shapes: B sentences, H heads,
T target tokens (queries), S source tokens (keys), L tokens of either side. Padding is id 0. A mask
is boolean, and True means "may attend".
"""

import keras
import numpy as np
from keras import layers, ops


class PositionalEncoding(layers.Layer):
    """Add sin(pos / 10000^(2i / d_model)) in column 2i, its cosine in column 2i + 1."""

    def __init__(self, length, d_model, **kwargs):
        super().__init__(**kwargs)
        position = np.arange(length)[:, None]  # (length, 1)
        column = np.arange(d_model)[None, :]  # (1, d_model)
        angle = position / 10000.0 ** (2 * (column // 2) / d_model)
        table = np.where(column % 2 == 0, np.sin(angle), np.cos(angle))
        self.table = table.astype("float32")  # (length, d_model)

    def call(self, x):  # (B, L, d_model)
        return x + ops.convert_to_tensor(self.table)[: ops.shape(x)[1]]

    def compute_output_spec(self, x):  # JAX cannot slice by an unknown length
        return keras.KerasTensor(x.shape, dtype=x.dtype)


def attention(query, key, value, mask=None):
    """Return softmax(Q K^T / sqrt(d_k)) V (equation 1), and the weights."""
    d_k = query.shape[-1]
    scores = ops.matmul(query, ops.swapaxes(key, -1, -2)) / d_k**0.5  # (B, H, T, S)
    if mask is None:
        weights = ops.softmax(scores, axis=-1)
    else:
        some = ops.any(mask, axis=-1, keepdims=True)  # False: a row without keys
        hidden = ops.logical_and(some, ops.logical_not(mask))
        weights = ops.softmax(ops.where(hidden, -np.inf, scores), axis=-1)
        weights = ops.where(some, weights, 0.0)
    return ops.matmul(weights, value), weights


class MultiHeadAttention(layers.Layer):
    """Attend with several heads; called with a dictionary of query, key, value, mask."""

    def __init__(self, d_model, num_heads, **kwargs):
        super().__init__(**kwargs)
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}.")
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.w_q = layers.Dense(d_model, name="w_q")
        self.w_k = layers.Dense(d_model, name="w_k")
        self.w_v = layers.Dense(d_model, name="w_v")
        self.w_o = layers.Dense(d_model, name="w_o")

    def split_heads(self, x):
        length = ops.shape(x)[1]
        x = ops.reshape(x, (-1, length, self.num_heads, self.d_k))  # (B, L, H, d_k)
        return ops.transpose(x, (0, 2, 1, 3))  # (B, H, L, d_k)

    def call(self, inputs):
        q = self.split_heads(self.w_q(inputs["query"]))
        k = self.split_heads(self.w_k(inputs["key"]))
        v = self.split_heads(self.w_v(inputs["value"]))
        heads, _ = attention(q, k, v, inputs.get("mask"))  # (B, H, T, d_k)
        heads = ops.transpose(heads, (0, 2, 1, 3))  # (B, T, H, d_k)
        length = ops.shape(heads)[1]
        concat = ops.reshape(heads, (-1, length, self.num_heads * self.d_k))
        return self.w_o(concat)  # (B, T, d_model)


def padding_mask(ids):
    """Allow all tokens but padding: (B, S) to (B, 1, 1, S)."""
    return ops.not_equal(ids, 0)[:, None, None, :]


def look_ahead_mask(ids):
    """Allow each token and earlier ones, but no padding: (B, T) to (B, 1, T, T)."""
    position = ops.cumsum(ops.ones_like(ids), axis=1)  # (B, T): 1, 2, 3, …
    earlier = position[:, None, None, :] <= position[:, None, :, None]
    return ops.logical_and(earlier, padding_mask(ids))


def embed(ids, vocab_size, length, d_model, dropout):
    """Compute Dropout(embedding * sqrt(d_model) + position)."""
    vectors = layers.Embedding(vocab_size, d_model)(ids) * d_model**0.5
    return layers.Dropout(dropout)(PositionalEncoding(length, d_model)(vectors))


def encoder_layer(dff, d_model, num_heads, dropout, name):
    inputs = keras.Input((None, d_model), name="inputs")
    mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")

    # Sub-layer 1: every source token attends to the whole source.
    attended = MultiHeadAttention(d_model, num_heads, name=f"{name}_self_attention")(
        {"query": inputs, "key": inputs, "value": inputs, "mask": mask}
    )
    attended = layers.Dropout(dropout)(attended)
    attended = layers.LayerNormalization(epsilon=1e-5)(inputs + attended)

    # Sub-layer 2: the feed-forward network, at each position by itself.
    outputs = layers.Dense(dff, activation="relu")(attended)
    outputs = layers.Dense(d_model)(outputs)
    outputs = layers.Dropout(dropout)(outputs)
    outputs = layers.LayerNormalization(epsilon=1e-5)(attended + outputs)

    return keras.Model([inputs, mask], outputs, name=name)


def encoder(vocab_size, num_layers, dff, d_model, num_heads, dropout, length):
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")
    outputs = embed(inputs, vocab_size, length, d_model, dropout)
    for i in range(num_layers):
        layer = encoder_layer(dff, d_model, num_heads, dropout, f"encoder_layer_{i}")
        outputs = layer([outputs, mask])
    return keras.Model([inputs, mask], outputs, name="encoder")


def decoder_layer(dff, d_model, num_heads, dropout, name):
    inputs = keras.Input((None, d_model), name="inputs")
    enc_outputs = keras.Input((None, d_model), name="enc_outputs")
    target_mask = keras.Input((1, None, None), dtype="bool", name="look_ahead_mask")
    source_mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")

    # Sub-layer 1: every target token attends to the target up to itself.
    attended = MultiHeadAttention(d_model, num_heads, name=f"{name}_self_attention")(
        {"query": inputs, "key": inputs, "value": inputs, "mask": target_mask}
    )
    attended = layers.Dropout(dropout)(attended)
    attended = layers.LayerNormalization(epsilon=1e-5)(inputs + attended)

    # Sub-layer 2: queries from the target; keys, values and mask from the source.
    crossed = MultiHeadAttention(d_model, num_heads, name=f"{name}_cross_attention")(
        {
            "query": attended,
            "key": enc_outputs,
            "value": enc_outputs,
            "mask": source_mask,
        }
    )
    crossed = layers.Dropout(dropout)(crossed)
    crossed = layers.LayerNormalization(epsilon=1e-5)(attended + crossed)

    # Sub-layer 3: the feed-forward network.
    outputs = layers.Dense(dff, activation="relu")(crossed)
    outputs = layers.Dense(d_model)(outputs)
    outputs = layers.Dropout(dropout)(outputs)
    outputs = layers.LayerNormalization(epsilon=1e-5)(crossed + outputs)

    all_inputs = [inputs, enc_outputs, target_mask, source_mask]
    return keras.Model(all_inputs, outputs, name=name)


def decoder(vocab_size, num_layers, dff, d_model, num_heads, dropout, length):
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    enc_outputs = keras.Input((None, d_model), name="enc_outputs")
    target_mask = keras.Input((1, None, None), dtype="bool", name="look_ahead_mask")
    source_mask = keras.Input((1, 1, None), dtype="bool", name="padding_mask")
    outputs = embed(inputs, vocab_size, length, d_model, dropout)
    for i in range(num_layers):
        layer = decoder_layer(dff, d_model, num_heads, dropout, f"decoder_layer_{i}")
        outputs = layer([outputs, enc_outputs, target_mask, source_mask])
    all_inputs = [inputs, enc_outputs, target_mask, source_mask]
    return keras.Model(all_inputs, outputs, name="decoder")


def transformer(vocab_size, num_layers, dff, d_model, num_heads, dropout=0.1, length=512):
    """Return logits (B, T, vocab_size): row t scores what follows token t."""
    inputs = keras.Input((None,), dtype="int32", name="inputs")
    dec_inputs = keras.Input((None,), dtype="int32", name="dec_inputs")
    sizes = (vocab_size, num_layers, dff, d_model, num_heads, dropout, length)

    source_mask = padding_mask(inputs)
    target_mask = look_ahead_mask(dec_inputs)
    enc_outputs = encoder(*sizes)([inputs, source_mask])
    dec_outputs = decoder(*sizes)([dec_inputs, enc_outputs, target_mask, source_mask])
    logits = layers.Dense(vocab_size, use_bias=False, name="logits")(dec_outputs)

    return keras.Model([inputs, dec_inputs], logits, name="transformer")
