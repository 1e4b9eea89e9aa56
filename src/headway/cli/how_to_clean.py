"""The command of `headway clean` for checked text, and the number of lines that it repairs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from headway.counted import counted

if TYPE_CHECKING:
    from headway.data.compression import StrPath
    from headway.data.corpus import Corpus
    from headway.data.finding import Finding

_CORPUS = re.compile(r"training(?:, corpus (\d+))?")
_CHANGE_WHOLE_SIDES = ("exchanged", "mojibake-source", "mojibake-target")
_SUFFIX = re.compile(r"[\w-]+")


def how_to_clean(
    findings: "Mapping[str, Sequence[Finding]]",
    corpora: "Sequence[Corpus]",
    held_out: "Mapping[str, Sequence[StrPath]]",
) -> list[str]:
    """Return a closing line for each training text: the next command, and the lines that it mends.

    findings: by the name of the text. held_out: the files of validation and test text, in the
    direction of the run; if training text has some of their pairs, the command takes these out. A
    text has no line if the command mends nothing in it. The numbers are those before the cleaning,
    which may show or hide a few findings where it moves sides.
    """
    from headway.data.mending.choices import Choices

    choices = Choices()
    repeated = [
        files
        for name, files in held_out.items()
        if any(
            finding.id == "in-training"
            for text, some in findings.items()
            for finding in some
            if text.startswith(name)
        )
    ]
    sentences = []
    for text, some in findings.items():
        if not (match := _CORPUS.match(text)):
            continue
        mended = _lines(finding for finding in some if choices.mends(finding.id))
        # A line that is repaired in one respect may need a decision in another, unless its sides
        # were not what they seemed to be.
        gone = (
            finding
            for finding in some
            if choices.drops(finding.id)
            or (
                choices.fixes(finding.id)
                and (finding.through is not None or finding.id in _CHANGE_WHOLE_SIDES)
            )
        )
        undecided = _lines(finding for finding in some if not choices.mends(finding.id))
        undecided -= _lines(gone)
        if mended or repeated:
            deeds = [f"repairs or drops about {counted(len(mended), 'line')}"] * bool(mended)
            deeds += ["drops the pairs that validation or test text has"] * bool(repeated)
            verb = "needs" if len(undecided) == 1 else "need"
            left = f"{counted(len(undecided), 'line')} {verb} your decision"
            end = f"{' and '.join(deeds)}; then {'about ' * bool(undecided)}{left}."
            command = _command(corpora[int(match[1] or 1) - 1], repeated)
            sentences.append(f"Next: {command}\n      {end}")
    return sentences


def _lines(findings: "Iterable[Finding]") -> set[int]:
    lines: set[int] = set()
    for finding in findings:
        lines.update(finding.lines)
        if finding.through is not None:
            lines.update(range(finding.lines[0], finding.through + 1))
    return lines


def _command(corpus: "Corpus", held_out: "Sequence[Sequence[StrPath]]") -> str:
    """Return the command for the first files of a corpus, with the number of further files.

    held_out: the texts whose pairs are dropped.
    """
    from headway.data.headers import USUAL_FIELDS

    source, *more = map(str, corpus.sources)
    stem = "cleaned" if Path(source).name.startswith("clean.") else "clean"
    words = ["headway clean --source", quote(source)]
    if corpus.targets:
        words += ["--target", quote(str(corpus.targets[0]))]
    else:
        words += _reading(corpus)
    for files in held_out:
        # The two files of the corpus are in the order in which it has its sides.
        in_order = files[::-1] if corpus.reverse else files
        for side, file in zip(USUAL_FIELDS, in_order, strict=False):
            words += [f"--valid-{side}", quote(str(file))]
    words.append(f"--out {stem}.{_ending(corpus)}")
    if more:
        words.append(f"(and so for {len(more):,} more)")
    return " ".join(words)


def _ending(corpus: "Corpus") -> str:
    """Return what follows `clean.` in the name of the output.

    It is `{en,ko}` if files end like this or the languages are known, so that a training on the
    cleaned text knows them too. Otherwise it is one table, or two endings for the sides.
    """
    from headway.data.compression import compression
    from headway.data.languages import language_code

    if corpus.targets:
        names = [str(files[0]) for files in (corpus.sources, corpus.targets)]
        plain = [name.removesuffix(compression(name)) for name in names]
        first, second = (Path(name).suffix.removeprefix(".") for name in plain)
        if first != second and all(map(_SUFFIX.fullmatch, (first, second))):
            return f"{{{first},{second}}}"
    if _has_languages(corpus):
        return f"{{{','.join(map(language_code, corpus.languages))}}}"
    return "{source,target}.txt" if corpus.targets else "tsv"


def _has_languages(corpus: "Corpus") -> bool:
    from headway.data.languages import are_languages

    return are_languages(*corpus.languages)


def _reading(corpus: "Corpus") -> list[str]:
    """Return the options for a table whose columns, fields or languages are not the usual ones.

    The names of two outputs have the languages already.
    """
    from headway.data.headers import USUAL_FIELDS

    options = []
    for number, side in enumerate(USUAL_FIELDS):
        if corpus.columns[number] != number:
            options.append(f"--{side}-column {corpus.columns[number] + 1}")
        if corpus.fields[number] != side:
            options.append(f"--{side}-field {quote(corpus.fields[number])}")
        if corpus.languages[number] != side and not _has_languages(corpus):
            options.append(f"--{side}-language {quote(corpus.languages[number])}")
    return options
