"""Kernels in place of the paper's layers, for the duration of an update.

`install.py` is the seam: `accelerated(model)` replaces methods of layers, and puts them back. The
other files compute the same as the layers, faster: `attention` (equation 1 and its gradient),
`linear` and `linear_gradients` (projections of one input in one product, with bias and ReLU),
`dropout`, and `cross_entropy` (the loss without all logits at once). Tests hold each equal to the
plain form. `headway.kernels` has the compiled kernels, and `headway.kernels.dispatch` decides when
they run.
"""
