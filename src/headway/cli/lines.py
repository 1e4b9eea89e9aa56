"""Lines of text in and out of a command, as they come, none lost."""

import codecs
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from headway.data.corpus import read_sentences
from headway.data.lines import check_only_line, decode_line
from headway.data.output import OutputFile, opened, replaced
from headway.decoding.alignment import pharaoh
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import ScoredText, StreamEnd, Translation
from headway.errors import DataError, HeadwayError, shown
from headway.json_text import to_json

_AT_ONCE = 2000
_EXAMPLES = 5  # of what the vocabulary lacks
_READ_BYTES = 1 << 18


def incoming_lines(file: Path | None) -> Iterator[list[str]]:
    """Yield lines in groups: of a file, many at once; of standard input, as they arrive.

    So a program that writes one line and waits for its translation gets it.
    """
    if file is not None:
        yield from _groups(read_sentences(file))
    elif sys.stdin is None:
        raise DataError("Standard input is closed.", "Name a file, or give text to read.")
    else:
        yield from _arriving_lines(cast(BufferedReader, sys.stdin.buffer).raw)


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


def _arriving_lines(stream: RawIOBase) -> Iterator[list[str]]:
    """Yield whatever lines are complete, as soon as they are.

    stream: without a buffer. On a console of Windows it gives UTF-8, and its descriptor does not.
    """
    first, rest, number = b"", b"", 0
    while data := stream.read(_READ_BYTES):
        *complete, rest = (rest + data).split(b"\n")
        if number == 0 and complete:  # a byte order mark is no text, here as in a file
            first = complete[0] = complete[0].removeprefix(codecs.BOM_UTF8)
        yield from _groups(_decoded(complete, number))
        number += len(complete)
    if number == 0:
        rest = rest.removeprefix(codecs.BOM_UTF8)
    if number == 0 or (number == 1 and not rest):
        check_only_line(rest or first, "standard input")
    if rest:
        yield from _groups(_decoded([rest], number))


def _decoded(lines: Sequence[bytes], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        yield decode_line(line, path="standard input", number=number)


class LineWriter:
    """Write translations, one line for each sentence, and remark on what a person should know."""

    def __init__(
        self,
        path: Path | None,
        *,
        nbest: int,
        as_json: bool,
        quiet: bool,
        requests: RequestMaker,
        alignments: Path | None = None,
    ) -> None:
        """Write to a file, or to standard output.

        requests: what made requests of the sentences. alignments: where those of all lines go.
        """
        self.nbest = nbest
        self.as_json = as_json
        self.quiet = quiet
        self.requests = requests
        self.number = 0
        self.file = None if path is None else OutputFile(path, "--out")
        self.alignments = None if alignments is None else OutputFile(alignments, "--alignments")
        self.opened = ExitStack()
        self._replaced = ""

    def __enter__(self) -> Self:
        """Open what will become the files."""
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
        """Put the whole files in their places; after an error, say where the lines so far are."""
        self.opened.__exit__(kind, error, trace)
        if error is None and self._replaced and not self.quiet:
            print(f"Note: {self._replaced}", file=sys.stderr)

    def _files(self) -> "list[OutputFile]":
        return [file for file in (self.file, self.alignments) if file is not None]

    def write(self, sentences: Sequence[str], translations: Sequence[Translation]) -> None:
        """Write the translations of these sentences, and flush: somebody may be waiting."""
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
            if not self.quiet:
                remark(self.number, sentence, translation, self.requests)
        if self.file is None:
            sys.stdout.flush()
        for file in self._files():
            file.flush()

    def _hypotheses(self, translation: Translation) -> Sequence[ScoredText]:
        """Return the hypotheses that have a line each."""
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
    """Refuse to translate for a standard output that is closed."""
    if sys.stdout is None:
        raise DataError("Standard output is closed.", "Name a file with --out.")


def remark(
    number: int, sentence: str, found: Translation | StreamEnd, requests: RequestMaker
) -> None:
    """Say on standard error what a person should know of the translation of a line."""
    notes = []
    if found.num_parts > found.num_sentences:
        what = "longer" if found.num_sentences == 1 else "a sentence is longer"
        notes.append(f"{what} than the model can take; translated in {found.num_parts} parts")
    if not found.complete:
        notes.append("the output limit ended the translation; it may lack its end")
    if found.unknown_pieces:
        tokenizer = requests.bundle.source_tokenizer
        unknown = [shown(text) for text in dict.fromkeys(tokenizer.unknown_texts(sentence))]
        more = f" and {len(unknown) - _EXAMPLES} more" if len(unknown) > _EXAMPLES else ""
        notes.append(f"unknown to the vocabulary: {', '.join(unknown[:_EXAMPLES])}{more}")
    if found.empty_parts == found.num_parts:
        if not isinstance(found, StreamEnd):  # whose reader has seen it
            notes.append("the translation is empty")
    elif found.empty_parts:
        lost = "is empty" if found.empty_parts == 1 else "are empty"
        notes.append(f"{found.empty_parts} of its {found.num_parts} translated parts {lost}")
    for note in notes:
        print(f"Note: line {number}: {note}.", file=sys.stderr)


def _as_dict(translation: Translation, nbest: int, *, aligned: bool) -> dict[str, object]:
    values = {
        **_scored(translation.hypotheses[0], aligned=aligned),
        "pieces": list(translation.pieces),
        "num_parts": translation.num_parts,
        "num_sentences": translation.num_sentences,
        "complete": translation.complete,
        "unknown_pieces": translation.unknown_pieces,
        "empty_parts": translation.empty_parts,
    }
    if nbest > 1:
        values["hypotheses"] = [_scored(h, aligned=aligned) for h in translation.hypotheses]
    return values


def _scored(hypothesis: ScoredText, *, aligned: bool) -> dict[str, object]:
    values: dict[str, object] = {"text": hypothesis.text, "score": hypothesis.score}
    return values | {"alignment": pharaoh(hypothesis.alignment)} if aligned else values
