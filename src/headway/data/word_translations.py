"""How well the words of two lines translate each other, learned from the text itself.

Lengths show that a stretch of lines is shifted, but not at which line it begins: neighbours are
often of about the same length. Their words differ. The probabilities that one word translates
another are those of IBM Model 1 (`lexicon.py`).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count

from headway.data.lexicon import learn_lexicon
from headway.data.line_words import words

_UNTRANSLATED = 0.1  # share of target words that come from no word of the source
_SMALLEST = 1e-4  # probabilities below it are no more than chance


class WordTranslations:
    """Compares lines by the words that translate each other in other lines."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Learn from pairs of lines. At least one must have a target word."""
        sources, targets = (defaultdict[str, int](count().__next__) for _ in range(2))
        ids = [
            ([sources[word] for word in words(source)], [targets[word] for word in words(target)])
            for source, target in pairs
        ]
        lexicon = learn_lexicon(ids, len(sources), len(targets))
        self.source_words = set(sources)
        numbered_sources, numbered_targets = [*sources, ""], [*targets]
        likely = lexicon.probabilities > _SMALLEST
        columns = lexicon.sources, lexicon.targets, lexicon.probabilities
        self.probabilities = {
            (numbered_sources[source], numbered_targets[target]): probability
            for source, target, probability in zip(
                *(column[likely].tolist() for column in columns), strict=True
            )
        }
        """t(target word | source word); the source word of NULL is empty."""
        counts = Counter(word for _, target in ids for word in target)
        total = counts.total()
        self.shares = {numbered_targets[word]: number / total for word, number in counts.items()}

    def evidence(self, source: str, target: str) -> float:
        """Return how much more probable the source makes the target: the logarithm of the ratio.

        0 if no word of the target is known.
        """
        source_words = ["", *(word for word in words(source) if word in self.source_words)]
        ratios = (
            self._probability(source_words, word) / share
            for word in words(target)
            if (share := self.shares.get(word))
        )
        return sum(math.log(_UNTRANSLATED + (1 - _UNTRANSLATED) * ratio) for ratio in ratios)

    def _probability(self, source: Sequence[str], target: str) -> float:
        """Return t(target | source words), the mean over the words and NULL."""
        total = sum(self.probabilities.get((word, target), 0.0) for word in source)
        return total / len(source)
