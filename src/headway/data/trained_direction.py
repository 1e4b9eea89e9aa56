"""Find text that goes another way than the model that training starts from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines
from headway.data.languages import are_languages, is_same_language
from headway.data.scripts import main_script, script_name
from headway.data.survey import in_other_scripts


@dataclass(frozen=True, slots=True)
class TrainedDirection:
    """The languages and scripts that a model was trained on, each for source and target."""

    languages: tuple[str, str]
    """Their names or codes, or `source` and `target` if they are not known."""
    scripts: tuple[str, str]
    """As `main_script` returns them; empty if they are not known."""

    def findings(self, pairs: Sequence[Pair], languages: tuple[str, str]) -> list[Finding]:
        """Return findings on new training text that is in other scripts or the other way round.

        languages: the names or codes of the languages of the new text, from and to.
        """
        known = [Counter([script] if script else []) for script in self.scripts]
        different = list(in_other_scripts((known[0], known[1]), pairs))
        letters = [script for _, script, _, _ in different]
        if letters == [script_name(script) for script in reversed(self.scripts)]:
            return [self._other_way("letters", lines=_with_letters(pairs))]
        if different:
            return [
                on_lines(
                    f"new-script-{side}",
                    f"{side} in {script} letters, but the {side}s that the model was trained on "
                    f"are in {expected} letters",
                    lines,
                )
                for side, script, expected, lines in different
            ]
        if self._is_reverse_of(languages):
            return [self._other_way("languages", lines=range(1, len(pairs) + 1))]
        return []

    def _is_reverse_of(self, languages: tuple[str, str]) -> bool:
        source, target = languages
        return (
            are_languages(*self.languages)
            and are_languages(source, target)
            and is_same_language(source, self.languages[1])
            and is_same_language(target, self.languages[0])
        )

    def _other_way(self, by: str, lines: Sequence[int]) -> Finding:
        names = self.languages if by == "languages" else tuple(map(script_name, self.scripts))
        letters = " letters" if by == "letters" else ""
        return on_lines(
            "other-direction",
            "source and target seem exchanged beside the model that training starts from, which "
            f"translates from {names[0]} to {names[1]}{letters}",
            lines,
        )


def _with_letters(pairs: Sequence[Pair]) -> list[int]:
    """Return the lines whose two sides have letters, counted from 1."""
    return [
        line
        for line, pair in enumerate(pairs, start=1)
        if main_script(pair.source) and main_script(pair.target)
    ]
