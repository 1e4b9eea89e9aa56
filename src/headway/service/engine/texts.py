"""A text to translate: its parts are units of work, whose results become one translation."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from headway.decoding.assemble import JoinedText, TranslationBuilder
from headway.decoding.attention import AttentionReader
from headway.decoding.banned import BannedTexts
from headway.decoding.glossary import Glossary, as_glossary
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Part
from headway.decoding.request import Request
from headway.decoding.runaway import better, runs_away, shortened, tightened
from headway.decoding.translation import ScoredText, Translation
from headway.decoding.translator import TextTranslator
from headway.service.engine.wishes import Kind, Wish


@dataclass(eq=False, slots=True)
class Text:
    """A text of a job, and the hypotheses of its translated parts."""

    job: int
    """The number of its job, whose texts are dropped together."""
    client: str
    source: str
    parts: list[Part]
    forced: list[bool]
    options: SearchOptions
    alignments: bool
    answer: "Answer"
    tell: Callable[[str], None] | None = None
    """Receives the translation of each part, in order; None if nothing waits for parts."""
    hypotheses: list[list[Hypothesis]] = field(init=False)
    ran_away: list[bool] = field(init=False)
    left: int = field(init=False)
    """The number of parts that are not translated yet."""
    dropped: bool = False
    """True if the translation is no longer needed."""
    joined: JoinedText = field(default_factory=JoinedText)
    """The translations of the parts that `tell` has received."""

    def __post_init__(self) -> None:
        """Begin without results."""
        self.left = len(self.parts)
        self.hypotheses = [[] for _ in self.parts]
        self.ran_away = [False] * self.left

    def drop(self) -> None:
        """Give up the text."""
        self.dropped = True


Answer = Callable[[Translation | Exception], None]
"""Receives the translation of a text, or the error that prevented it."""


@dataclass(eq=False, slots=True)
class Unit:
    """One part of a text: a sentence, or a part of a long one."""

    text: Text
    place: int
    request: Request
    kind: Kind
    first: list[Hypothesis] | None = None
    """The hypotheses of the first search, for a second one (`headway.decoding.runaway`)."""
    first_request: Request | None = None

    @property
    def pieces(self) -> int:
        """Return the number of its source pieces."""
        return len(self.request.source_ids)


@dataclass(frozen=True, slots=True)
class Demands:
    """The demands of a request on each of its texts, prepared for the model."""

    options: SearchOptions
    at_most: int | None
    """Most sentences of a part; None for no limit."""
    terms: tuple[str, ...]
    banned: BannedTexts | None
    glossary: Glossary | None
    alignments: bool


class TextMaker:
    """Divide texts into units, and make translations from their hypotheses."""

    def __init__(self, translator: TextTranslator, glossary: Glossary | None = None) -> None:
        """Use a translator's tokenizers and settings.

        glossary: for requests without one of their own. Raises ConfigError for a translation in it
        that the model cannot write.
        """
        self.translator, self.glossary = translator, glossary
        tokenizer = translator.bundle.target_tokenizer
        # Kept, because a rule reads the whole vocabulary, and a batch shares one rule.
        self._banning_rule = lru_cache(4)(lambda texts: BannedTexts(texts, tokenizer))
        self._counting = threading.Lock()
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
        self,
        job: int,
        client: str,
        source: str,
        demands: Demands,
        answer: Answer,
        prefix: str = "",
        tell: Callable[[str], None] | None = None,
    ) -> tuple[Text, list[Unit]]:
        """Return a text with its units; a blank text has none.

        answer: receives the translation. tell: receives that of each part, in order, with the space
        before it; together they are the text of the translation. Raises ConfigError or DataError
        for demands that the model cannot meet.
        """
        requests, options = self.translator.requests, demands.options
        parts = requests.parts(source, at_most=demands.at_most)
        part_requests = requests.make(
            [parts], options, prefix=prefix, terms=demands.terms,
            glossary=demands.glossary, banned=demands.banned,
        )  # fmt: skip
        forced = [request.is_forced for request in part_requests]
        text = Text(job, client, source, parts, forced, options, demands.alignments, answer, tell)
        return text, [
            Unit(text, place, request, _kind(options, request, demands.banned))
            for place, request in enumerate(part_requests)
        ]

    def take(self, unit: Unit, hypotheses: list[Hypothesis]) -> Unit | None:
        """Keep the hypotheses of a search; return a unit for a second search if the best runs away.

        The text is answered when its last part is translated.
        """
        text, tokenizer = unit.text, self.translator.bundle.source_tokenizer
        if unit.first is not None and unit.first_request is not None:
            hypotheses = better(unit.first, hypotheses, unit.first_request, text.options, tokenizer)
        else:
            best = max(hypotheses, key=lambda hypothesis: hypothesis.score)
            if runs_away(best.ids, unit.request, text.options, tokenizer):
                text.ran_away[unit.place] = True
                again = shortened(unit.request, text.options)
                kind = unit.kind._replace(options=tightened(text.options))
                return Unit(text, unit.place, again, kind, hypotheses, unit.request)
        with self._counting:  # parts of one text may be with several workers
            text.hypotheses[unit.place] = hypotheses
            self._tell(text)
            text.left -= 1
            is_last = text.left == 0
        if is_last and not text.dropped:
            self.finish(text)
        return None

    def _tell(self, text: Text) -> None:
        """Report each part that is translated, and whose earlier parts are translated, too."""
        if text.tell is None or text.dropped:
            return
        for place in range(len(text.joined.glued), len(text.parts)):
            if not (hypotheses := text.hypotheses[place]):
                return
            best = max(hypotheses, key=lambda hypothesis: hypothesis.score)
            written = self.translator.bundle.target_tokenizer.decode(best.ids)
            text.tell(text.joined.add(written, text.parts[place].joint))

    def finish(self, text: Text) -> None:
        """Answer a text whose parts are all translated."""
        try:
            translation = self.translation(text)
        except Exception as error:  # of attention or the tokenizer; the worker's other texts go on
            text.answer(error)
        else:
            text.answer(translation)

    def translation(self, text: Text) -> Translation:
        """Return the translation of a text whose parts are all translated."""
        translator = self.translator
        builder = TranslationBuilder(translator.bundle, text.options, translator.confidence)
        if not text.alignments:
            return builder.join(
                text.source, text.parts, text.hypotheses, text.forced, ran_away=text.ran_away
            )
        attend = AttentionReader(translator.models)
        words = translator.requests.source_words(text.source, text.parts)
        return builder.join(
            text.source, text.parts, text.hypotheses, text.forced, attend, words,
            ran_away=text.ran_away,
        )  # fmt: skip


def _kind(options: SearchOptions, request: Request, banned: BannedTexts | None) -> Kind:
    return Kind(options, bool(request.terms), request.allowed is not None, banned)


def as_message(translation: Translation, *, alignments: bool) -> dict[str, Any]:
    """Return a translation in plain values, with the names of `headway translate --json`."""
    return {
        **_scored(translation.hypotheses[0], alignments=alignments),
        **translation.facts(),
        "hypotheses": [_scored(h, alignments=alignments) for h in translation.hypotheses],
    }


def _scored(hypothesis: ScoredText, *, alignments: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"text": hypothesis.text, "score": hypothesis.score}
    if alignments:
        values["alignment"] = [list(pair) for pair in hypothesis.alignment]
    return values
