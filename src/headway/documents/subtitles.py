"""Subtitles (SRT): numbers and times stay, and so does the number of lines of each cue.

The lines of a cue are translated together. A sentence that goes on in the next cue is translated
whole, and divided again: lines end where they ended in proportion to the text.
"""

import re
from collections.abc import Iterator, Sequence

from headway.documents.document import Parts
from headway.documents.inline import Item, pair, parts_of_items, text_item
from headway.errors import DataError

_TIME = r"(?:\d+:)?\d{1,2}:\d{1,2}[,.]\d{1,3}"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_NUMBER = re.compile(r"\s*\d+\s*")
_MARKUP = re.compile(r"<(?P<ends>/?)(?P<tag>[bisu]|font)\b[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
_DIALOGUE = re.compile(r"\s*[-–—‐]+\s*(?=[^\s\d])")  # not -5


def parts_of_subtitles(text: str) -> Parts:
    """Return the text of the cues, and the rest; DataError for text without a cue."""
    lines = text.splitlines(keepends=True)
    heads = [n for n, line in enumerate(lines) if _TIMES.match(line)]
    if not heads:
        raise DataError(
            "The file has no subtitle: no line has two times with --> between them.",
            "Check the format, or choose another with --format.",
        )
    parts: Parts = []
    place = 0
    for group in _groups(lines, _texts_of_cues(lines, heads)):
        parts += lines[place : group[0]]
        items: list[Item] = []
        for number, following in zip(group, [*group[1:], None], strict=True):
            line = lines[number]
            content = line.strip()
            begin, end = line.index(content), line.index(content) + len(content)
            items += [Item("point", line[:begin])] * (begin > 0 and not items)
            items += _items_of_line(content)
            if following is None:
                items.append(Item("point", line[end:]))
            else:
                break_text = "".join([line[end:], *lines[number + 1 : following]])
                following_line = lines[following]
                break_text += following_line[: len(following_line) - len(following_line.lstrip())]
                items.append(Item("break", break_text, " ", [break_text]))
        pair(items)
        parts += parts_of_items(items)
        place = group[-1] + 1
    return [*parts, *lines[place:]]


def _texts_of_cues(lines: Sequence[str], heads: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the lines that are the text of each cue.

    heads: the lines with times.
    """
    ends = [*(n - bool(_NUMBER.fullmatch(lines[n - 1])) for n in heads[1:]), len(lines)]
    return [
        [n for n in range(head + 1, end) if lines[n].strip()]
        for head, end in zip(heads, ends, strict=True)
    ]


def _groups(lines: Sequence[str], cues: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the numbers of the lines that are one passage."""
    group: list[int] = []
    for cue in cues:
        for number in cue:
            line = lines[number]
            if group:
                before = lines[group[-1]]
                same_cue = number != cue[0]
                is_dialogue = _DIALOGUE.match(_MARKUP.sub("", line))
                if is_dialogue or not (same_cue or _goes_on(before, line)):
                    yield group
                    group = []
            group.append(number)
    if group:
        yield group


def _goes_on(before: str, line: str) -> bool:
    """Return True if a sentence goes on in the next cue: after a comma, or in a small letter."""
    before, line = (_MARKUP.sub("", text).strip() for text in (before, line))
    letter = next((character for character in line if character.isalpha()), "")
    return before.endswith(",") or (letter.islower() and not before.endswith((".", "?", "!")))


def _items_of_line(line: str) -> Iterator[Item]:
    """Yield the text and the markup of a line; the dash of a dialogue is markup."""
    place, is_first = 0, True
    for markup in [*_MARKUP.finditer(line), None]:
        text = line[place : markup.start() if markup else None]
        if text and is_first and (dash := _DIALOGUE.match(text)):
            yield Item("point", dash[0])
            text = text[dash.end() :]
        if text:
            yield text_item(text)
            is_first = False
        if markup is None:
            return
        tag = (markup["tag"] or "").lower()
        kind = "point" if not tag else "end" if markup["ends"] else "start"
        yield Item(kind, markup[0], tag=tag)
        place = markup.end()
