"""A document that is translated in rounds, whose sentences share batches with other texts.

`headway.documents.steps` chooses the texts of each round, and writes the document at the end.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from headway.decoding.translation import Translation
from headway.documents import Answer, Finished, Steps, TextSentence, Wish, sentences_of
from headway.errors import ConfigError
from headway.service.engine.texts import Demands, Text, TextMaker
from headway.service.engine.waiting import WaitingLine

Tell = Callable[[Finished[Any] | Exception], None]


class DocumentWork:
    """The rounds of one document."""

    def __init__(
        self,
        maker: TextMaker,
        line: WaitingLine,
        demands: Demands,
        job: int,
        client: str,
    ) -> None:
        """Prepare a document of a client's job, whose sentences go into the line."""
        self.maker, self.line, self.demands = maker, line, demands
        self.job, self.client = job, client
        self.tell: Tell = lambda result: None
        """Receives the document, or the error that prevented it."""
        self.texts: list[Text] = []
        """The texts of the present round."""
        self.dropped = False
        self.pieces = 0
        """The number of target pieces of all translations so far."""
        self._steps: Steps[Any]
        self._answers: list[Answer | None] = []
        self._left = 0
        self._counting = threading.Lock()

    def split(self, text: str) -> list[TextSentence]:
        """Return the sentences of a text."""
        requests = self.maker.translator.requests
        return sentences_of(requests, text, False if self.demands.at_most is None else None)

    def begin(self, steps: Steps[Any]) -> None:
        """Begin the first round. Raises DataError for content of another format."""
        self._steps = steps
        try:
            self._advance(lambda: next(steps))
        except Exception:
            self.drop()
            raise

    def drop(self) -> None:
        """Give up the document."""
        self.dropped = True
        for text in self.texts:
            text.dropped = True

    def _advance(self, step: Callable[[], list[Wish]]) -> None:
        """Take a step; request the translations that it needs, or report the document."""
        try:
            wishes = step()
        except StopIteration as end:
            self.tell(end.value)
            return
        self._answers = [None for _ in wishes]
        self._left = len(wishes) + 1
        self.texts = []
        for number, wish in enumerate(wishes):
            if self.dropped:
                return
            self._ask(number, wish)
        self._count()  # the 1 that was added: before this, no answer begins the next round

    def _ask(self, number: int, wish: Wish) -> None:
        requests = self.maker.translator.requests
        demands = replace(
            self.demands,
            terms=wish.terms,
            alignments=wish.aligned,
            at_most=self.demands.at_most if wish.split else requests.sentences_a_part(False),
        )
        take = partial(self._take, number)
        try:
            text, units = self.maker.units(self.job, self.client, wish.text, demands, take)
        except ConfigError:
            if not wish.terms:
                raise
            self._count()  # the model cannot write these terms: the answer is None
            return
        self.texts.append(text)
        if self.dropped:  # by another thread, meanwhile
            text.drop()
            return
        if units:
            self.line.add(self.client, units)
        else:
            self.maker.finish(text)

    def _take(self, number: int, result: Translation | Exception) -> None:
        """Take the translation of a wish; the last one of a round begins the next round."""
        if self.dropped:
            return
        if isinstance(result, Exception):
            self._fail(result)
            return
        self.pieces += len(result.pieces)
        self._answers[number] = Answer(result.text, result.alignment, frozenset(result.flags))
        self._count()

    def _count(self) -> None:
        with self._counting:
            self._left -= 1
            is_last = self._left == 0
        if is_last and not self.dropped:
            answers = self._answers
            try:
                self._advance(lambda: self._steps.send(answers))
            except Exception as error:  # reported instead of the document; other texts go on
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.drop()
        self.tell(error)
