"""Translate a document, which is written once it is complete, or not at all."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from headway.cli.wishes import Wishes
from headway.counted import counted
from headway.data.compression import readable
from headway.data.output import OutputFile, opened, replaced
from headway.documents import Finished, Form, translate_file
from headway.errors import DataError

if TYPE_CHECKING:
    from headway.decoding.translator import TextTranslator

_OF_LINES = {
    "stream": "--stream", "alignments": "--alignments", "as_json": "--json", "prefix": "--prefix",
    "terms": "--terms", "as_text": "--as-text",
}  # fmt: skip
_REMARKS = {
    "kept": "lost an address, a placeholder or the like, and were translated again to have it",
    "changed": "have an address or a placeholder that their sources lack",
    "empty": "have translations without text, and stay as they are",
    "split": "were too long and were translated in parts",
    "cut": "were ended by the output limit",
    "repeated": "have translations that ran away",
    "copied": "are their own translations",
    "low_confidence": "are beyond what this model knows",
}


def check_options(chosen: Mapping[str, Any]) -> None:
    """Raise an error for options that belong to lines."""
    for name, option in _OF_LINES.items():
        if chosen[name]:
            raise typer.BadParameter(f"{option} is for lines; leave it out, or leave out --format.")
    if chosen["nbest"] != 1:
        raise typer.BadParameter("--nbest is for lines; leave it out, or leave out --format.")
    if chosen["document_format"] == "docx" and chosen["out"] is None and sys.stdout.isatty():
        raise typer.BadParameter("A Word document cannot be shown here; name a file with --out.")


def translate_document(
    translator: "TextTranslator", wishes: Wishes, form: Form, chosen: Mapping[str, Any]
) -> None:
    """Translate a document from a file, standard input or --text, and write it."""
    options = wishes.of(0)
    del options["first"]
    out = chosen["out"]
    files = [] if out is None else [OutputFile(out, of_lines=False)]
    with opened(*files):
        for file in files:
            file.discard()  # a part of a document is of no use
        remark = replaced(files)
        finished = translate_file(
            translator,
            _read(chosen["file"], chosen["text"]),
            form,
            keep=chosen["keep"] or (),
            capitals=chosen["lower_capitals"],
            batch_tokens=chosen["batch_tokens"],
            mend_runaways=not chosen["keep_runaways"],
            **options,
        )
        for file in files:
            file.write_content(finished.content)
    if not files:
        sys.stdout.buffer.write(finished.content)
        sys.stdout.flush()
    if not chosen["quiet"]:
        _remark(finished, remark)


def _read(file: Path | None, text: Sequence[str] | None) -> bytes:
    if text:
        return "\n".join(text).encode()
    if file is not None:
        with readable(file) as opened_file:
            return opened_file.read()
    if sys.stdin is None:
        raise DataError("Standard input is closed.", "Name a file, or give text to read.")
    return cast(bytes, sys.stdin.buffer.read())


def _remark(finished: Finished[bytes], replaced_file: str) -> None:
    remarks = [replaced_file] if replaced_file else []
    for flag, description in _REMARKS.items():
        if count := finished.flags.get(flag, 0):
            remarks.append(f"{count:,} of {counted(finished.sentences, 'sentence')} {description}.")
    for remark in remarks:
        print(f"Note: {remark}", file=sys.stderr)
