"""SSRU: a recurrence in place of the decoder's self-attention, for fast translation.

Kim et al. (2019), "From Research to Production and Back: Ludicrously Fast Neural Machine
Translation", section 3.1, as Marian computes it. The memory of all earlier positions is one vector,
so a decoding step costs the same at every position.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.errors import ConfigError, hinted
from headway.errors.elsewhere import ARGUMENTS
from headway.model.attention import MultiHeadAttention
from headway.model.cache import CellCache, LayerCache
from headway.model.checks import check_parts, check_sizes, check_tensor
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.probe import probe
from headway.model.residual import Residual


def scan(
    forget: Float[Tensor, "B T d_model"],
    candidate: Float[Tensor, "B T d_model"],
    before: Float[Tensor, "B d_model"] | None = None,
) -> Float[Tensor, "B T d_model"]:
    """Compute c_t = f_t * c_(t-1) + (1 - f_t) * x_t for all positions together.

    forget: f, from 0 to 1. candidate: x. before: c_0, the cell before the first position; zeros if
    None. After round n, each cell holds the sum of the 2^n latest positions, so T positions take
    log2(T) rounds. Nothing is divided and all factors are at most 1: it is as stable as the
    recurrence, forward and backward. Computes in float32 at least, because rounding adds up over
    positions.
    """
    wide = torch.promote_types(candidate.dtype, torch.float32)
    factors = forget.to(wide)  # of the cell that is `reach` positions earlier
    cells = (1 - factors) * candidate.to(wide)
    if before is not None:
        first = cells[:, :1] + factors[:, :1] * before[:, None].to(wide)
        cells = torch.cat([first, cells[:, 1:]], dim=1)
    reach = 1
    while reach < cells.size(1):
        later = cells[:, reach:] + factors[:, reach:] * cells[:, :-reach]
        cells = torch.cat([cells[:, :reach], later], dim=1)
        farther = factors[:, reach:] * factors[:, :-reach]
        factors = torch.cat([factors[:, :reach], farther], dim=1)
        reach *= 2
    return cells.to(candidate.dtype)


class SimpleRecurrentUnit(nn.Module):
    """Remember earlier positions in one vector, which a gate forgets (Kim et al. 2019).

    x = W_x input, f = sigmoid(W_f input + b_f), c_t = f * c_(t-1) + (1 - f) * x, output = ReLU(c).

    Intermediates, (B, T, d_model) each: `candidate` (x), `forget` (f), `cell` (c), `output`.
    """

    @hinted(**ARGUMENTS)
    def __init__(self, d_model: int) -> None:
        """Make both projections; that of the candidate has no bias."""
        super().__init__()
        check_sizes({"d_model": d_model})
        self.d_model = d_model
        self.w_x = nn.Linear(d_model, d_model, bias=False)
        self.w_f = nn.Linear(d_model, d_model)

    def forward(
        self, x: Float[Tensor, "B T d_model"], cache: CellCache | None = None
    ) -> Float[Tensor, "B T d_model"]:
        """Give each position what it and earlier ones have put into the cell.

        cache: the cell of earlier calls; x then holds only the newest positions. Padding after a
        sentence changes nothing before it.
        """
        check_tensor("x", x)
        if x.dim() != 3 or x.size(-1) != self.d_model:
            raise ConfigError(
                f"x has shape {tuple(x.shape)}, but must be (B, T, {self.d_model}).",
                "Give a batch, even for one sentence, of the width of the layer.",
            )
        candidate = probe(self, "candidate", self.w_x(x))
        forget = probe(self, "forget", self.w_f(x).sigmoid())
        before = None if cache is None else cache.cell
        cell = probe(self, "cell", scan(forget, candidate, before))
        if cache is not None:
            cache.keep(cell)
        return probe(self, "output", cell.relu())


class RecurrentDecoderLayer(nn.Module):
    """Remember the earlier target in an SSRU, then attend to the memory, then transform.

    The layer of the paper except for its first sub-layer. Intermediates, besides those of its
    parts: `input` and `output`, (B, T, d_model).
    """

    def __init__(
        self,
        ssru: SimpleRecurrentUnit,
        cross_attention: MultiHeadAttention,
        feed_forward: PositionwiseFeedForward,
        ssru_residual: Residual,
        cross_attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        """Combine three sub-layers and the residual connection of each."""
        super().__init__()
        check_parts(
            {
                "ssru": ssru,
                "cross_attention": cross_attention,
                "feed_forward": feed_forward,
                "ssru_residual": ssru_residual,
                "cross_attention_residual": cross_attention_residual,
                "feed_forward_residual": feed_forward_residual,
            }
        )
        self.ssru = ssru
        self.ssru_residual = ssru_residual
        self.cross_attention = cross_attention
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward = feed_forward
        self.feed_forward_residual = feed_forward_residual

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        target_mask: Bool[Tensor, "..."] | None = None,
        source_mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        """Run the three sub-layers; arguments as in `DecoderLayer`.

        target_mask is not used: the recurrence never sees later positions, and padding comes last.
        """
        cell_cache = cache.ssru if cache else None
        cross_cache = cache.cross_attention if cache else None
        x = probe(self, "input", x)
        x = self.ssru_residual(x, lambda y: self.ssru(y, cell_cache))
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, source_mask, cross_cache)
        )
        x = self.feed_forward_residual(x, self.feed_forward)
        return probe(self, "output", x)
