"""The scripts of the lines that a model translates, beside that of its training text."""

from collections import Counter

from headway.bundle import Bundle
from headway.counted import counted
from headway.data.scripts import main_script, script_name

_FEWEST_LETTERS = 10  # letters in another script, below which a text may be a name
_MOST = 0.5  # share of the lines with letters


class SourceScripts:
    """Counts of the lines in each script."""

    def __init__(self, bundle: Bundle) -> None:
        """Begin before the first line."""
        self.bundle = bundle
        self._lines: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()

    def add(self, sentence: str) -> None:
        """Count the next line."""
        if script := main_script(sentence):
            self._lines[script] += 1
            self._letters[script] += sum(map(str.isalpha, sentence))

    def remark(self) -> str:
        """Return a sentence if most lines are in another script than sources in training."""
        usual = self.bundle.source_script
        if not usual or not self._lines:
            return ""
        script, lines = self._lines.most_common(1)[0]
        is_most = lines > _MOST * self._lines.total()
        if script == usual or not is_most or self._letters[script] < _FEWEST_LETTERS:
            return ""
        return (
            f"{counted(lines, 'line')} of {self._lines.total():,} "
            f"{'is' if lines == 1 else 'are'} in {script_name(script)} letters, but the sources "
            f"that the model was trained on are in {script_name(usual)} letters. "
            f"The text seems not to be in {language_of_sources(self.bundle)}."
        )


def language_of_sources(bundle: Bundle) -> str:
    """Return the name of the source language in words."""
    language = bundle.source_language
    words = "the language that this model translates from"
    return words if language == "source" else f"{language}, {words}"
