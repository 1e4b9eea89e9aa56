"""Add & Norm (sections 3.1 and 5.4): the residual connection around every sub-layer."""

from collections.abc import Callable
from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import ConfigError, hinted
from headway.errors.elsewhere import ARGUMENTS
from headway.model.checks import check_dropout, check_sizes, check_sublayer
from headway.model.dropout import dropout
from headway.model.probe import probe

NormPosition = Literal["post", "pre"]


class Residual(nn.Module):
    """Compute LayerNorm(x + Dropout(Sublayer(x))), or x + Dropout(Sublayer(LayerNorm(x))).

    Intermediates: `sum` (the result of the addition) and `norm` (the result of LayerNorm), both
    (B, L, d_model).

    Elsewhere: AddAndNorm, AddNorm, ResidualConnection, SublayerConnection.
    """

    @hinted(**ARGUMENTS)
    def __init__(
        self,
        d_model: int,
        dropout: float = 0.1,
        norm_position: NormPosition = "post",
        norm_epsilon: float = 1e-5,
    ) -> None:
        """Make the LayerNorm; dropout is on the sub-layer's output, before the addition."""
        super().__init__()
        if norm_position not in get_args(NormPosition):
            raise ConfigError(
                f"There is no norm position '{norm_position}'.",
                "Use 'post', as in the paper, or 'pre'.",
            )
        check_sizes({"d_model": d_model})
        check_dropout(dropout)
        self.norm = nn.LayerNorm(d_model, eps=norm_epsilon)
        self.dropout = dropout
        self.norm_position: NormPosition = norm_position

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "B L d_model"]:
        """Run the sub-layer with the residual connection and LayerNorm."""
        check_sublayer(sublayer)
        if self.norm_position == "pre":
            # Deviation (pre-norm): trains deep models without warm-up.
            return self.add(x, sublayer(self.normalize(x)))
        return self.normalize(self.add(x, sublayer(x)))

    def add(
        self, x: Float[Tensor, "B L d_model"], y: Float[Tensor, "B L d_model"]
    ) -> Float[Tensor, "B L d_model"]:
        """Add the sub-layer's output, after dropout, to its input (the residual connection)."""
        return probe(self, "sum", x + dropout(y, self.dropout, self.training))

    def normalize(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        """Apply LayerNorm."""
        return probe(self, "norm", self.norm(x))
