"""The kernels in place of the paper's layers, for the time of an update.

`install.py` is the seam: `accelerated(model)` replaces methods of layers, and puts them back. The
other files compute what the layers do, faster: `attention` (equation 1 and its gradient), `linear`
and `linear_gradients` (projections of one input in one product, with bias and ReLU), `dropout`,
`relu`, and `cross_entropy` (the loss without all logits at once). Each is tested to equal the plain
form. The loops themselves are in `headway.kernels`.
"""
