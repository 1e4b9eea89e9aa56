"""The limits of what a model knows: a calibrated bundle says which text is beyond it.

A small model translates any text, fluently, into sentences like those of its training. The bundle
of the demonstration therefore keeps what is usual for text that it knows, measured on held-out
sentences (`headway.evaluation.familiarity`).
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

import numpy as np

from headway.bundle import Bundle
from headway.data.tokenizer import UNK_ID, Tokenizer
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.parts import Part

FAMILIARITY = "familiarity"
"""The name of the limits in the record of a bundle."""

NEW_PAIR = 0.1
"""The doubt that a new pair adds: as much as a tenth of a nat in the mean log-probability."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Familiarity:
    """How much doubt is usual about translations of text that a model knows."""

    limit: float
    """The doubt above which text is beyond what the model knows."""
    pairs: frozenset[Pair]
    """Source tokens that follow each other within a word of the training text."""

    @classmethod
    def of(cls, bundle: Bundle) -> Self | None:
        """Return the limits of a bundle, or None if it was not calibrated."""
        values = bundle.record.get(FAMILIARITY)
        return None if values is None else cls(float(values["limit"]), _read(values["pairs"]))

    def doubt(
        self, tokenizer: Tokenizer, source_ids: Sequence[int], log_prob: float, count: int
    ) -> float:
        """Return the doubt about the best translation of a source; infinite for unknown tokens.

        It is the negative mean log-probability of the translation's tokens, and more for each two
        source tokens that never followed each other within a word. source_ids: without the end
        symbol. log_prob: of all `count` tokens, end included.
        """
        if UNK_ID in source_ids:
            return float("inf")
        new = set(pairs_within_words(tokenizer, source_ids)) - self.pairs
        return NEW_PAIR * len(new) - log_prob / count

    def record(self) -> dict[str, Any]:
        """Return the limits as plain values for the record of a bundle."""
        pairs = np.array(sorted(self.pairs), "<u4")
        return {"limit": self.limit, "pairs": base64.b64encode(pairs.tobytes()).decode()}


@lru_cache(4)
def _read(text: str) -> frozenset[Pair]:
    pairs = np.frombuffer(base64.b64decode(text), "<u4").reshape(-1, 2)
    return frozenset((first, second) for first, second in pairs.tolist())


def pairs_within_words(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[Pair]:
    """Yield each two tokens that follow each other within a word."""
    for pair, second in zip(pairwise(ids), tokenizer.spelled(ids)[1:], strict=True):
        if not second.startswith("▁"):
            yield pair


def unfamiliar_parts(
    bundle: Bundle,
    parts: Sequence[Part],
    hypotheses: Iterable[Hypothesis],
    forced: Iterable[bool],
) -> list[bool]:
    """Return for each part whether it is beyond what the model knows; False if it has no limits.

    forced: for each part, whether a prefix or terms were demanded. Their probability says nothing
    about the sentence, so such a part is judged by its source alone.
    """
    familiarity = Familiarity.of(bundle)
    if familiarity is None:
        return [False] * len(parts)
    tokenizer = bundle.source_tokenizer
    doubts = (
        familiarity.doubt(
            tokenizer, part.ids, 0.0 if is_forced else best.log_prob, len(best.ids) + 1
        )
        for part, best, is_forced in zip(parts, hypotheses, forced, strict=True)
    )
    return [doubt > familiarity.limit for doubt in doubts]
