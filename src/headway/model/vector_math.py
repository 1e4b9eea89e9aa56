"""PyTorch's functions of one number each, called once before several threads call them at once.

On an Intel or AMD processor PyTorch leaves them to MKL, in shares of a tensor that threads work on.
At the first such call of a process MKL finds out on which processor it runs; a thread whose share
is computed meanwhile may get one of low precision, without a word (pytorch/pytorch#188792). With
PyTorch 2.13 and two threads, up to half of all processes began with sines that were wrong by 9e-5
in float32, or square roots by 2e-4. Of the sinusoids of section 3.5 that changed last bits, and two
processes did not read a sentence quite alike.
"""

import torch

# Those that ATen gives to MKL (ATen/cpu/vml.h).
FUNCTIONS = (
    "acos", "asin", "atan", "cos", "erf", "erfc", "erfinv", "exp", "log", "log10", "log2", "sin",
    "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip


def prepare() -> None:
    """Call each function on one number, which one thread computes."""
    for dtype in (torch.float32, torch.float64):
        number = torch.full((1,), 0.5, dtype=dtype, device="cpu")
        for name in FUNCTIONS:
            getattr(torch, name)(number)
