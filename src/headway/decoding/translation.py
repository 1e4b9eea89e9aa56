"""What a Translator gives back: texts with their scores, and all that a caller should know."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from headway.decoding.alignment import Alignment


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """Where a hypothesis looks in its source: cross-attention, averaged over heads."""

    weights: Float[Tensor, "T S"]
    """A row for the step that chooses each target piece, a column for each source piece.

    The sum of a row is 1.
    """
    target_pieces: tuple[str, ...]
    """T of them, `</s>` included."""
    source_pieces: tuple[str, ...]
    """S of them, `</s>` included."""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A hypothesis as text."""

    text: str
    score: float
    """Log-probability divided by the length penalty, plus coverage penalty; higher is better."""
    log_prob: float
    pieces: tuple[str, ...]
    attentions: tuple[Attention, ...] = field(default=(), compare=False, repr=False)
    """One for each part that was translated by itself; none unless asked for."""
    alignment: Alignment = ()
    """Which source word each target word is about; empty unless attention was asked for."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of one sentence."""

    text: str
    score: float
    pieces: tuple[str, ...] = field(repr=False)
    hypotheses: tuple[ScoredText, ...] = field(repr=False)
    """The n best, best first; the first is this translation."""
    num_parts: int = 1
    """Its sentences, or groups of them; a sentence that was too long is several parts."""
    num_sentences: int = 1
    """Those, or groups; fewer than the parts when one was too long for the model."""
    complete: bool = True
    """False when the output limit ended the translation, or rules left nothing to go on with."""
    unknown_pieces: int = 0
    """Pieces of the source that the vocabulary does not know."""
    empty_parts: int = 0
    """Parts whose translation has no text."""

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """Return the attention of each part; none unless asked for."""
        return self.hypotheses[0].attentions

    @property
    def alignment(self) -> Alignment:
        """Return which source word each target word is about; empty unless asked for."""
        return self.hypotheses[0].alignment


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """What is to be said of a streamed translation in the end; all of it as in `Translation`."""

    num_parts: int
    num_sentences: int
    complete: bool
    unknown_pieces: int
    empty_parts: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """What could stand at one place of a translation."""

    piece: str
    """`</s>` where the translation could end."""
    probability: float
    translation: Translation
    """The best one that has the piece there."""
