"""Message catalogues (PO): messages without a translation get one, and all else stays.

polib reads the entries. The lines of a translation that is empty are replaced in the file itself,
so comments, flags, order and the lines of other entries stay byte for byte.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headway.documents.document import Parts
from headway.documents.inline import SPACES, Item, pair, parts_of_items
from headway.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from polib import POEntry, POFile

_TRANSLATION = re.compile(r'(\s*msgstr(?:\[(\d+)\])?\s*)"')
_LINE = re.compile(r'\s*(?:#.*|(?:[a-z_]+\s*(?:\[\d+\]\s*)?)?"(?:[^"\\]|\\.)*"\s*)?')
_CONTINUED = re.compile(r'\s*"')
_CHARSET = re.compile(rb'^"Content-Type:[^"]*charset=([A-Za-z0-9_.:\-]+)', re.MULTILINE)
_LINE_END = re.compile("\n+")
_TAG = re.compile(r"<(?P<ends>/?)(?P<tag>[A-Za-z][\w\-]*)(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>")


def charset_of_catalogue(data: bytes) -> str:
    """Return the encoding that the header of a catalogue names; empty for none."""
    named = _CHARSET.search(data)
    charset = named[1].decode() if named else ""
    return "" if charset == "CHARSET" else charset  # a template has this word instead


def parts_of_catalogue(text: str) -> Parts:
    """Return the messages that have no translation, and the rest.

    Entries that are fuzzy or obsolete stay as they are. Raises DataError for text that is not a
    catalogue.
    """
    catalogue = _read(text)
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        if not _LINE.fullmatch(line.rstrip()):  # polib takes a text without an end for one
            raise _refused(f"line {number} is not a comment, and not text in quotation marks")
    entries = sorted(((entry.linenum or 1) - 1, number) for number, entry in enumerate(catalogue))
    ends = [*(first for first, _ in entries[1:]), len(lines)]
    parts: Parts = []
    place = 0
    for (first, of_entry), last in zip(entries, ends, strict=False):
        entry = catalogue[of_entry]
        if entry.obsolete or entry.fuzzy or not entry.msgid or _is_translated(entry):
            continue
        for number in range(first, last):
            begin = _TRANSLATION.match(lines[number])
            if begin is None:
                continue
            end = number + 1
            while end < last and _CONTINUED.match(lines[end]):
                end += 1
            parts += lines[place:number]
            parts.append(begin[1] + '"')
            parts += _message(_source(entry, begin[2]))
            parts.append('"' + lines[end - 1][len(lines[end - 1].rstrip()) :])
            place = end
    return [*parts, *lines[place:]]


def _read(text: str) -> "POFile":
    try:
        import polib
    except ImportError:
        raise MissingExtraError.of("documents", "Message catalogues need polib.") from None
    if "\n" not in text.strip():  # polib would take a name of a file for that file
        raise _refused("it has no entry")
    try:
        return polib.pofile(text)
    except (OSError, ValueError, UnicodeError) as error:
        raise _refused(str(error).removeprefix("Syntax error in po file ").strip()) from None


def _refused(why: str) -> DataError:
    return DataError(
        f"The file is not a message catalogue: {why}.", "Correct it, or choose another."
    )


def _is_translated(entry: "POEntry") -> bool:
    return bool(entry.msgstr or any(entry.msgstr_plural.values()))


def _source(entry: "POEntry", plural: str | None) -> str:
    """Return the message whose translation has this number; only the first may be singular."""
    is_first_of_several = plural == "0" and len(entry.msgstr_plural) > 1
    return entry.msgid if plural is None or is_first_of_several else entry.msgid_plural


def _message(message: str) -> Parts:
    """Return the parts of a message: each line is translated by itself."""
    parts: Parts = []
    begin = 0
    for end in [*_LINE_END.finditer(message), None]:
        line = message[begin : end.start() if end else None]
        items = list(_items(line))
        pair(items)
        parts += parts_of_items(items, _escaped)
        if end is not None:
            begin = end.end()
            # As gettext writes it: a line of the message in a line of its own.
            parts.append(_escaped(end[0]) + ('"\n"' if begin < len(message) else ""))
    return parts


def _items(line: str) -> Iterator[Item]:
    """Yield the text and the tags of a line; a tag without its partner is kept as text."""
    tags = list(_TAG.finditer(line))
    place = 0
    for tag in tags:
        yield from _text(line[place : tag.start()])
        kind = "end" if tag["ends"] else "point" if tag[0].endswith("/>") else "start"
        yield Item(kind, _escaped(tag[0]), tag=tag["tag"].lower())
        place = tag.end()
    yield from _text(line[place:])


def _text(text: str) -> Sequence[Item]:
    if not text:
        return ()
    return (Item("text", _escaped(text), text.translate(SPACES), [_escaped(c) for c in text]),)


def _escaped(text: str) -> str:
    from polib import escape

    return escape(text)
