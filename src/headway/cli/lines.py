"""Lines of text in and out of a command, as they come, none lost."""

import codecs
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from headway.data.lines import decode_line, read_lines
from headway.decoding.translation import Translation
from headway.errors import DataError, HeadwayError

_AT_ONCE = 2000
_READ_BYTES = 1 << 18


def incoming_lines(file: Path | None) -> Iterator[list[str]]:
    """Yield lines in groups: of a file, many at once; of standard input, as they arrive.

    So a program that writes one line and waits for its translation gets it.
    """
    if file is None:
        yield from _arriving_lines(sys.stdin.buffer.fileno())
        return
    yield from _groups(read_lines(file))


def _groups(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield many lines at once; before a line that cannot be read, all that came before it."""
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


def _arriving_lines(descriptor: int) -> Iterator[list[str]]:
    """Yield whatever lines are complete, as soon as they are."""
    rest, number = b"", 0
    first = True
    while data := os.read(descriptor, _READ_BYTES):
        if first:  # a byte order mark is no text, here as in a file
            data, first = data.removeprefix(codecs.BOM_UTF8), False
        *complete, rest = (rest + data).split(b"\n")
        yield from _groups(_decoded(complete, number))
        number += len(complete)
    if rest:
        yield from _groups(_decoded([rest], number))


def _decoded(lines: Sequence[bytes], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        yield decode_line(line, path="standard input", number=number)


class LineWriter:
    """Write translations, one line for each sentence, and remark on what a person should know."""

    def __init__(self, path: Path | None, *, nbest: int, as_json: bool, quiet: bool) -> None:
        """Write to a file, or to standard output."""
        self.path = path
        self.nbest = nbest
        self.as_json = as_json
        self.quiet = quiet
        self.number = 0
        self.file: IO[str] | None = None
        self.partial = Path()

    def __enter__(self) -> Self:
        """Open what will become the file."""
        if self.path is not None:
            # Beside the file: it may be the very one that is being read, and must not be lost.
            self.partial = self.path.with_name(f"{self.path.name}.partial")
            try:
                self.file = open(self.partial, "w", encoding="utf-8", newline="\n")
            except OSError as error:
                raise DataError(
                    f"The file {self.partial} cannot be written ({error.strerror}).",
                    "Choose another one with --out.",
                ) from None
        else:
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the whole file in its place; after an error, say where the lines so far are."""
        if self.file is None or self.path is None:
            return
        self.file.close()
        if error is None:
            os.replace(self.partial, self.path)
        elif self.number:
            print(f"Note: {self.number:,} lines so far are in {self.partial}.", file=sys.stderr)
        else:
            self.partial.unlink()

    def write(self, translations: Sequence[Translation]) -> None:
        """Write these translations, and flush: somebody may be waiting."""
        file = self.file or sys.stdout
        for translation in translations:
            self.number += 1
            for line in self._lines(translation):
                file.write(line + "\n")
            self._remark(translation)
        file.flush()

    def _lines(self, translation: Translation) -> list[str]:
        if self.as_json:
            return [json.dumps(_as_dict(translation, self.nbest), ensure_ascii=False)]
        if self.nbest == 1:
            return [translation.text]
        return [
            f"{self.number}\t{hypothesis.score:.6f}\t{hypothesis.text}"
            for hypothesis in translation.hypotheses
        ]

    def _remark(self, translation: Translation) -> None:
        if self.quiet:
            return
        if translation.num_parts > 1:
            self._note(
                f"longer than the model can take; translated in {translation.num_parts} parts"
            )
        if not translation.complete:
            self._note("the output limit ended the translation; it may lack its end")
        if translation.unknown_pieces:
            self._note(f"unknown to the vocabulary: {translation.unknown_pieces} of its pieces")

    def _note(self, message: str) -> None:
        print(f"Note: line {self.number}: {message}.", file=sys.stderr)


def _as_dict(translation: Translation, nbest: int) -> dict[str, object]:
    values: dict[str, object] = {
        "text": translation.text,
        "score": translation.score,
        "pieces": list(translation.pieces),
        "parts": translation.num_parts,
        "complete": translation.complete,
        "unknown_pieces": translation.unknown_pieces,
    }
    if nbest > 1:
        values["hypotheses"] = [
            {"text": hypothesis.text, "score": hypothesis.score}
            for hypothesis in translation.hypotheses
        ]
    return values
