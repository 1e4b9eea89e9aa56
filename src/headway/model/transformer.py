"""The Transformer (Figure 1): source and target ids in, logits over the vocabulary out."""

import copy

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headway.config.model import ModelConfig
from headway.errors import ConfigError, hinted, require_type
from headway.model.attention import MultiHeadAttention
from headway.model.cache import DecoderCache
from headway.model.checks import check_parts, check_tensor
from headway.model.decoder import Decoder, DecoderLayer
from headway.model.embedding import InputEmbedding, OutputProjection, TokenEmbedding
from headway.model.encoder import Encoder, EncoderLayer
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.initialization import initialize
from headway.model.masks import padding_mask, target_mask
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from headway.model.probe import probe
from headway.model.residual import Residual
from headway.model.ssru import RecurrentDecoderLayer, SimpleRecurrentUnit


class Transformer(nn.Module):
    """Encode the source, decode the target, score the next piece at every position.

    Intermediates, besides those of its parts: `source_mask` (B, 1, 1, S), `target_mask`
    (B, 1, T, T), `logits` (B, T, V).

    Elsewhere: build_transformer, EncoderDecoder, make_model, Seq2Seq, Seq2SeqTransformer,
    transformer.
    """

    @hinted("From sizes: Transformer.from_config(headway.presets.base(vocab_size=37000)).")
    def __init__(
        self,
        source_embedding: InputEmbedding,
        target_embedding: InputEmbedding,
        encoder: Encoder,
        decoder: Decoder,
        output_projection: OutputProjection,
        pad_id: int = 0,
    ) -> None:
        """Combine the five parts; `from_config` builds them from sizes."""
        super().__init__()
        check_parts(
            {
                "source_embedding": source_embedding,
                "target_embedding": target_embedding,
                "encoder": encoder,
                "decoder": decoder,
                "output_projection": output_projection,
            }
        )
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output_projection = output_projection
        self.pad_id = pad_id

    @classmethod
    def from_config(cls, config: ModelConfig) -> "Transformer":
        """Build the model of a config, with initial weights."""
        require_type("config", config, ModelConfig, "Give one such as headway.presets.base().")
        source_tokens, target_tokens, output_weight = _vocabulary_tables(config)
        model = cls(
            source_embedding=_input_embedding(source_tokens, config),
            target_embedding=_input_embedding(target_tokens, config),
            encoder=Encoder(
                (_encoder_layer(config) for _ in range(config.num_encoder_layers)),
                _final_norm(config),
            ),
            decoder=Decoder(
                (_decoder_layer(config) for _ in range(config.num_decoder_layers)),
                _final_norm(config),
            ),
            output_projection=OutputProjection(output_weight, bias=config.output_bias),
            pad_id=config.pad_id,
        )
        initialize(model)
        return model

    def forward(
        self, source_ids: Int[Tensor, "B S"], target_ids: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Return the logits of the piece after each target position.

        target_ids start with the start symbol: row t of the result predicts piece t + 1.
        """
        return probe(self, "logits", self.output_projection(self.hidden(source_ids, target_ids)))

    def hidden(
        self, source_ids: Int[Tensor, "B S"], target_ids: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T d_model"]:
        """Return the decoder's output, before the projection to the vocabulary."""
        _check_ids(source_ids, target_ids)
        source_mask = probe(self, "source_mask", padding_mask(source_ids, self.pad_id))
        memory = self.encode(source_ids, source_mask)
        return self.decode(target_ids, memory, source_mask)

    def encode(
        self, source_ids: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "B S d_model"]:
        """Return the memory of the source sentences."""
        return self.encoder(self.source_embedding(source_ids), source_mask)

    def decode(
        self,
        target_ids: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S d_model"],
        source_mask: Bool[Tensor, "B 1 1 S"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        """Return the decoder's output; with a cache, target_ids hold only the new position.

        That position may attend to all earlier ones, so it needs no mask.
        """
        if cache is None:
            mask = probe(self, "target_mask", target_mask(target_ids, self.pad_id))
            return self.decoder(self.target_embedding(target_ids), memory, mask, source_mask)
        if target_ids.size(1) != 1:
            raise ConfigError(
                f"A cached step decodes one position, not {target_ids.size(1)}.",
                "Feed the tokens one by one, or decode without a cache.",
            )
        embedded = self.target_embedding(target_ids, cache.length)
        return self.decoder(embedded, memory, None, source_mask, cache)


def _check_ids(source_ids: Tensor, target_ids: Tensor) -> None:
    for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
        check_tensor(name, ids)
        if ids.dim() != 2 or ids.is_floating_point():
            raise ConfigError(
                f"{name} have shape {tuple(ids.shape)} and type {ids.dtype}, but must be integers "
                "of shape (B, L).",
                "Give a batch of ids, even for one sentence: `torch.tensor([ids])`.",
            )
    if source_ids.size(0) != target_ids.size(0):
        raise ConfigError(
            f"There are {source_ids.size(0)} source and {target_ids.size(0)} target sentences.",
            "Give one target for each source.",
        )


def _vocabulary_tables(
    config: ModelConfig,
) -> tuple[TokenEmbedding, TokenEmbedding, nn.Parameter]:
    target = TokenEmbedding(config.target_vocab_size, config.d_model, config.zero_id)
    if config.shared_embeddings == "all":
        # Two modules share one table, because torch.func.functional_call does not restore a module
        # that has two paths.
        source = copy.deepcopy(target, {id(target.weight): target.weight})
        return source, target, target.weight
    source = TokenEmbedding(config.source_vocab_size, config.d_model)
    if config.shared_embeddings == "target":
        return source, target, target.weight
    return source, target, TokenEmbedding(config.target_vocab_size, config.d_model).weight


def _input_embedding(tokens: TokenEmbedding, config: ModelConfig) -> InputEmbedding:
    if config.positions == "learned":
        positions = LearnedPositionalEncoding(config.d_model, config.max_positions)
    else:
        positions = SinusoidalPositionalEncoding(
            config.d_model, config.sinusoid_layout, config.first_position
        )
    return InputEmbedding(tokens, positions, config.dropout, config.scale_embeddings)


def _encoder_layer(config: ModelConfig) -> EncoderLayer:
    return EncoderLayer(
        self_attention=_attention(config),
        feed_forward=_feed_forward(config),
        self_attention_residual=_residual(config),
        feed_forward_residual=_residual(config),
    )


def _decoder_layer(config: ModelConfig) -> DecoderLayer | RecurrentDecoderLayer:
    if config.decoder_past == "ssru":
        # Deviation (SSRU): decodes faster, because the past is one vector.
        return RecurrentDecoderLayer(
            ssru=SimpleRecurrentUnit(config.d_model),
            cross_attention=_attention(config),
            feed_forward=_feed_forward(config),
            ssru_residual=_residual(config),
            cross_attention_residual=_residual(config),
            feed_forward_residual=_residual(config),
        )
    return DecoderLayer(
        self_attention=_attention(config),
        cross_attention=_attention(config),
        feed_forward=_feed_forward(config),
        self_attention_residual=_residual(config),
        cross_attention_residual=_residual(config),
        feed_forward_residual=_residual(config),
    )


def _attention(config: ModelConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.num_heads,
        config.d_k,
        config.d_v,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
    )


def _feed_forward(config: ModelConfig) -> PositionwiseFeedForward:
    return PositionwiseFeedForward(
        config.d_model,
        config.d_ff,
        config.activation,
        bias=config.feed_forward_bias,
        dropout=config.activation_dropout,
    )


def _residual(config: ModelConfig) -> Residual:
    return Residual(config.d_model, config.dropout, config.norm_position, config.norm_epsilon)


def _final_norm(config: ModelConfig) -> nn.LayerNorm | None:
    if config.norm_position == "post":
        return None
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
