"""What the layers refuse, in words."""

import operator
from collections.abc import Mapping

from torch import Tensor

from headway.errors import ConfigError


def check_sizes(sizes: Mapping[str, int | None]) -> None:
    """Refuse sizes that are not whole numbers from 1; None is one that was not given."""
    for name, size in sizes.items():
        if size is None:
            continue
        try:
            fits = operator.index(size) >= 1
        except TypeError:
            raise ConfigError(
                f"{name} is {size!r}, but must be a whole number.", f"Set {name} to an int."
            ) from None
        if not fits:
            raise ConfigError(f"{name} is {size}, but must be at least 1.", f"Set {name} to more.")


def check_dropout(p: float) -> None:
    """Refuse what is no probability, and 1, which would leave nothing."""
    try:
        fits = 0.0 <= p < 1.0
    except TypeError:
        fits = False
    if not fits:
        raise ConfigError(f"Dropout is {p!r}, but must be from 0 to below 1.", "The paper has 0.1.")


def check_tensor(name: str, given: object) -> None:
    """Refuse what is no tensor, such as an array of NumPy or a list."""
    if not isinstance(given, Tensor):
        raise ConfigError(
            f"{name} is a {type(given).__module__}.{type(given).__qualname__}, not a tensor.",
            "Make it one with torch.as_tensor.",
        )
