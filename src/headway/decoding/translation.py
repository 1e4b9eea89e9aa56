"""The results of a Translator: texts with their scores and further facts."""

from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float
from torch import Tensor

from headway.decoding.alignment import Alignment
from headway.decoding.flags import Flag


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """The cross-attention of a hypothesis to its source, averaged over heads."""

    weights: Float[Tensor, "T S"]
    """A row for the step that chooses each target piece, a column for each source piece.

    The sum of a row is 1.
    """
    target_pieces: tuple[str, ...]
    """T pieces, `</s>` included."""
    source_pieces: tuple[str, ...]
    """S pieces, `</s>` included."""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A hypothesis as text."""

    text: str
    score: float
    """Log-probability divided by the length penalty, plus coverage penalty; higher is better.

    The score of a text in several parts is the sum of the scores of its parts, each divided by the
    length penalty of its own length. So a text with more sentences has a lower score.
    """
    log_prob: float
    """Natural logarithm of the probability, end symbols included; the sum over the parts."""
    pieces: tuple[str, ...]
    """The pieces of all parts, without end symbols."""
    attentions: tuple[Attention, ...] = field(default=(), compare=False, repr=False)
    """One for each part that was translated by itself; empty unless requested."""
    alignment: Alignment = ()
    """The source word of each target word; empty unless attention was requested."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one text."""

    text: str
    score: float
    """As in `ScoredText`: the sum of the scores of the parts."""
    pieces: tuple[str, ...] = field(repr=False)
    hypotheses: tuple[ScoredText, ...] = field(repr=False)
    """The n best hypotheses, best first; the first is this translation."""
    num_parts: int = 1
    """The number of parts translated separately: sentences, groups, or parts of a long one."""
    num_sentences: int = 1
    """The number of sentences, or groups; fewer than the parts if one was too long."""
    complete: bool = True
    """False if the output limit ended a part of it, or rules forbade every piece.

    It does not compare the translation with the source. A sentence that was too long for the model
    was cut into parts: `num_parts` is more than `num_sentences` then, and content is easily lost.
    """
    unknown_pieces: int = 0
    """The number of source pieces, of all parts, that the vocabulary does not have."""
    empty_parts: int = 0
    """The number of parts whose translation has no text; 1 if nothing is left of the source."""
    unfamiliar_parts: int = 0
    """The number of parts unlike the text that the model knows; 0 for an uncalibrated bundle."""
    deleted_characters: int = 0
    """The number of source characters that the tokenizer deletes (`Tokenizer.deleted_texts`)."""
    confidence: float | None = None
    """The estimated probability that the translation is close to its reference, from 0 to 1.

    It is that of the part with the least; see `headway.decoding.confidence`. None for a bundle
    without a calibration, an ensemble, a blank text, and a demanded prefix or term.
    """
    flags: tuple[Flag, ...] = ()
    """What is doubtful about the translation, in this order.

    - split: a sentence was too long for the model, and was cut into parts
    - cut: the output limit ended a part of it, so it is not `complete`
    - repeated: a part of it ran away: it repeated a few pieces, or was far longer than its source.
      It was searched again under rules, unless that was turned off or pieces were drawn
    - copied: it is the source, word for word, and has a letter
    - low_confidence: a part of it is beyond what the model knows (`unfamiliar_parts`), or the
      confidence is below a half
    """

    def facts(self) -> dict[str, Any]:
        """Return what is known besides texts and scores, in values that JSON has."""
        return {
            "pieces": list(self.pieces),
            "num_parts": self.num_parts,
            "num_sentences": self.num_sentences,
            "complete": self.complete,
            "unknown_pieces": self.unknown_pieces,
            "empty_parts": self.empty_parts,
            "unfamiliar_parts": self.unfamiliar_parts,
            "deleted_characters": self.deleted_characters,
            "confidence": self.confidence,
            "flags": list(self.flags),
        }

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """Return the attention of each part; empty unless requested."""
        return self.hypotheses[0].attentions

    @property
    def alignment(self) -> Alignment:
        """Return the source word of each target word; empty unless requested."""
        return self.hypotheses[0].alignment


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Facts about a streamed translation, known at its end; fields as in `Translation`."""

    num_parts: int
    num_sentences: int
    complete: bool
    unknown_pieces: int
    empty_parts: int
    unfamiliar_parts: int = 0
    deleted_characters: int = 0
    confidence: float | None = None
    flags: tuple[Flag, ...] = ()
    """A part that ran away was not searched again, because its text had been sent."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A possible piece at one place of a translation."""

    piece: str
    """`</s>` if the translation could end there."""
    probability: float
    translation: Translation
    """The best translation with the piece there."""
