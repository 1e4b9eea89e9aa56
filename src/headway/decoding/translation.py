"""What a Translator gives back: texts with their scores, and all that a caller should know."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A hypothesis as text."""

    text: str
    score: float
    """Log-probability divided by the length penalty; higher is better."""
    log_prob: float
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of one sentence."""

    text: str
    score: float
    pieces: tuple[str, ...]
    hypotheses: tuple[ScoredText, ...]
    """The n best, best first; the first is this translation."""
    num_parts: int = 1
    """More than 1 when the sentence was too long and was translated part by part."""
    complete: bool = True
    """False when the output limit ended the translation, or rules left nothing to go on with."""
    unknown_pieces: int = 0
    """Pieces of the source that the vocabulary does not know."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What could stand at one place of a translation."""

    piece: str
    """`</s>` where the translation could end."""
    probability: float
    translation: Translation
    """The best one that has the piece there."""
