"""Call PyTorch's element-wise functions once, before several threads call them together.

On an Intel or AMD processor PyTorch computes them with MKL, whose threads each take a share of a
tensor. At the first call of a process MKL detects the processor. A thread that computes meanwhile
may silently get results of low precision (pytorch/pytorch#188792). With PyTorch 2.13 and two
threads, up to half of all processes began with sines that were wrong by 9e-5 in float32, or square
roots by 2e-4. That changed last bits of the sinusoids of section 3.5, so that two processes did not
encode a sentence identically.
"""

import torch

# The functions that ATen computes with MKL (ATen/cpu/vml.h).
FUNCTIONS = (
    "acos", "asin", "atan", "cos", "erf", "erfc", "erfinv", "exp", "log", "log10", "log2", "sin",
    "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip


def prepare() -> None:
    """Call each function on one number, which a single thread computes."""
    for dtype in (torch.float32, torch.float64):
        number = torch.full((1,), 0.5, dtype=dtype, device="cpu")
        for name in FUNCTIONS:
            getattr(torch, name)(number)
