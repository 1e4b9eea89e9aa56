"""Clean parallel text in files, a million pairs at a time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from headway.counted import counted
from headway.data.compression import StrPath
from headway.data.corpus import Pair
from headway.data.duplicates import Seen
from headway.data.harmless import OUTER_SPACES, with_byte_order_mark
from headway.data.headers import USUAL_FIELDS
from headway.data.mending.change import HEAD
from headway.data.mending.choices import (
    IN_VALIDATION,
    OF_VALIDATION,
    Choices,
    can_be_dropped,
    remedy,
)
from headway.data.mending.files import (
    PairWriter,
    check_places,
    named_inputs,
    named_log,
    named_outputs,
)
from headway.data.mending.reading import Sides, chosen_languages, read_input, unequal_files
from headway.data.mending.rounds import (
    EXAMPLES,
    MendedText,
    mend,
    with_repaired_characters,
)
from headway.data.output import OutputFile, opened, replaced
from headway.data.pair_rules import digests
from headway.data.problems import problem_of
from headway.data.repeats import HeldOutPairs
from headway.data.survey import other_languages
from headway.errors import ConfigError, DataError, shown

AT_ONCE = 1_000_000
"""Number of pairs that are examined together, the same as in `headway check`."""

_SHORTENED = 50  # characters of a side of an example
_MOST = 0.7  # share of unrelated lines, above which it is said that the files may be wrong
_COMPARED = 100_000  # pairs whose scripts are compared with the languages of names
_DUPLICATE = "duplicate-pairs"
_TRIMMED = {"byte-order-marks": "file", "carriage-returns": "line", OUTER_SPACES: "line"}


@dataclass(slots=True)
class CleanedText:
    """The counts of a cleaning; its log has each change."""

    files: list[str]
    """The files of the cleaned text: one table, or source and target."""
    log: str
    """The file with each change."""
    pairs: int = 0
    """Number of pairs that were read."""
    kept: int = 0
    repaired: dict[str, int] = field(default_factory=dict)
    """Repairs, by id of the finding; a pair may have several."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Dropped pairs, by the id of their most harmful finding."""
    left: dict[str, int] = field(default_factory=dict)
    """Lines that still have a finding, by id."""
    trimmed: dict[str, int] = field(default_factory=dict)
    """Characters taken off the ends of text: `byte-order-marks` (files), `carriage-returns` and
    `outer-spaces` (pairs). The log has a row for each pair with `outer-spaces`, and one row for
    each of the others."""
    examples: dict[str, list[tuple[int, Pair]]] = field(default_factory=dict)
    """Lines that still have a finding, by id, each with its number in the input: the first ones, or
    the middle ones of a misaligned stretch."""
    options: dict[str, str] = field(default_factory=dict)
    """The option of `headway clean` that repairs or drops the lines that are left, by id."""
    remarks: list[str] = field(default_factory=list)
    """Remarks on the columns and languages of the input, and on replaced files."""

    def lines(self) -> list[str]:
        """Return the report as lines of text: totals, remarks, and findings, the worst first."""
        ids = {*self.repaired, *self.dropped, *self.left}
        dropped = self.pairs - self.kept
        head = f"{counted(self.pairs, 'pair')} read, {self.kept:,} kept, {dropped:,} dropped"
        lines = [f"{head}: {', '.join(self.files)}; each change: {self.log}"]
        lines += self.remarks
        for id in sorted(ids, key=lambda id: problem_of(id).rank):
            parts = [
                f"{counts[id]:,} {what}"
                for counts, what in (
                    (self.repaired, "repaired"),
                    (self.dropped, "dropped"),
                    (self.left, "left"),
                )
                if id in counts
            ]
            lines.append(f"  {id}: {', '.join(parts)}{self._how_to_mend(id)}")
            for line, pair in self.examples.get(id, ()):
                source, target = (shown(side, _SHORTENED) for side in pair)
                lines.append(f"    line {line:,}: {source} | {target}")
        lines += [f"  {id}: {words}" for id, words in self._trimmed_in_words().items()]
        if self.left:
            lines.append(f"The lines that are left are kept, and listed in {self.log}.")
        return lines

    def _how_to_mend(self, id: str) -> str:
        """Return in brackets the option for the lines that are left, if any."""
        if id not in self.options:
            return ""
        option = self.options[id]
        if not option:
            return " (to drop them: clean the cleaned text again)"
        return f" (to {'repair' if option.startswith('--fix') else 'drop'} them: {option})"

    def trimmed_rows(self) -> list[str]:
        """Return the rows of the log for marks and line ends taken off text; their line is 0."""
        words = self._trimmed_in_words()
        return [f"0\t{id}\trepaired\t{words[id]}\t\t\t" for id in words if id != OUTER_SPACES]

    def _trimmed_in_words(self) -> dict[str, str]:
        return {
            id: f"{counted(number, _TRIMMED[id])} repaired" for id, number in self.trimmed.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "files": self.files,
            "log": self.log,
            "pairs": self.pairs,
            "kept": self.kept,
            "repaired": self.repaired,
            "dropped": self.dropped,
            "left": self.left,
            "trimmed": self.trimmed,
            "options": self.options,
            "examples": {
                id: [{"line": line} | pair._asdict() for line, pair in some]
                for id, some in self.examples.items()
            },
            "remarks": self.remarks,
        }

    def include(self, pairs: int, text: MendedText) -> None:
        """Count the changes to some pairs; text has the kept ones."""
        self.pairs += pairs
        self.kept += len(text.pairs)
        for change in text.changes:
            counts = self.dropped if change.after is None else self.repaired
            counts[change.id] = counts.get(change.id, 0) + 1
        self.left = dict(Counter(self.left) + text.left)
        self.trimmed = dict(Counter(self.trimmed) + text.trimmed)
        for id, some in text.examples.items():
            first = self.examples.setdefault(id, [])
            first += some[: EXAMPLES - len(first)]


