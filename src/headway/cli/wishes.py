"""Arguments of `translate` apart from the text: options, and lines that belong to each sentence."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from headway.counted import counted
from headway.data.lines import read_lines
from headway.decoding.glossary import Glossary, looks_like_glossary
from headway.decoding.options import SearchOptions
from headway.decoding.request_maker import RequestMaker
from headway.errors import DataError, shown

_GLOSSARY_REMEDY = (
    "If it is a glossary, source terms with their translations, give it with --glossary."
)

_NAMED = 5
"""Terms of a glossary that a remark names."""


class Wishes:
    """Arguments that are the same for every line, and files with a line for each."""

    def __init__(
        self,
        options: SearchOptions,
        *,
        banned: Sequence[str],
        prefix: Path | None,
        terms: Path | None,
        glossary: Path | None,
        split_sentences: bool | None,
        file: Path | None,
    ) -> None:
        """Open the files; file: the text, None for standard input.

        Raises DataError for a glossary that is damaged, or was given as terms.
        """
        if terms is not None and file is not None:
            _check_terms(terms, file)
        self.options = options
        self.glossary = None if glossary is None else Glossary.read(glossary)
        self._same: dict[str, Any] = {
            "banned": banned,
            "glossary": self.glossary,
            "options": options,
            "split_sentences": split_sentences,
        }
        self.prefixes = None if prefix is None else read_lines(prefix)
        self.terms_file = terms
        self.terms = None if terms is None else read_lines(terms)
        self.count = 0

    def check(self, requests: RequestMaker) -> None:
        """Raise an error for a glossary that the model cannot write, before the work."""
        if self.glossary is not None:
            requests.check_glossary(self.glossary)

    def of(self, count: int) -> dict[str, Any]:
        """Return the arguments of `translate` for the next lines."""
        first, self.count = self.count, self.count + count
        wanted = self._same | {"first": first}
        if self.prefixes is not None:
            wanted["prefix"] = take_lines(self.prefixes, count, "prefix")
        if self.terms is not None:
            lines = take_lines(self.terms, count, "terms", self._glossary_remedy())
            wanted["terms"] = [[t for t in line.split("\t") if t.strip()] for line in lines]
        return wanted

    def finish(self, quiet: bool) -> None:
        """Remark on lines without a sentence and on terms that were not used.

        Raises DataError if the lines without a sentence are those of a glossary.
        """
        for what, lines in (("prefix", self.prefixes), ("terms", self.terms)):
            if lines is None or next(lines, None) is None:
                continue
            message = f"the {what} file has more lines than there were sentences."
            if what == "terms" and (remedy := self._glossary_remedy()):
                raise DataError(f"{message[0].upper()}{message[1:]}", remedy)
            if not quiet:
                print(f"Note: {message}", file=sys.stderr)
        if self.glossary is not None and self.glossary.unused and not quiet:
            print(f"Note: {_unused_terms(self.glossary)}", file=sys.stderr)

    def _glossary_remedy(self) -> str:
        """Return the advice for a terms file in the form of a glossary, or an empty text."""
        path = self.terms_file
        if path is None or not path.is_file() or not looks_like_glossary(read_lines(path)):
            return ""
        return _GLOSSARY_REMEDY


def _unused_terms(glossary: Glossary) -> str:
    """Return a remark on the source terms that no sentence had."""
    unused = glossary.unused
    named = ", ".join(shown(term) for term in unused[:_NAMED])
    and_more = f" and {len(unused) - _NAMED:,} more" if len(unused) > _NAMED else ""
    return (
        f"no sentence has {counted(len(unused), 'term')} of the glossary: "
        f"{named}{and_more}. A term is found as whole words, as written or with a capital "
        "first letter; end it with * to find it with any ending."
    )


def _check_terms(terms: Path, file: Path) -> None:
    """Raise DataError for a glossary in place of a file of terms, before the work."""
    if not (terms.is_file() and file.is_file() and looks_like_glossary(read_lines(terms))):
        return
    rows, lines = (sum(1 for _ in read_lines(path)) for path in (terms, file))
    if rows != lines:
        raise DataError(
            f"{terms} has {counted(rows, 'line')} of two columns, but {file} has "
            f"{counted(lines, 'sentence')}; a terms file has one line for each.",
            _GLOSSARY_REMEDY,
        )


def take_lines(lines: Iterator[str], count: int, name: str, remedy: str = "") -> list[str]:
    """Return the lines of the next sentences; DataError for too few."""
    first_lines = list(islice(lines, count))
    if len(first_lines) < count:
        raise DataError(
            f"The {name} file has fewer lines than there are sentences.",
            remedy or "Give one line for each; an empty one asks for nothing.",
        )
    return first_lines
