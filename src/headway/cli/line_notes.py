"""Notes on translated lines: the first few of each kind as they come, the others as a number."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from headway.cli.source_scripts import SourceScripts, language_of_sources
from headway.counted import counted
from headway.data.sentences import has_rules_of_its_own
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import StreamEnd, Translation
from headway.errors import shown

_EACH = 5  # notes of a kind that are printed; more would hide the others
_EXAMPLES = 5  # of characters or words that the vocabulary lacks or the tokenizer deletes
_FEWEST_LINES = 10  # lines, below which nothing is said about most of them
_MOST = 0.5  # share of the lines with text
_KINDS = {
    "parts": ("were too long and were translated in parts", "num_parts"),
    "incomplete": ("were ended by the output limit", "complete"),
    "unknown": ("have text that is unknown to the vocabulary", "unknown_pieces"),
    "deleted": ("have characters that the tokenizer deletes", "deleted_characters"),
    "empty": ("have empty translations or empty parts", "empty_parts"),
    "repeated": ("have translations that ran away", "flags"),
    "unfamiliar": ("are beyond what this model knows", "unfamiliar_parts"),
}
"""By kind: a verb phrase for several lines, and the name of the fact in the output of `--json`."""


UNFAMILIAR = (
    "it was trained on sentences of a small built-in grammar, and the translation is a guess"
)


class LineNotes:
    """Notes on standard error, about single lines and about all of them."""

    def __init__(self, requests: RequestMaker, *, runaways_mended: bool, quiet: bool) -> None:
        """Begin before the first line.

        runaways_mended: what ran away was searched again. quiet: print nothing.
        """
        self.bundle = requests.bundle
        self.runaways_mended = runaways_mended
        self.quiet = quiet
        self.number = 0
        self._counts: Counter[str] = Counter()
        self._with_text = 0
        self._scripts = SourceScripts(self.bundle)
        self._has_rules = has_rules_of_its_own(self.bundle.source_language)

    def add(self, sentence: str, result: Translation | StreamEnd) -> None:
        """Print notes on the translation of the next line."""
        self.number += 1
        if self.quiet:
            return
        self._with_text += bool(sentence.strip())
        self._scripts.add(sentence)
        if result.num_sentences > 1 and not self._has_rules:
            self._has_rules = True  # said once
            self._say(
                f"line {self.number} was cut into {result.num_sentences} sentences by the rules of "
                "English, because the model does not record its source language. Use "
                "--one-sentence-a-line to translate lines whole, or give the model its language "
                "(docs/en/howto/several-sentences.md)."
            )
        for kind, note in self._notes(sentence, result):
            self._counts[kind] += 1
            if self._counts[kind] <= _EACH:
                self._say(f"line {self.number}: {note}.")

    def finish(self) -> None:
        """Print the number of lines of each kind, and a note if the text looks foreign."""
        if self.quiet:
            return
        for kind, (verb, name) in _KINDS.items():
            if (count := self._counts[kind]) > _EACH:
                lines = f"{count:,} of {counted(self.number, 'line')}"
                self._say(f"{lines} {verb}; {name} of --json shows which.")
        if sentence := self._scripts.remark() or self._mostly_unknown():
            self._say(sentence)

    def _notes(self, sentence: str, result: Translation | StreamEnd) -> Iterator[tuple[str, str]]:
        """Yield each note on a line, with its kind."""
        if result.num_parts > result.num_sentences:
            what = "longer" if result.num_sentences == 1 else "a sentence is longer"
            parts = f"translated in {result.num_parts} parts"
            yield "parts", f"{what} than the model can take; {parts}"
        if not result.complete:
            yield "incomplete", "the output limit ended the translation; it may lack its end"
        if result.unknown_pieces:
            texts = self.bundle.source_tokenizer.unknown_texts(sentence)
            yield "unknown", f"unknown to the vocabulary: {_listed(texts)}"
        if result.deleted_characters:
            texts = self.bundle.source_tokenizer.deleted_texts(sentence)
            yield "deleted", f"deleted by the tokenizer: {_listed(texts)}"
        if result.empty_parts == result.num_parts:
            if not isinstance(result, StreamEnd):  # the reader of a stream has seen it
                yield "empty", "the translation is empty"
        elif result.empty_parts:
            lost = "is empty" if result.empty_parts == 1 else "are empty"
            parts = f"{result.empty_parts} of its {result.num_parts} translated parts"
            yield "empty", f"{parts} {lost}"
        if "repeated" in result.flags:
            again = "; it was searched again under rules" if self.runaways_mended else ""
            yield "repeated", f"the translation repeated itself or was far too long{again}"
        if result.unfamiliar_parts:
            where = "" if result.num_parts == 1 else f" in {result.unfamiliar_parts} of its parts"
            yield "unfamiliar", f"beyond what this model knows{where}; {UNFAMILIAR}"

    def _mostly_unknown(self) -> str:
        """Return a sentence if most lines have text that is unknown to the vocabulary."""
        is_most = self._counts["unknown"] > _MOST * self._with_text
        if self._with_text < _FEWEST_LINES or not is_most:
            return ""
        return (
            "most lines have text that is unknown to the vocabulary. The text seems not to be in "
            f"{language_of_sources(self.bundle)}, or is unlike the training text."
        )

    def _say(self, note: str) -> None:
        print(f"Note: {note}", file=sys.stderr)


def _listed(texts: Sequence[str]) -> str:
    """Return the first few of these texts, each once."""
    listed = [shown(text) for text in dict.fromkeys(texts)]
    more = f" and {len(listed) - _EXAMPLES} more" if len(listed) > _EXAMPLES else ""
    return ", ".join(listed[:_EXAMPLES]) + more
