"""Remarks on lines of several sentences, for models that were trained on such lines."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.decoding.translator import TextTranslator


class ParagraphWatch:
    """Remarks once on lines with several sentences, and once on lines with unusually many."""

    def __init__(
        self, translator: "TextTranslator", *, split_sentences: bool | None, quiet: bool
    ) -> None:
        """Watch for such lines unless the caller decided how to split them."""
        self.requests = translator.requests
        of_paragraphs = self.requests.bundle.trained_on_paragraphs
        self.usual = self.requests.sentences_a_part(None)
        listens = of_paragraphs and split_sentences is None and not quiet
        self.listens_for = {"whole", "groups"} if listens else set[str]()
        if self.usual is None:
            self.listens_for -= {"groups"}
        self.number = 0

    def of(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines unchanged."""
        for line in lines:
            self.number += 1
            if self.listens_for:
                parts = self.requests.parts(line, at_most=1)
                self._look(len({part.sentence for part in parts}))
            yield line

    def _look(self, sentences: int) -> None:
        is_longer = self.usual is not None and sentences > self.usual
        kind = "groups" if is_longer else "whole"
        if sentences < 2 or kind not in self.listens_for:
            return
        self.listens_for -= {kind}
        share = self.requests.bundle.several_sentences
        how, why = "as a whole", f"{share:.0%} of this model's training lines have several"
        if is_longer:
            how = f"in groups of at most {self.usual}"
            why = "this model's training lines seldom have more"
        print(
            f"Note: line {self.number} has {sentences} sentences and is translated {how}, because "
            f"{why}. Use --split-sentences to translate each one separately.",
            file=sys.stderr,
        )
