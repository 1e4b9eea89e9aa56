"""Recognize documents whose lines are not sentences: pages, subtitles, markup."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from headway.data.compression import plain_name
from headway.errors import DataError

# Without .ts and .arb: train.ts may be Tsonga, and train.arb Arabic. Their first lines decide.
_KINDS = {
    "an HTML page": (".html", ".htm", ".xhtml"),
    "subtitles (SRT)": (".srt",),
    "subtitles (WebVTT)": (".vtt",),
    "subtitles": (".ass", ".ssa", ".ttml", ".sub"),
    "Markdown": (".md", ".markdown"),
    "a message catalogue": (".po", ".pot", ".xlf", ".xliff", ".resx"),
    "XML": (".xml",),
    "JSON": (".json", ".ipynb"),
    "LaTeX": (".tex",),
}
_FORMATS = {
    "an HTML page": "html", "subtitles (SRT)": "srt", "Markdown": "md",
}  # fmt: skip
"""Kinds that `headway translate --format` translates, with the name of the format."""
_OF_OFFICE = (".docx", ".doc", ".odt", ".rtf", ".pdf", ".xlsx", ".xls", ".ods", ".pptx", ".ppt",
              ".odp", ".epub")  # fmt: skip
_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_CATALOGUE = re.compile(r"\s*<(?:!doctype\s+ts|ts)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\s")
_OBJECT = re.compile(r'\s*\{\s*"[^"]*"\s*:')
_TIMES = re.compile(r"\s*(?:\d{1,2}:)?\d{2}:\d{2}[.,]\d{3}\s*-->\s")
_LOOKED_AT = 3  # lines


def refuse_document(path: Path) -> None:
    """Raise DataError for a file whose name is that of a document."""
    name = plain_name(path)
    for kind, endings in _KINDS.items():
        if name.endswith(endings):
            raise _document(str(path), kind)
    if name.endswith(_OF_OFFICE):
        remedy = "Save its text in a file of its own, in UTF-8, with one sentence a line."
        if name.endswith(".docx"):
            remedy = "Translate it with --format docx."
        raise DataError(f"{path} is a document, but lines of text are needed.", remedy)


def without_documents(groups: Iterator[list[str]], name: str) -> Iterator[list[str]]:
    """Yield the groups of lines; DataError if the first lines are those of a document."""
    first = list(islice(groups, 1))
    if first and (kind := kind_of(first[0])):
        raise _document(name, kind)
    yield from chain(first, groups)


def kind_of(lines: Sequence[str]) -> str:
    """Return the kind of document that begins with these lines, or an empty text."""
    texts = [line.removeprefix("\ufeff") for line in lines[:_LOOKED_AT]]
    beginning = [text for text in texts if text.strip()]
    if not beginning:
        return ""
    is_xml = bool(_XML.match(beginning[0]))
    for kind, pattern in (("an HTML page", _PAGE), ("a message catalogue", _CATALOGUE)):
        if pattern.match(beginning[0]) or (is_xml and pattern.match(beginning[-1])):
            return kind
    if is_xml:
        return "XML"
    if _OBJECT.match("\n".join(beginning)):
        return "JSON"
    if beginning[0].split()[0] == "WEBVTT":
        return "subtitles (WebVTT)"
    if any(_TIMES.match(line) for line in beginning):
        return "subtitles (SRT)"
    return ""


def _document(name: str, kind: str) -> DataError:
    remedy = "Save its text in a file with one sentence a line"
    if name.lower().removesuffix(".gz").endswith((".po", ".pot")):
        remedy = "Translate it as a document with --format po"
    elif kind in _FORMATS:
        remedy = f"Translate it as a document with --format {_FORMATS[kind]}"
    return DataError(
        f"{name} is {kind}: each of its lines would be translated as a sentence, markup and all.",
        f"{remedy}, or take the lines as they are with --as-text.",
    )