def clean_text(
    source: StrPath,
    target: StrPath | None = None,
    *,
    out: StrPath | tuple[StrPath, ...],
    report: StrPath | None = None,
    fix: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    columns: tuple[int, int] = (0, 1),
    fields: tuple[str, str] = USUAL_FIELDS,
    languages: tuple[str, str] = ("", ""),
    held_out: Iterable[Sequence[StrPath]] = (),
    tell: Callable[[int], None] = lambda pairs: None,
) -> CleanedText:
    """Write cleaned text and a log of each change, and return the counts.

    Without `fix` and `drop` correct pairs stay correct. Characters are repaired if the result is
    certain, shifted stretches are realigned, and exchanged sides are exchanged back. Pairs with an
    empty side and repeated pairs are dropped. Spaces around a text are not kept. Each million pairs
    are examined separately, except for repeated pairs. Two files may differ in length if a shift
    explains it, for example a missing line. Files appear once they are complete, and no input is
    overwritten.

    Args:
        source: A file with one sentence a line, or a table with both sides.
        target: The file of translations, line by line.
        out: A .tsv or .jsonl file for both sides, or one file for each side; `clean.{en,ko}` is
            two. Names that end in .gz, .bz2, .xz or .zst are compressed.
        report: The log, a .tsv file; next to `out` if unset.
        fix: Names of repairs: mojibake, html, nfc, spaces, shift, exchanged.
        drop: Ids of findings whose lines are dropped, or names of several, such as length.
        columns: The two columns of a .tsv file, counted from 0.
        fields: The two fields of records.
        languages: Those of source and target in a .tmx, .csv or .tsv file. An empty language comes
            from the names of two outputs or of two files of held-out text, or from a .tmx of
            exactly two languages, source first.
        held_out: Validation and test text, each in one file or two; the pairs that are there are
            dropped, whatever `drop` says.
        tell: Called with the number of pairs that are done.

    Raises:
        ConfigError: For unknown names, or an output that is an input.
        DataError: For text that cannot be read, or cannot be written in the form of `out`.
    """
    choices = _with_held_out(Choices.of(fix, drop), held_out := list(held_out))
    source, target = named_inputs(source, target)
    outputs = named_outputs(out)
    log = named_log(report, outputs)
    check_places((source, target), [*outputs, log])
    writer, changes = PairWriter(outputs), OutputFile(log, "--report")
    result = CleanedText([str(path) for path in outputs], str(log))
    wanted = chosen_languages(languages, outputs, *held_out)
    reading = read_input(source, target, columns, fields, wanted)
    held_out_pairs = _read_held_out(held_out, columns, fields, wanted, choices)
    result.remarks = reading.remarks
    if marked := with_byte_order_mark(filter(None, (source, target))):
        result.trimmed["byte-order-marks"] = len(marked)
    unequal = unequal_files(source, target) if choices.fixes("misaligned") else None
    with opened(*writer.files, changes):
        if remark := replaced([*writer.files, changes]):
            result.remarks.append(remark)
        pairs = unequal.pairs() if unequal else reading.pairs
        for count, text in _mended(pairs, choices, held_out_pairs):
            if unequal:
                unequal.check(text)
            if not result.pairs:  # the first block; empty input has none
                changes.write(HEAD)
                named = chosen_languages(wanted, [source, target] if target else [])
                result.remarks += _other_languages(named, text.pairs)
            result.include(count, text)
            for line, pair in zip(text.lines, text.pairs, strict=True):
                writer.write(line, pair)
            rows = sorted(
                [*text.trims, *text.changes, *text.remaining], key=lambda change: change.line
            )
            for row in rows:
                changes.write(str(row))
            tell(result.pairs)
        for row in result.trimmed_rows():
            changes.write(row)
        if not result.kept:
            changes.discard()
            raise _nothing_left(result)
    if result.left.get("unrelated", 0) > _MOST * result.kept:
        result.remarks.append("Most targets match no source: make sure that the files go together.")
    result.options = {id: remedy(id, choices) for id in result.left if can_be_dropped(id)}
    return result


