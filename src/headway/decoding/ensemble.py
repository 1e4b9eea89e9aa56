"""An ensemble: models with one vocabulary, whose probabilities are averaged at each step."""

import math
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headway.bundle import Bundle
from headway.decoding.engine import Engine, Ints
from headway.decoding.options import SearchOptions
from headway.errors import ConfigError, require_path, require_type


class EnsembleEngine:
    """Average the probabilities of several engines: (p_1 + … + p_n) / n.

    The logits are the logarithms of these, plus the mean of the models' log Σ exp(logits). So equal
    models keep their logits, whose signs matter to a repetition penalty.
    """

    def __init__(self, engines: Sequence[Engine[Any]]) -> None:
        """Use these engines."""
        self.engines = list(engines)
        self.copies_weights = all(engine.copies_weights for engine in engines)

    def start(self, slots: int, copies: int) -> list[Any]:
        """Return the states of all engines."""
        return [engine.start(slots, copies) for engine in self.engines]

    def batch(self, options: SearchOptions, slots: int) -> None:
        """Return None: there is no compiled loop."""

    def max_useful_source_pieces(self, copies: int) -> int | None:
        """Return the smallest number of all engines."""
        numbers = (engine.max_useful_source_pieces(copies) for engine in self.engines)
        return min((number for number in numbers if number is not None), default=None)

    def encode(
        self,
        state: list[Any],
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        """Encode the sentences with each engine."""
        for engine, part in zip(self.engines, state, strict=True):
            engine.encode(part, slots, sources, allowed)

    def step(self, state: list[Any], rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Return logits of the mean of the probabilities."""
        logits = torch.stack(
            [
                engine.step(part, rows, previous_ids).float()
                for engine, part in zip(self.engines, state, strict=True)
            ]
        )  # (models, R, V)
        sums = logits.logsumexp(dim=2, keepdim=True)
        mean = (logits - sums).logsumexp(dim=0) - math.log(len(self.engines))
        return mean + sums.mean(dim=0)

    def reorder(self, state: list[Any], rows: Ints, parents: Ints) -> None:
        """Reorder in each engine."""
        for engine, part in zip(self.engines, state, strict=True):
            engine.reorder(part, rows, parents)


def check_vocabularies(bundle: Bundle, ensemble: Sequence[Bundle]) -> None:
    """Refuse models with different tokenizers."""
    for number, member in enumerate(ensemble, 2):
        sides = {
            "source": member.source_tokenizer == bundle.source_tokenizer,
            "target": member.target_tokenizer == bundle.target_tokenizer,
        }
        if different := [side for side, same in sides.items() if not same]:
            raise ConfigError(
                f"Model {number} of the ensemble has another {' and '.join(different)} vocabulary "
                "than the first.",
                "Average only models with the same tokenizers.",
            )


def as_bundles(bundle: Bundle, ensemble: Iterable[Bundle]) -> tuple[Bundle, ...]:
    """Return the other bundles of an ensemble; ConfigError if one is not a loaded bundle."""
    remedy = "Give a Bundle; `headway.load` and `headway.load_bundle` read one from disk."
    require_type("ensemble", ensemble, Iterable, "Give a list of bundles.")
    bundles = tuple(ensemble)
    for member in (bundle, *bundles):
        require_type("A model", member, Bundle, remedy)
    return bundles


def as_paths(ensemble: Iterable[str | Path]) -> list[str | Path]:
    """Return the folders of the other models of an ensemble; ConfigError for one path alone."""
    if isinstance(ensemble, (str, PathLike)):
        raise ConfigError(
            f"ensemble is one path, {ensemble}.", "Give a list of paths: ensemble=['runs/other']."
        )
    require_type("ensemble", ensemble, Iterable, "Give a list of paths: ensemble=['runs/other'].")
    paths = list(ensemble)
    for path in paths:
        require_path("A model of the ensemble", path)
    return paths
