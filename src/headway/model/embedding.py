"""Embeddings (section 3.4): from pieces to vectors, and from vectors to scores of pieces."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headway.errors import ConfigError, hinted
from headway.errors.elsewhere import ARGUMENTS
from headway.model.checks import check_dropout, check_sizes
from headway.model.dropout import dropout
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from headway.model.probe import probe


class TokenEmbedding(nn.Module):
    """Look up a vector for each piece; the table may be shared with the output projection.

    Elsewhere: Embedder, Embeddings, InputEmbeddings.
    """

    @hinted(**ARGUMENTS)
    def __init__(self, vocab_size: int, d_model: int, zero_id: int | None = None) -> None:
        """Make a table of vocab_size vectors with standard deviation d_model^-0.5.

        Times sqrt(d_model) that is 1, the order of the sinusoids that are added. zero_id: a piece
        whose vector is zeros, whatever the table has, and gets no gradient.
        """
        super().__init__()
        self.zero_id = zero_id
        check_sizes({"vocab_size": vocab_size, "d_model": d_model})
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Int[Tensor, "B L"]) -> Float[Tensor, "B L d_model"]:
        """Return the rows of the table."""
        try:
            vectors = F.embedding(ids, self.weight)
        except IndexError:  # Only on a CPU: a GPU would have to wait for the result.
            raise ConfigError(
                f"The ids go from {int(ids.min())} to {int(ids.max())}, but the vocabulary has "
                f"tokens 0 to {self.weight.size(0) - 1}.",
                "Use the tokenizer that belongs to this model.",
            ) from None
        if self.zero_id is None:
            return vectors
        return vectors.masked_fill((ids == self.zero_id)[..., None], 0.0)


class InputEmbedding(nn.Module):
    """Compute Dropout(embedding * sqrt(d_model) + position) (sections 3.4, 3.5 and 5.4).

    Intermediates: `scaled` (B, L, d_model), `position` (L, d_model), `output` (before dropout).

    Elsewhere: EmbeddingsWithPositionalEncoding, PositionalEmbedding, TokenAndPositionEmbedding,
    TransformerEmbedding.
    """

    def __init__(
        self,
        tokens: TokenEmbedding,
        positions: SinusoidalPositionalEncoding | LearnedPositionalEncoding,
        dropout: float = 0.1,
        scale: bool = True,
    ) -> None:
        """Combine a table of pieces, which may be shared, with an encoding of positions."""
        super().__init__()
        check_dropout(dropout)
        self.tokens = tokens
        self.positions = positions
        self.dropout = dropout
        self.scale = math.sqrt(tokens.weight.size(1)) if scale else 1.0

    def forward(self, ids: Int[Tensor, "B L"], start: int = 0) -> Float[Tensor, "B L d_model"]:
        """Embed ids whose first column is at position `start`."""
        scaled = probe(self, "scaled", self.tokens(ids) * self.scale)
        position = probe(self, "position", self.positions(ids.size(1), start))
        output = probe(self, "output", scaled + position)
        return self.drop(output)

    def drop(self, embedded: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        """Apply dropout to the sum, while training."""
        return dropout(embedded, self.dropout, self.training)


class OutputProjection(nn.Module):
    """Score every piece of the vocabulary; its weight may be the embedding's (section 3.4).

    Elsewhere: fc_out, Generator, ProjectionLayer.
    """

    def __init__(self, weight: nn.Parameter, bias: bool = False) -> None:
        """Use this (V, d_model) weight; a bias starts at zero."""
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(weight.size(0))) if bias else None

    def forward(self, hidden: Float[Tensor, "*B d_model"]) -> Float[Tensor, "*B V"]:
        """Return the logits."""
        return F.linear(hidden, self.weight, self.bias)