def _other_languages(languages: Sides, pairs: Sequence[Pair]) -> list[str]:
    """Return a remark if sides are in another script than the languages that names show."""
    if not (problems := other_languages(languages, pairs[:_COMPARED])):
        return []
    described = "; ".join(finding.problem for finding in problems)
    return [
        f"{described[0].upper()}{described[1:]}. Exchange the names of the two files, or end them "
        "in the right languages: headway train reads the languages from them."
    ]


def _with_held_out(choices: Choices, held_out: Sequence[Sequence[StrPath]]) -> Choices:
    """Return choices that drop the pairs of held-out text, if there is any.

    Raises ConfigError if the choices need such text and there is none.
    """
    if held_out:
        return replace(choices, dropped=choices.dropped | {IN_VALIDATION})
    if named := sorted(choices.dropped & OF_VALIDATION):
        raise ConfigError(
            f"The finding to drop '{named[0]}' needs validation text, and none is given.",
            "Name its files with --valid-source and --valid-target, in Python with held_out.",
        )
    return choices


def _read_held_out(
    texts: Sequence[Sequence[StrPath]],
    columns: tuple[int, int],
    fields: Sides,
    wanted: Sides,
    choices: Choices,
) -> HeldOutPairs | None:
    """Return the finder of pairs that are in these texts, which are read like the training text.

    Training text is compared after its repairs, so the pairs count with and without these.
    """
    if not texts:
        return None
    pairs: list[Pair] = []
    for files in texts:
        if not 1 <= len(files) <= 2:
            raise ConfigError(
                f"A validation text has {counted(len(files), 'file')}, but one or two are needed.",
                "Name a file for each side, or a table with both.",
            )
        source, target = named_inputs(files[0], files[1] if len(files) == 2 else None)
        pairs += read_input(source, target, columns, fields, wanted).pairs
    return HeldOutPairs([*pairs, *with_repaired_characters(pairs, choices)])


def _nothing_left(done: CleanedText) -> DataError:
    """Return the error of a text whose pairs would all be dropped."""
    id = max(done.dropped, key=done.dropped.__getitem__)
    is_unrelated = id in ("misaligned", "unrelated")
    return DataError(
        f"No pair would be left: {done.dropped[id]:,} of {counted(done.pairs, 'pair')} would be "
        f"dropped as {id}.",
        "Make sure that the two files belong together, line by line."
        if is_unrelated
        else "Drop less, or check the files.",
    )


def _mended(
    pairs: Iterator[Pair], choices: Choices, held_out: HeldOutPairs | None
) -> Iterator[tuple[int, MendedText]]:
    """Yield blocks of cleaned pairs, each with the number of pairs that were read for it."""
    seen = Seen()
    first_line = 1
    while block := list(islice(pairs, AT_ONCE)):
        text = mend(block, first_line, choices, held_out)
        if choices.drops(_DUPLICATE):
            _drop_seen(text, seen)
        yield len(block), text
        first_line += len(block)


def _drop_seen(text: MendedText, seen: Seen) -> None:
    """Drop the pairs that were in earlier blocks."""
    is_new = seen.first_seen(digests(text.pairs))
    again = [row for row in np.flatnonzero(~is_new).tolist() if any(text.pairs[row])]
    text.drop(dict.fromkeys(again, _DUPLICATE))
