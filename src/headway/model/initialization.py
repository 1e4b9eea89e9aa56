"""Initial weights, as in the code of the paper's authors; the paper does not specify them."""

from torch import nn

from headway.model.attention import MultiHeadAttention


def initialize(module: nn.Module) -> None:
    """Draw every projection from Xavier's uniform distribution and set its bias to zero.

    w_q, w_k and w_v start like one matrix of three times the width, 2^-0.5 times smaller: attention
    is less peaked at first, and training settles sooner. Embeddings and learned positions draw
    their own initial values, N(0, 1 / d_model); LayerNorm starts at 1 and 0.
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
