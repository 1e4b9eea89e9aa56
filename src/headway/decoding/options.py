"""How to search: every number that a search goes by, checked once."""

from dataclasses import dataclass

from headway.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search."""

    beam_size: int = 4
    length_penalty: float = 0.6
    n_best: int = 1

    def __post_init__(self) -> None:
        """Check what no search could do."""
        if self.beam_size < 1:
            raise ConfigError(
                f"beam_size is {self.beam_size}, but must be at least 1.",
                "1 is greedy search, 4 the paper's beam.",
            )
        if not self.length_penalty >= 0:
            raise ConfigError(
                f"length_penalty is {self.length_penalty}, but must be at least 0.",
                "0 ranks by probability alone; the paper has 0.6.",
            )
        if not 1 <= self.n_best <= self.beam_size:
            raise ConfigError(
                f"n_best is {self.n_best}, but must be from 1 to beam_size {self.beam_size}.",
                "Ask for fewer, or widen the beam.",
            )
