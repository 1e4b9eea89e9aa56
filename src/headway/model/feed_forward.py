"""Position-wise feed-forward network (section 3.3)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import ConfigError, hinted, suggest
from headway.errors.elsewhere import ARGUMENTS
from headway.model.checks import check_dropout, check_sizes
from headway.model.dropout import dropout
from headway.model.probe import probe

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}
# Gated variants (Shazeer 2020): the activation of one projection multiplies another.
GATED_ACTIVATIONS: dict[str, Activation] = {
    "geglu": F.gelu,
    "glu": torch.sigmoid,
    "reglu": F.relu,
    "swiglu": F.silu,
}


class PositionwiseFeedForward(nn.Module):
    """Compute max(0, x W_1 + b_1) W_2 + b_2 (equation 2), the same at every position.

    Intermediates: `hidden` (before the activation), `activated`, `output`; a gated variant also
    has `gate`, and its `activated` is activation(gate) * hidden.

    Elsewhere: FeedForward, FeedForwardBlock, FeedForwardNetwork, FFN,
    point_wise_feed_forward_network, PositionWiseFCFeedForwardNetwork, PositionwiseFeedforwardLayer,
    PositionWiseFFN, PoswiseFeedForwardNet.
    """

    @hinted(**ARGUMENTS)
    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: str = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        """Make both projections; `w_gate` exists in gated variants only.

        dropout: on the activated hidden layer, 0 in the paper.
        """
        super().__init__()
        if activation not in ACTIVATIONS | GATED_ACTIVATIONS:
            hint = suggest(activation, ACTIVATIONS | GATED_ACTIVATIONS)
            if isinstance(activation, float):
                hint = f"Write dropout={activation} if it is a rate."
            raise ConfigError(f"There is no activation '{activation}'.", hint)
        check_sizes({"d_model": d_model, "d_ff": d_ff})
        check_dropout(dropout)
        self.activation = activation
        self.dropout = dropout
        self.w_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.w_gate = (
            nn.Linear(d_model, d_ff, bias=bias) if activation in GATED_ACTIVATIONS else None
        )
        self.w_2 = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Float[Tensor, "*B L d_model"]) -> Float[Tensor, "*B L d_model"]:
        """Transform each position separately."""
        hidden = self.w_1(x)
        gate = None if self.w_gate is None else self.w_gate(x)
        activated = probe(self, "activated", self.activate(hidden, gate))
        activated = dropout(activated, self.dropout, self.training)
        return probe(self, "output", self.w_2(activated))

    def activate(
        self, hidden: Float[Tensor, "*B L d_ff"], gate: Float[Tensor, "*B L d_ff"] | None
    ) -> Float[Tensor, "*B L d_ff"]:
        """Apply the activation to the hidden layer, or to the gate that multiplies it."""
        hidden = probe(self, "hidden", hidden)
        if gate is None:
            return ACTIVATIONS[self.activation](hidden)
        return GATED_ACTIVATIONS[self.activation](probe(self, "gate", gate)) * hidden
