"""The layers of the paper once more, faster, for training on a CPU; not needed to read them.

projection (linear layers of one input in one product, with bias and ReLU) and projection_gradients,
few_shapes (so that products have few numbers of rows), relu, attention_in_loops (equation 1 and its
gradient), random_bits (what dropout draws) and first_derivatives (gradients that are computed by
hand). Each is tested to equal the plain form, which other devices, and whoever listens to
intermediates, get. The loops are in `headway.kernels`.
"""
