"""Lines of several sentences that are left whole, because the model was trained on such."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.decoding.translator import Translator


class ParagraphWatch:
    """Remark, once, on a line of several sentences that is translated as it is."""

    def __init__(
        self, translator: "Translator", *, split_sentences: bool | None, quiet: bool
    ) -> None:
        """Listen for such lines unless it was asked how to take them."""
        self.requests = translator.requests
        left = split_sentences is None and not self.requests.splits_sentences(None)
        self.listens = left and not quiet
        self.number = 0

    def of(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines again."""
        for line in lines:
            self.number += 1
            if self.listens:
                parts = self.requests.parts(line, split_sentences=True)
                self._look(len({part.sentence for part in parts}))
            yield line

    def _look(self, sentences: int) -> None:
        if sentences > 1:
            self.listens = False
            share = self.requests.bundle.several_sentences
            print(
                f"Note: line {self.number} has {sentences} sentences and is translated as a whole, "
                f"because {share:.0%} of this model's training lines have several. "
                "Use --split-sentences to translate each one separately.",
                file=sys.stderr,
            )
