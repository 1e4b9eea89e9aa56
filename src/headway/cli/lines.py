"""Read and write lines of text as they come, without losing any."""

import codecs
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from headway.cli.line_notes import LineNotes
from headway.data.corpus import read_sentences
from headway.data.lines import check_only_line, decode_line
from headway.data.output import OutputFile, opened, replaced
from headway.decoding.alignment import pharaoh
from headway.decoding.translation import ScoredText, Translation
from headway.errors import DataError, HeadwayError
from headway.json_text import to_json

_AT_ONCE = 2000
_READ_BYTES = 1 << 18


def incoming_lines(file: Path | None) -> Iterator[list[str]]:
    """Yield lines in groups: many at once from a file, and as they arrive from standard input.

    So a program that writes one line and waits for its translation gets it.
    """
    if file is not None:
        yield from _groups(read_sentences(file))
    elif sys.stdin is None:
        raise DataError("Standard input is closed.", "Name a file, or give text to read.")
    else:
        raw = cast(BufferedReader, sys.stdin.buffer).raw
        yield from _arriving_lines(cast(RawIOBase, raw))


def _groups(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield many lines at once; all lines before an unreadable one are yielded first."""
    group: list[str] = []
    try:
        for line in lines:
            group.append(line)
            if len(group) == _AT_ONCE:
                yield group
                group = []
    except HeadwayError:
        if group:
            yield group
        raise
    if group:
        yield group


def _arriving_lines(stream: RawIOBase) -> Iterator[list[str]]:
    """Yield lines as soon as they are complete.

    stream: unbuffered. On a Windows console it gives UTF-8, unlike its descriptor.
    """
    first, unfinished, number = b"", b"", 0
    while data := stream.read(_READ_BYTES):
        *complete, unfinished = (unfinished + data).split(b"\n")
        if number == 0 and complete:  # a byte order mark is not text, here as in a file
            first = complete[0] = complete[0].removeprefix(codecs.BOM_UTF8)
        yield from _groups(_decoded(complete, number))
        number += len(complete)
    if number == 0:
        unfinished = unfinished.removeprefix(codecs.BOM_UTF8)
    if number == 0 or (number == 1 and not unfinished):
        check_only_line(unfinished or first, "standard input")
    if unfinished:
        yield from _groups(_decoded([unfinished], number))


def _decoded(lines: Sequence[bytes], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        yield decode_line(line, path="standard input", number=number)


class LineWriter:
    """Writes translations, one line for each sentence, and notes on doubtful ones."""

    def __init__(
        self,
        path: Path | None,
        *,
        nbest: int,
        as_json: bool,
        notes: LineNotes,
        alignments: Path | None = None,
    ) -> None:
        """Prepare to write to a file, or to standard output.

        notes: gets each translation. alignments: the file of all alignments.
        """
        self.nbest = nbest
        self.as_json = as_json
        self.notes = notes
        self.number = 0
        self.file = None if path is None else OutputFile(path, "--out")
        self.alignments = None if alignments is None else OutputFile(alignments, "--alignments")
        self.opened = ExitStack()
        self._replaced = ""

    def __enter__(self) -> Self:
        """Open the files."""
        if self.file is None:
            check_output()
        self.opened.enter_context(opened(*self._files()))
        self._replaced = replaced(self._files())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Move the complete files to their places; after an error, print where the lines are."""
        self.opened.__exit__(kind, error, trace)
        if error is None and self._replaced and not self.notes.quiet:
            print(f"Note: {self._replaced}", file=sys.stderr)

    def _files(self) -> "list[OutputFile]":
        return [file for file in (self.file, self.alignments) if file is not None]

    def write(self, sentences: Sequence[str], translations: Sequence[Translation]) -> None:
        """Write the translations of these sentences, and flush, because a reader may be waiting."""
        for sentence, translation in zip(sentences, translations, strict=True):
            self.number += 1
            for line in self._lines(translation):
                if self.file is None:
                    sys.stdout.write(line + "\n")
                else:
                    self.file.write(line)
            if self.alignments is not None:
                for hypothesis in self._hypotheses(translation):
                    self.alignments.write(pharaoh(hypothesis.alignment))
            self.notes.add(sentence, translation)
        if self.file is None:
            sys.stdout.flush()
        for file in self._files():
            file.flush()

    def _hypotheses(self, translation: Translation) -> Sequence[ScoredText]:
        """Return the hypotheses that are written, one on each line."""
        return translation.hypotheses[: 1 if self.as_json or self.nbest == 1 else None]

    def _lines(self, translation: Translation) -> list[str]:
        if self.as_json:
            aligned = self.alignments is not None
            values = _as_dict(translation, self.nbest, aligned=aligned)
            return [to_json(values)]
        if self.nbest == 1:
            return [translation.text]
        return [
            f"{self.number}\t{hypothesis.score:.6f}\t{hypothesis.text}"
            for hypothesis in self._hypotheses(translation)
        ]


def check_output() -> None:
    """Raise DataError if standard output is closed."""
    if sys.stdout is None:
        raise DataError("Standard output is closed.", "Name a file with --out.")


def _as_dict(translation: Translation, nbest: int, *, aligned: bool) -> dict[str, object]:
    values = _scored(translation.hypotheses[0], aligned=aligned) | translation.facts()
    if nbest > 1:
        values["hypotheses"] = [_scored(h, aligned=aligned) for h in translation.hypotheses]
    return values


def _scored(hypothesis: ScoredText, *, aligned: bool) -> dict[str, object]:
    values: dict[str, object] = {"text": hypothesis.text, "score": hypothesis.score}
    return values | {"alignment": pharaoh(hypothesis.alignment)} if aligned else values
