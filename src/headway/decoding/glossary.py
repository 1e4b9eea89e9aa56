"""A glossary: prescribed translations of source terms."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headway.data.compression import StrPath
from headway.data.lines import read_lines
from headway.data.scripts import is_in_word
from headway.errors import ConfigError, DataError, require_type, shown

_REMEDY = "Give a dict of source terms and their translations, or a Glossary."


class _Entry(NamedTuple):
    """A source term and its translation."""

    term: str
    first_words: tuple[str, ...]
    """The forms of its first word: a text without any of them does not have the term."""
    pattern: re.Pattern[str]
    target: str
    """Empty if the term stays as it is in the text."""


class Glossary:
    """The translations that source terms must get, longest terms first."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        """Take source terms with their translations.

        A term is found as whole words, as it is written or with a capital first letter. `term*`
        is found with any ending. A term with an empty translation stays as it is in the text; one
        with a star needs a translation.
        Raises ConfigError for an empty term, and for two translations of one term.
        """
        require_type("glossary", entries, Mapping, _REMEDY)
        targets: dict[str, str] = {}
        for source, target in entries.items():
            for side in (source, target):
                require_type("A side of the glossary", side, str, _REMEDY)
            if fault := _fault(source):
                raise ConfigError(f"The glossary entry {shown(source)} {fault}.", "Correct it.")
            term = _plain(source)
            if targets.setdefault(term, target.strip()) != target.strip():
                raise ConfigError(
                    f"The glossary has two translations of '{term}': '{targets[term]}' and "
                    f"'{target.strip()}'.",
                    "Choose one of them.",
                )
        if endless := next((t for t, target in targets.items() if "*" in t and not target), None):
            raise ConfigError(
                f"The glossary entry '{endless}' has no translation, but is found with any ending.",
                "Give its translation, or the words themselves without a star.",
            )
        self.targets = list(dict.fromkeys(target or term for term, target in targets.items()))
        # Among terms of equal length, those with a capital and those without a star come first.
        order = sorted(targets, key=lambda term: (-len(term.rstrip("*")), "*" in term, term))
        self._searched = [_entry(term, targets[term]) for term in order]
        self._unused = dict.fromkeys(targets)
        self.entries: Mapping[str, str] = targets
        """The source terms with their translations, in the order of the glossary."""

    @property
    def unused(self) -> list[str]:
        """Source terms that no text has had so far, in the order of the glossary."""
        return list(self._unused)

    @classmethod
    def read(cls, path: StrPath) -> "Glossary":
        """Read a file of two columns, source and target, with a tab between them.

        Blank lines are skipped. Raises DataError that names the first line that is no entry.
        """
        entries: dict[str, str] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            columns = line.split("\t")
            fault = (
                f"has {len(columns)} columns, not two" if len(columns) != 2 else _fault(columns[0])
            )
            if fault:
                raise DataError(
                    f"{path}, line {number} {fault}.",
                    "Write a source term, a tab and its translation into each line; nothing after "
                    "the tab if the term stays as it is.",
                )
            term, target = _plain(columns[0]), columns[1].strip()
            if entries.setdefault(term, target) != target:
                raise DataError(
                    f"{path}, lines {numbers[term]} and {number} have two translations of "
                    f"'{term}': '{entries[term]}' and '{target}'.",
                    "Keep one of them.",
                )
            numbers.setdefault(term, number)
        if not entries:
            raise DataError(f"{path} has no line with a term.", "Add some, or leave it out.")
        return cls(entries)

    def terms(self, text: str) -> list[str]:
        """Return the translations of the terms in a text, each once, in the order of the terms.

        Longer terms are matched first, and a word belongs to one term at most.
        """
        text = unicodedata.normalize("NFKC", text)
        occurrences: list[tuple[int, int, str]] = []
        for term, first_words, pattern, target in self._searched:
            if not any(word in text for word in first_words):
                continue
            for match in pattern.finditer(text):
                begin, end = match.span()
                if all(end <= start or stop <= begin for start, stop, _ in occurrences):
                    occurrences.append((begin, end, target or match[0]))
                    self._unused.pop(term, None)
        return list(dict.fromkeys(target for _, _, target in sorted(occurrences)))


def as_glossary(glossary: Mapping[str, str] | Glossary | None) -> Glossary | None:
    """Return a `Glossary` of the argument; None if it has no term."""
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    parsed = Glossary(glossary)
    return parsed if parsed.targets else None


def looks_like_glossary(lines: Iterable[str]) -> bool:
    """Return True if all lines that are not blank have two columns, and at least one exists."""
    columns = [line.count("\t") for line in lines if line.strip()]
    return bool(columns) and set(columns) == {1}


def _fault(source: str) -> str:
    """Return the fault of an entry; empty if it has none."""
    term = source.strip()
    if not term.rstrip("*").strip():
        return "has no source term"
    if "*" in term[:-1]:
        return f"has a * within the term '{term}', where only its end may have one"
    return ""


def _plain(source: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", source).split())


def _entry(term: str, target: str) -> _Entry:
    stem = term.removesuffix("*").rstrip()
    capital = stem[0].upper() if len(stem[0].upper()) == 1 else stem[0]
    beginnings = tuple(dict.fromkeys((stem[0], capital)))
    written = r"\s+".join(map(re.escape, stem.split()))[len(re.escape(stem[0])) :]
    before = r"(?<!\w)" if is_in_word(stem[0]) else ""
    after = r"(?!\w)" if is_in_word(stem[-1]) else ""
    ending = r"\w*" if term.endswith("*") else after
    first_word = stem.split()[0]
    return _Entry(
        term,
        tuple(beginning + first_word[1:] for beginning in beginnings),
        re.compile(f"{before}[{re.escape(''.join(beginnings))}]{written}{ending}"),
        target,
    )
