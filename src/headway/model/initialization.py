"""How each weight starts (the paper does not say; this is the practice of its authors' code)."""

from torch import nn

from headway.model.attention import MultiHeadAttention


def initialize(module: nn.Module) -> None:
    """Draw every projection from Xavier's uniform distribution and set its bias to zero.

    w_q, w_k and w_v start as one matrix of three times the width would, 2^-0.5 times smaller:
    attention begins less peaked, and training settles sooner. Embeddings and learned positions
    draw their own start, N(0, 1 / d_model); LayerNorm starts at 1 and 0.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    for part in module.modules():
        if isinstance(part, MultiHeadAttention):
            for projection in (part.w_q, part.w_k, part.w_v):
                nn.init.xavier_uniform_(projection.weight, gain=2**-0.5)
