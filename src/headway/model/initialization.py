"""How each weight starts (the paper does not say; this is the practice of its authors' code)."""

from torch import nn


def initialize(module: nn.Module) -> None:
    """Draw every projection from Xavier's uniform distribution and set its bias to zero.

    Embeddings and learned positions draw their own start, N(0, 1 / d_model); LayerNorm starts
    at 1 and 0.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
