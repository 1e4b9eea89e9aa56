"""The command of `headway clean` for text that was checked, and the lines that it is for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from headway.counted import counted

if TYPE_CHECKING:
    from headway.data.corpus import Corpus
    from headway.data.finding import Finding

_CORPUS = re.compile(r"training(?:, corpus (\d+))?")
_SUFFIX = re.compile(r"[\w-]+")


def how_to_clean(
    findings: "Mapping[str, Sequence[Finding]]", corpora: "Sequence[Corpus]"
) -> list[str]:
    """Return a closing line for each training text: the next command, and which lines it mends.

    findings: by the name of the text. There is no line for a text that `headway clean` mends
    nothing of without options.
    """
    from headway.data.mending.choices import Choices

    choices = Choices()
    said = []
    for text, some in findings.items():
        if not (match := _CORPUS.match(text)):
            continue
        mended = _lines(finding for finding in some if choices.mends(finding.id))
        others = _lines(finding for finding in some if not choices.mends(finding.id)) - mended
        if mended:
            end = (
                f"repairs or drops about {counted(len(mended), 'line')}; {len(others):,} more "
                f"{'needs' if len(others) == 1 else 'need'} your decision."
            )
            said.append(f"Next: {_command(corpora[int(match[1] or 1) - 1])}\n      {end}")
    return said


def _lines(findings: "Iterable[Finding]") -> set[int]:
    lines: set[int] = set()
    for finding in findings:
        lines.update(finding.lines)
        if finding.through is not None:
            lines.update(range(finding.lines[0], finding.through + 1))
    return lines


def _command(corpus: "Corpus") -> str:
    """Return the command for a corpus; of several files for the first ones, and a word on it."""
    source, *more = map(str, corpus.sources)
    stem = "cleaned" if Path(source).name.startswith("clean.") else "clean"
    words = ["headway clean --source", quote(source)]
    if corpus.targets:
        target = str(corpus.targets[0])
        words += ["--target", quote(target), f"--out {stem}.{_two_endings(source, target)}"]
    else:
        words += [*_reading(corpus), f"--out {stem}.tsv"]
    if more:
        words.append(f"(and so for {len(more):,} more)")
    return " ".join(words)


def _two_endings(source: str, target: str) -> str:
    """Return `{en,ko}` where the names end like this, else endings that tell the sides."""
    from headway.data.compression import compression

    plain = [name.removesuffix(compression(name)) for name in (source, target)]
    one, other = (Path(name).suffix.removeprefix(".") for name in plain)
    if one != other and all(map(_SUFFIX.fullmatch, (one, other))):
        return f"{{{one},{other}}}"
    return "{source,target}.txt"


def _reading(corpus: "Corpus") -> list[str]:
    """Return the options that say how a table is read, where that is not as usual."""
    from headway.data.headers import USUAL_FIELDS

    options = []
    for number, side in enumerate(USUAL_FIELDS):
        if corpus.columns[number] != number:
            options.append(f"--{side}-column {corpus.columns[number] + 1}")
        if corpus.fields[number] != side:
            options.append(f"--{side}-field {quote(corpus.fields[number])}")
        if corpus.languages[number] != side:
            options.append(f"--{side}-language {quote(corpus.languages[number])}")
    return options
