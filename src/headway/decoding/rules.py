"""Rules between an engine and a search: the pieces that may follow a hypothesis.

A forbidding rule sets logits to minus infinity after the sum for the probabilities is computed, so
scores stay those of the model. A changing rule is applied before that sum, so scores are those of
the changed distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request


class Past(NamedTuple):
    """The input of a rule: the sentence, and the pieces of one hypothesis so far.

    If the sentence has a list of allowed pieces, the ids are places in it, like the logits.
    """

    request: Request
    ids: Sequence[int]


class Rule(Protocol):
    """Change the logits of some rows in place."""

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Change the logits, or set those of forbidden pieces to minus infinity."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a search; false without any, and then pasts are not needed."""

    changing: tuple[Rule, ...] = ()
    forbidding: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        """Return True if the search has a rule."""
        return bool(self.changing or self.forbidding)

    def and_forbid(self, *rules: Rule) -> "Rules":
        """Return these rules with more forbidding ones."""
        return Rules(self.changing, (*self.forbidding, *rules))


NO_RULES = Rules()


def rules_of(options: SearchOptions) -> Rules:
    """Return the rules that these options ask for."""
    changing: list[Rule] = []
    forbidding: list[Rule] = []
    if options.repetition_penalty != 1:
        changing.append(RepetitionPenalty(options.repetition_penalty))
    if options.prefix_bias < 1:
        changing.append(PrefixBias(options.prefix_bias))
    if options.min_length:
        forbidding.append(MinLength(options.min_length))
    if options.no_repeat_ngram:
        forbidding.append(NoRepeatNgram(options.no_repeat_ngram))
    return Rules(tuple(changing), tuple(forbidding))


@dataclass(frozen=True, slots=True)
class MinLength:
    """Forbid the end symbol before `length` pieces."""

    length: int

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid the end symbol for short hypotheses."""
        short = [row for row, past in enumerate(pasts) if len(past.ids) < self.length]
        logits[short, END_ID] = -math.inf


@dataclass(frozen=True, slots=True)
class NoRepeatNgram:
    """Forbid pieces that would repeat a sequence of n pieces."""

    n: int

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid each piece that followed the last n - 1 pieces before."""
        for row, past in enumerate(pasts):
            ids, n = list(past.ids), self.n
            last = ids[len(ids) - n + 1 :]
            again = [
                ids[start + n - 1]
                for start in range(len(ids) - n + 1)
                if ids[start : start + n - 1] == last
            ]
            logits[row, again] = -math.inf


@dataclass(frozen=True, slots=True)
class RepetitionPenalty:
    """Make pieces that were chosen before less probable (Keskar et al. 2019, section 4.1)."""

    penalty: float

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Divide their positive logits by the penalty, multiply the negative ones."""
        for row, past in enumerate(pasts):
            chosen = list(set(past.ids))
            before = logits[row, chosen]
            after = torch.where(before > 0, before / self.penalty, before * self.penalty)
            logits[row, chosen] = after


@dataclass(frozen=True, slots=True)
class PrefixBias:
    """Favour a prefix while a hypothesis follows it (Arivazhagan et al. 2020, section 3.2)."""

    bias: float

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Mix: (1 - bias) of the model's probability, and bias for the prefix's next piece."""
        for row, (request, ids) in enumerate(pasts):
            step = len(ids)
            favoured = request.favoured
            if step < len(favoured) and list(ids) == list(favoured[:step]):
                log_probs = logits[row].log_softmax(0) + math.log1p(-self.bias)
                following = log_probs[favoured[step]]
                bias = following.new_tensor(math.log(self.bias))
                log_probs[favoured[step]] = following.logaddexp(bias)
                logits[row] = log_probs
