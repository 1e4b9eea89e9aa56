"""Positional encoding (section 3.5): the place of a piece in the sentence."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import ConfigError, hinted, suggest
from headway.errors.elsewhere import ARGUMENTS
from headway.model.checks import check_sizes

LAYOUTS = ("halved", "interleaved", "split")


def sinusoid_table(
    length: int, d_model: int, layout: str = "interleaved", first: int = 0
) -> Float[Tensor, "length d_model"]:
    """Return sines and cosines of the positions first to first + length - 1, in float64.

    interleaved: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(the same),
    as the paper writes it. split: the same numbers, all sines before all cosines, as Hugging Face's
    Marian models have them. halved: all sines, then all cosines, of pos / 10000^(i / (d_model / 2 -
    1)), as tensor2tensor, fairseq and Marian itself compute it.

    >>> sinusoid_table(2, 4)[1].tolist() == [
    ...     math.sin(1), math.cos(1), math.sin(1 / 100), math.cos(1 / 100)]
    True

    Elsewhere: get_angles, get_positional_encoding, get_sinusoid_encoding_table,
    position_encoding_init, positional_encoding.
    """
    position = torch.arange(first, first + length, dtype=torch.float64)[:, None]  # (length, 1)
    if layout == "interleaved":
        even = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = position / 10000.0 ** (even / d_model)  # (length, ceil(d_model / 2))
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model]
    if layout not in LAYOUTS:
        raise ConfigError(f"There is no sinusoid layout '{layout}'.", suggest(layout, LAYOUTS))
    if d_model % 2:
        raise ConfigError(
            f"The {layout} layout needs an even d_model, not {d_model}.",
            "Use the interleaved layout or an even width.",
        )
    half = d_model // 2
    last = half if layout == "split" else max(half - 1, 1)  # the exponent that would be 1
    exponent = torch.arange(half, dtype=torch.float64) / last
    angle = position / 10000.0**exponent  # (length, d_model / 2)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class SinusoidalPositionalEncoding(nn.Module):
    """Give the fixed sinusoids of the paper, for any length.

    Elsewhere: PositionalEncoder, PositionalEncoding, PostionalEncoding.
    """

    @hinted(**ARGUMENTS)
    def __init__(self, d_model: int, layout: str = "interleaved", first: int = 0) -> None:
        """Prepare 512 positions; longer tables are made when they are needed.

        first: the position of the first token: 0, but 2 in fairseq's models.
        """
        super().__init__()
        check_sizes({"d_model": d_model})
        if not isinstance(layout, str):
            raise ConfigError(
                f"The layout is {layout!r}, but must be one of {', '.join(LAYOUTS)}.",
                "The table needs no length, because it grows; dropout is in InputEmbedding.",
            )
        self.d_model = d_model
        self.layout = layout
        self.first = first
        # Not a parameter and not saved: the formula defines it.
        self.table: Tensor
        self.register_buffer("table", torch.empty(0), persistent=False)
        self.table = self._make(512)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "L d_model"]:
        """Return the encodings of tokens start to start + length - 1."""
        _check_length(length)
        table = self.table  # read once: another thread may replace it
        if start + length > table.size(0):
            # A table made while translating must also work in a pass with gradients.
            with torch.inference_mode(False):
                table = self.table = self._make(2 ** math.ceil(math.log2(start + length)))
        return table[start : start + length]

    def _apply(
        self, fn: Callable[[Tensor], Tensor], recurse: bool = True
    ) -> "SinusoidalPositionalEncoding":
        """Compute the table again in its new type and device: a rounded one would stay rounded."""
        super()._apply(fn, recurse)
        self.table = self._make(self.table.size(0))
        return self

    def _make(self, length: int) -> Float[Tensor, "L d_model"]:
        return sinusoid_table(length, self.d_model, self.layout, self.first).to(self.table)


class LearnedPositionalEncoding(nn.Module):
    """Give a trained vector for each position (Table 3, row E); the length is a hard limit.

    Elsewhere: LearnedPositionalEmbedding, PositionEmbedding.
    """

    @hinted(**ARGUMENTS)
    def __init__(self, d_model: int, max_positions: int) -> None:
        """Make one vector for each of `max_positions` positions."""
        super().__init__()
        check_sizes({"d_model": d_model, "max_positions": max_positions})
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "L d_model"]:
        """Return the vectors of positions start to start + length - 1."""
        _check_length(length)
        if start + length > self.weight.size(0):
            raise ConfigError(
                f"Position {start + length} is beyond the learned table of "
                f"{self.weight.size(0)} positions.",
                "Split the sentence, or train with sinusoids or a larger max_positions.",
            )
        return self.weight[start : start + length]


def _check_length(length: object) -> None:
    if isinstance(length, Tensor):
        raise ConfigError(
            f"The length is a tensor of shape {tuple(length.shape)}, but must be a number.",
            "Add the encoding to the embeddings: x + encoding(x.size(1)).",
        )
