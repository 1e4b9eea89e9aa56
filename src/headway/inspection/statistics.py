"""Statistics of a tensor: smallest, largest, mean, spread, and numbers that are not finite."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the finite numbers of a tensor; None if it has none."""

    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    """Root of the mean squared distance from the mean."""
    norm: float
    zeros: float
    """Share of all places that hold exactly 0."""
    not_finite: dict[str, int]
    """The number of places that hold `-inf`, `inf` or `nan`; kinds without any are left out."""
    shape: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"shape": list(self.shape)}


def statistics_of(tensor: Tensor) -> Statistics:
    """Compute the statistics of a tensor; True counts as 1."""
    numbers = tensor.detach().as_subclass(Tensor).double()
    finite = numbers[numbers.isfinite()]
    some = finite.numel() > 0
    kinds = {
        "-inf": numbers == -math.inf, "inf": numbers == math.inf, "nan": numbers.isnan(),
    }  # fmt: skip
    return Statistics(
        min=finite.min().item() if some else None,
        max=finite.max().item() if some else None,
        mean=finite.mean().item() if some else None,
        std=finite.std(correction=0).item() if some else None,
        norm=torch.linalg.vector_norm(finite).item(),
        zeros=(numbers == 0).double().mean().item() if numbers.numel() else 0.0,
        not_finite={name: int(places.sum()) for name, places in kinds.items() if places.any()},
        shape=tuple(tensor.shape),
    )
