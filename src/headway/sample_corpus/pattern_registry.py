"""Keep the sentence patterns under their names, in the order of their definition."""

from collections.abc import Callable

from headway.sample_corpus.grammar import Draw, Sentence

Pattern = Callable[[Draw], Sentence]

PATTERNS: dict[str, Pattern] = {}


def pattern(function: Pattern) -> Pattern:
    """Register a function as the sentence pattern of its name."""
    PATTERNS[function.__name__] = function
    return function
