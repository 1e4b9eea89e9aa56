"""Sizes and variants of the model (section 3, Table 3)."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from headway.config.section import Section
from headway.errors import ConfigError

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "glu", "reglu", "geglu", "swiglu"]

# Far beyond every existing model, and within the integers of PyTorch.
_WIDEST = 2**20
_MOST_LAYERS = 2**10
_LONGEST = 2**24


class Architecture(Section):
    """Everything about the model except its vocabulary; the defaults are the paper's `base`."""

    shorthands: ClassVar[tuple[str, ...]] = ("preset",)

    d_model: int = Field(default=512, ge=1, le=_WIDEST)
    """Width of the vectors between sub-layers."""
    d_ff: int = Field(default=2048, ge=1, le=_WIDEST)
    """Width of the feed-forward network's hidden layer."""
    num_heads: int = Field(default=8, ge=1, le=_WIDEST)
    """Heads of every attention (h in the paper)."""
    d_k: int | None = Field(default=None, ge=1, le=_WIDEST)
    """Width of a key, per head; d_model / num_heads if unset."""
    d_v: int | None = Field(default=None, ge=1, le=_WIDEST)
    """Width of a value, per head; d_model / num_heads if unset."""
    num_encoder_layers: int = Field(default=6, ge=1, le=_MOST_LAYERS)
    """Layers of the encoder (N in the paper)."""
    num_decoder_layers: int = Field(default=6, ge=1, le=_MOST_LAYERS)
    """Layers of the decoder (N in the paper)."""
    decoder_past: Literal["self_attention", "ssru"] = "self_attention"
    """First sub-layer of the decoder: self-attention, as in the paper, or an SSRU, which keeps the
    earlier target in one vector and decodes faster."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Residual dropout (P_drop): on each sub-layer's output, and on embedding + position."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the attention weights; the paper has none."""
    activation_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the activated hidden layer of the feed-forward network; the paper has none."""
    activation: Activation = "relu"
    """Function of the feed-forward network's hidden layer; names that end in `glu` are gated."""
    attention_bias: bool = True
    """Biases in the four projections of attention."""
    feed_forward_bias: bool = True
    """Biases b_1 and b_2 of equation 2."""
    output_bias: bool = False
    """A bias on the logits; imported Marian models have one."""
    norm_position: Literal["post", "pre"] = "post"
    """LayerNorm after the addition, as in the paper, or before the sub-layer."""
    norm_epsilon: float = Field(default=1e-5, gt=0)
    """Added to the variance in LayerNorm."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """Fixed sinusoids, or a trained table (Table 3, row E)."""
    sinusoid_layout: Literal["interleaved", "halved", "split"] = "interleaved"
    """Alternate sine and cosine, as in the paper; or all sines first, with the angles of
    tensor2tensor and Marian (halved) or of the paper (split, Hugging Face's Marian models)."""
    first_position: int = Field(default=0, ge=0, le=_LONGEST)
    """Position of the first token in the sinusoids: 2 in fairseq's models."""
    max_positions: int = Field(default=1024, ge=1, le=_LONGEST)
    """Length of the learned table; sinusoids have no limit."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(d_model)."""
    zero_id: int | None = Field(default=None, ge=0)
    """Id of a target token that is read as zeros: 2, the start symbol, in Marian's models."""
    shared_embeddings: Literal["all", "target", "none"] = "all"
    """One table for source, target and output; one for target and output; or three tables."""

    @model_validator(mode="after")
    def _check_heads(self) -> "Architecture":
        if (self.d_k is None or self.d_v is None) and self.d_model % self.num_heads:
            remainder = self.d_model % self.num_heads
            raise ConfigError(
                f"d_model {self.d_model} is not divisible by num_heads {self.num_heads} "
                f"(remainder {remainder}).",
                f"Use d_model {self.d_model - remainder + self.num_heads}, or another number of "
                "heads, or set d_k and d_v.",
            )
        return self

    def with_vocabulary(
        self, source_vocab_size: int, target_vocab_size: int | None = None
    ) -> "ModelConfig":
        """Complete the architecture; one size means one vocabulary for both sides."""
        sizes = {
            "source_vocab_size": source_vocab_size,
            "target_vocab_size": (
                source_vocab_size if target_vocab_size is None else target_vocab_size
            ),
        }
        return ModelConfig.parse(self.model_dump() | sizes)


class ModelConfig(Architecture):
    """The configuration for `Transformer.from_config`: an architecture with its vocabularies."""

    source_vocab_size: int = Field(ge=1)
    """Tokens of the source vocabulary."""
    target_vocab_size: int = Field(ge=1)
    """Tokens of the target vocabulary (V)."""
    pad_id: int = Field(default=0, ge=0)
    """Id of the padding token, which no query may attend to."""

    @model_validator(mode="after")
    def _check_vocabularies(self) -> "ModelConfig":
        if self.shared_embeddings == "all" and self.source_vocab_size != self.target_vocab_size:
            raise ConfigError(
                f"shared_embeddings 'all' needs one vocabulary, but the source has "
                f"{self.source_vocab_size} tokens and the target {self.target_vocab_size}.",
                "Use a joint tokenizer, or shared_embeddings 'target' or 'none'.",
            )
        smallest = min(self.source_vocab_size, self.target_vocab_size)
        if self.pad_id >= smallest:
            raise ConfigError(
                f"pad_id is {self.pad_id}, but the smaller vocabulary has tokens 0 to "
                f"{smallest - 1}.",
                "Use the tokenizer's padding id; 0 for tokenizers of this package.",
            )
        if self.zero_id is not None and self.zero_id >= self.target_vocab_size:
            raise ConfigError(
                f"zero_id is {self.zero_id}, but the target vocabulary has tokens 0 to "
                f"{self.target_vocab_size - 1}.",
                "Use 2, the start symbol, or leave it out.",
            )
        return self
