"""What every search shares: its options, the pieces it may never choose, forced prefixes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.errors import ConfigError

# Padding and start are no output; the unknown piece cannot be turned back into text.
NEVER_CHOSEN = (PAD_ID, START_ID, UNK_ID)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search; one value for all sentences, or one for each where a list is meant."""

    max_lengths: Sequence[int]
    """Output limit of each sentence, in pieces without the end symbol."""
    beam_size: int = 4
    length_penalty: float = 0.6
    n_best: int = 1
    prefixes: Sequence[Sequence[int]] | None = None
    """Pieces that each sentence's translation must begin with."""

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
        if self.prefixes is not None and len(self.prefixes) != len(self.max_lengths):
            raise ConfigError(
                f"There are {len(self.prefixes)} prefixes for {len(self.max_lengths)} sentences.",
                "Give one for each; an empty one forces nothing.",
            )
        if not 1 <= self.n_best <= self.beam_size:
            raise ConfigError(
                f"n_best is {self.n_best}, but must be from 1 to beam_size {self.beam_size}.",
                "Ask for fewer, or widen the beam.",
            )


def next_log_probs(
    logits: Float[Tensor, "R V"], sentences: Sequence[int], step: int, options: SearchOptions
) -> Float[Tensor, "R V"]:
    """Return the log-probabilities of what each row may choose at this step, else -inf.

    sentences: which sentence each row belongs to. step: pieces chosen so far. A forced piece
    keeps the probability that the model gives it; at the output limit only the end is left.
    """
    log_probs = logits.float().log_softmax(dim=-1)
    only = [_only_choice(sentence, step, options) for sentence in sentences]
    if any(choice is not None for choice in only):
        return _restrict(log_probs, only)
    log_probs[:, NEVER_CHOSEN] = -math.inf
    return log_probs


def _only_choice(sentence: int, step: int, options: SearchOptions) -> int | None:
    prefix = options.prefixes[sentence] if options.prefixes else ()
    if step < len(prefix):
        return prefix[step]
    return END_ID if step >= options.max_lengths[sentence] else None


def _restrict(log_probs: Float[Tensor, "R V"], only: Sequence[int | None]) -> Float[Tensor, "R V"]:
    restricted = log_probs.clone()
    restricted[:, NEVER_CHOSEN] = -math.inf
    for row, choice in enumerate(only):
        if choice is not None:
            restricted[row] = -math.inf
            restricted[row, choice] = log_probs[row, choice]
    return restricted


def start_ids(rows: int, device: torch.device) -> Int[Tensor, "R"]:
    """Return the start symbol for every row."""
    return torch.full((rows,), START_ID, dtype=torch.long, device=device)
