"""Random numbers that are a function of a key and a place: those of dropout, in plain PyTorch."""

import torch
from jaxtyping import Int
from torch import Tensor

from headway.kernels.splitmix import GAMMA, LAST_SHIFT, MIXING


def draw(count: int, key: int) -> Int[Tensor, " count"]:
    """Return the first `count` numbers of SplitMix64 (Steele, Lea and Flood 2014) from this key on.

    Each is a function of key and place alone, so that any part of them can be made by itself.
    """
    z = torch.arange(count, device="cpu").mul_(_signed(GAMMA)).add_(key)
    for shift, factor in MIXING:
        z = z.bitwise_xor_(_shifted(z, shift)).mul_(_signed(factor))
    return z.bitwise_xor_(_shifted(z, LAST_SHIFT))


def _shifted(z: Tensor, shift: int) -> Tensor:
    """Shift to the right and fill with zeros; PyTorch's own shift fills with the sign."""
    return (z >> shift).bitwise_and_(2 ** (64 - shift) - 1)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
