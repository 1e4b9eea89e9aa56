"""A text to translate: its parts are units of work, whose results become one translation."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headway.decoding.assemble import TranslationBuilder
from headway.decoding.attention import AttentionReader
from headway.decoding.banned import BannedTexts
from headway.decoding.glossary import Glossary, as_glossary
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Part
from headway.decoding.request import Request
from headway.decoding.translation import ScoredText, Translation
from headway.decoding.translator import TextTranslator
from headway.service.engine.wishes import Kind, Wish


@dataclass(eq=False, slots=True)
class Text:
    """A text of a job, and the hypotheses of those of its parts that are translated."""

    job: int
    item: int
    """The place of the text in its job."""
    source: str
    parts: list[Part]
    forced: list[bool]
    options: SearchOptions
    alignments: bool
    hypotheses: list[list[Hypothesis]] = field(init=False)
    left: int = field(init=False)
    """The parts that are not translated yet."""
    dropped: bool = False
    """True if nothing waits for the translation any more."""

    def __post_init__(self) -> None:
        """Begin without results."""
        self.left = len(self.parts)
        self.hypotheses = [[] for _ in self.parts]


@dataclass(eq=False, slots=True)
class Unit:
    """One part of a text: a sentence, or a part of a long one."""

    text: Text
    place: int
    request: Request
    kind: Kind

    @property
    def pieces(self) -> int:
        """Return the number of its source pieces."""
        return len(self.request.source_ids)


@dataclass(frozen=True, slots=True)
class Demands:
    """What a request demands of each of its texts."""

    options: SearchOptions
    at_most: int | None
    """Sentences of a part; None for all."""
    terms: tuple[str, ...]
    banned: BannedTexts | None
    glossary: Glossary | None
    alignments: bool


class TextMaker:
    """Divide texts into units, and make translations of their hypotheses."""

    def __init__(self, translator: TextTranslator, glossary: Glossary | None = None) -> None:
        """Use a translator's tokenizers and settings.

        glossary: for requests without one of their own. Raises ConfigError for a translation in it
        that the model cannot write.
        """
        self.translator, self.glossary = translator, glossary
        tokenizer = translator.bundle.target_tokenizer
        # A rule looks at the whole vocabulary, and only sentences with the same one share a batch.
        self._banning_rule = lru_cache(4)(lambda texts: BannedTexts(texts, tokenizer))
        if glossary is not None:
            translator.requests.check_glossary(glossary)

    def demands(self, wish: Wish) -> Demands:
        """Return the demands of a request; ConfigError if the model cannot meet them."""
        return Demands(
            wish.options(self.translator.options),
            self.translator.requests.sentences_a_part(wish.split_sentences),
            wish.terms,
            self._banning_rule(wish.banned) if wish.banned else None,
            self.glossary if wish.glossary is None else as_glossary(wish.glossary),
            wish.alignments,
        )

    def units(
        self, job: int, item: int, source: str, demands: Demands, prefix: str = ""
    ) -> tuple[Text, list[Unit]]:
        """Return a text with its units; it has none if it is blank.

        Raises ConfigError or DataError for demands that the model cannot meet.
        """
        requests, options = self.translator.requests, demands.options
        parts = requests.parts(source, at_most=demands.at_most)
        made = requests.make(
            [parts], options, prefix=prefix, terms=demands.terms,
            glossary=demands.glossary, banned=demands.banned,
        )  # fmt: skip
        forced = [request.is_forced for request in made]
        text = Text(job, item, source, parts, forced, options, demands.alignments)
        return text, [
            Unit(text, place, request, _kind(options, request, demands.banned))
            for place, request in enumerate(made)
        ]

    def translation(self, text: Text) -> Translation:
        """Return the translation of a text whose parts are all translated."""
        builder = TranslationBuilder(self.translator.bundle, text.options)
        if not text.alignments:
            return builder.join(text.source, text.parts, text.hypotheses, text.forced)
        attend = AttentionReader(self.translator.models)
        words = self.translator.requests.source_words(text.source, text.parts)
        return builder.join(text.source, text.parts, text.hypotheses, text.forced, attend, words)


def _kind(options: SearchOptions, request: Request, banned: BannedTexts | None) -> Kind:
    return Kind(options, bool(request.terms), request.allowed is not None, banned)


def as_message(translation: Translation, *, alignments: bool) -> dict[str, Any]:
    """Return a translation in plain values, with the names of `headway translate --json`."""
    return {
        **_scored(translation.hypotheses[0], alignments=alignments),
        "complete": translation.complete,
        "num_parts": translation.num_parts,
        "num_sentences": translation.num_sentences,
        "unknown_pieces": translation.unknown_pieces,
        "empty_parts": translation.empty_parts,
        "unfamiliar_parts": translation.unfamiliar_parts,
        "hypotheses": [_scored(h, alignments=alignments) for h in translation.hypotheses],
    }


def _scored(hypothesis: ScoredText, *, alignments: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"text": hypothesis.text, "score": hypothesis.score}
    if alignments:
        values["alignment"] = [list(pair) for pair in hypothesis.alignment]
    return values
