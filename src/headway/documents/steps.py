"""Translate passages in rounds: ask for translations, check what must be kept, ask again.

Nothing here translates: `translating` is a generator of wishes, which takes the answers. So one
process can translate many documents at once, and a program can give answers from anywhere.
"""

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from headway.documents.breaks import places_of_breaks
from headway.documents.capitals import as_sentence, in_capitals, is_in_capitals
from headway.documents.kept import Span, has_letters, kept_spans, kept_texts, occurrences
from headway.documents.passage import Passage, Piece, descendants
from headway.documents.placing import Link, links_of_words, placed, word_spans
from headway.documents.units import Cut, Split, Unit, cut

KEPT = "kept"
"""The flag of a sentence that lost a kept text, and was decoded again or around it."""
CHANGED = "changed"
"""The flag of a sentence whose translation has an address or the like that its source lacks."""
EMPTY = "empty"
"""The flag of a sentence whose translation has no text, so that it stays as it is."""
CAPITALS = "capitals"
"""The flag of a sentence in capitals that was translated in small letters."""


class Wish(NamedTuple):
    """A text to translate."""

    text: str
    terms: tuple[str, ...] = ()
    """Texts that must occur in the translation, as often as they are here."""
    aligned: bool = False
    """A word alignment would be used."""
    split: bool = False
    """The text may be several sentences; otherwise it is one, or a group that is taken together."""


class Answer(NamedTuple):
    """The translation of a wish."""

    text: str
    alignment: tuple[tuple[int, int], ...] = ()
    """Pairs of a source word and a target word, as `Translation.alignment`; empty if unknown."""
    flags: frozenset[str] = frozenset()
    """Reasons to doubt it, which are counted and passed on."""


_SPACES = re.compile("  +")

Wishes = list[Wish]
Answers = Sequence[Answer | None]
"""One for each wish, in their order. None is for terms that the model cannot write."""


class Translated(NamedTuple):
    """The translation of passages."""

    texts: list[str]
    """The text of each passage with its markup, as its document writes it."""
    flags: Mapping[str, int]
    """The number of sentences with each flag."""
    sentences: int
    """The number of sentences, or groups of them, that were translated."""


def translating(
    passages: Sequence[Passage], split: Split, *, keep: Sequence[str] = (), capitals: bool = True
) -> Generator[Wishes, Answers, Translated]:
    """Ask for the translations of passages; return the passages with them.

    split: cuts a text into sentences. keep: texts that are left as they are. capitals: translate
    text in capitals as a sentence, and write the translation in capitals. A sentence that loses a
    kept text is asked for again with that text as a term; if it is lost again, the text around it
    is translated by itself, piece by piece.
    """
    keep = [text.strip() for text in keep if text.strip()]
    cuts = [cut(passage, split, keep) for passage in passages]
    tasks = [_Task.of(each.passage, unit, keep, capitals) for each in cuts for unit in each.units]
    yield from _round(tasks, [task.wish() for task in tasks])
    lost = [task for task in tasks if not task.is_whole]
    yield from _round(lost, [task.wish_with_terms() for task in lost])
    lost = [task for task in lost if not task.is_whole]
    pieces = [(task, piece) for task in lost for piece in task.pieces()]
    if pieces:
        answers = yield [task.wish_of_piece(piece) for task, piece in pieces]
        translations = iter(answers)
        for task in lost:
            task.take_pieces([next(translations) for _ in task.pieces()])
    in_order = iter(tasks)
    texts = [_written(each, [next(in_order) for _ in each.units]) for each in cuts]
    flags = Counter(flag for task in tasks for flag in task.flags)
    return Translated(texts, flags, len(tasks))


def _round(tasks: Sequence["_Task"], wishes: Wishes) -> Generator[Wishes, Answers, None]:
    if wishes:
        answers = yield wishes
        for task, answer in zip(tasks, answers, strict=True):
            if answer is not None:
                task.take(answer)


@dataclass(slots=True)
class _Task:
    """A unit with its translation."""

    passage: Passage
    unit: Unit
    source: str
    """The text of the unit."""
    kept: list[Span]
    """As characters of the source."""
    keep: Sequence[str]
    capitals: bool
    target: str = ""
    links: list[Link] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    is_whole: bool = False
    """The target has all kept texts."""

    @classmethod
    def of(cls, passage: Passage, unit: Unit, keep: Sequence[str], capitals: bool) -> "_Task":
        source = passage.text[unit.start : unit.end]
        kept = [(start - unit.start, end - unit.start) for start, end in unit.kept]
        task = cls(passage, unit, source, kept, keep, capitals and is_in_capitals(source, kept))
        if task.capitals:
            task.flags.add(CAPITALS)
        return task

    def wish(self) -> Wish:
        """Return the wish for the unit as it is."""
        text = as_sentence(self.source, self.kept) if self.capitals else self.source
        return self._wish(text)

    def wish_with_terms(self) -> Wish:
        """Return the wish for the unit with its kept texts as terms."""
        self.flags.add(KEPT)
        terms = [_plain(self.source[start:end]) for start, end in self.kept]
        return self.wish()._replace(terms=tuple(terms))

    def wish_of_piece(self, piece: Span) -> Wish:
        """Return the wish for text between kept texts."""
        text = self.source[piece[0] : piece[1]]
        return self._wish(as_sentence(text) if self.capitals else text)

    def _wish(self, text: str) -> Wish:
        aligned = bool(self.unit.elements)
        return Wish(self.unit.prefix + _plain(text), (), aligned, self.unit.several)

    def take(self, answer: Answer) -> None:
        """Take the translation of the unit, if it has all kept texts."""
        answer = self._with_text(answer, self.source)
        needed = kept_texts(self.source, self.kept)
        matches = occurrences(answer.text, needed)
        whole = Counter(text for _, _, text in matches) == needed
        more = _new_kept(answer.text, [(start, end) for start, end, _ in matches], self.keep)
        if not whole or (needed and more):
            return
        self._accept(answer, matches, more)

    def _with_text(self, answer: Answer, source: str) -> Answer:
        """Return an answer without spaces around it; without text it is the source instead."""
        text = answer.text.strip()
        return (
            Answer(text, answer.alignment, answer.flags)
            if text
            else Answer(source, (), answer.flags | {EMPTY})
        )

    def _accept(self, answer: Answer, matches: list[tuple[int, int, str]], more: bool) -> None:
        spans = [(start, end) for start, end, _ in matches]
        self.target, spans = self._cased(answer.text, spans)
        if self.unit.elements:  # nothing else needs the places of words
            source = word_spans(self.source, self.unit.start)
            target = word_spans(self.target)
            self.links = links_of_words(source, target, self._alignment(answer))
        places: dict[str, Iterator[Span]] = {
            text: iter([span for span in self.kept if self.source[slice(*span)] == text])
            for _, _, text in matches
        }
        for span, (_, _, text) in zip(spans, matches, strict=True):
            start, end = next(places[text])
            place = (self.unit.start + start, self.unit.start + end)
            self.links.append(Link(place, span, kept=True))
        self.flags |= answer.flags | ({CHANGED} if more else set())
        self.is_whole = True

    def _cased(self, text: str, spans: list[Span]) -> tuple[str, list[Span]]:
        """Return a translation in the letters of its source, with its kept stretches."""
        if not self.capitals:
            return text, spans
        raised = in_capitals(text, spans)
        bounds = [0, *(place for span in spans for place in span)]
        moved, begin = [], 0
        for first, last in pairwise(bounds):
            stretch = text[first:last]
            begin += len(stretch if (first, last) in spans else stretch.upper())
            moved.append(begin)
        return raised, list(zip(moved[::2], moved[1::2], strict=True))

    def _alignment(self, answer: Answer) -> list[tuple[int, int]]:
        tags = len(self.unit.prefix.split())
        return [(source - tags, target) for source, target in answer.alignment if source >= tags]

    def pieces(self) -> list[Span]:
        """Return the stretches between kept texts that have letters, without marks beside them."""
        bounds = [0, *(place for span in self.kept for place in span), len(self.source)]
        pieces = []
        for start, end in zip(bounds[::2], bounds[1::2], strict=True):
            words = [n for n in range(start, end) if self.source[n].isalnum()]
            if has_letters(self.source[start:end]):
                first = words[0] if start else start
                last = words[-1] + 1 if end < len(self.source) else end
                pieces.append(_trimmed(self.source, (first, last)))
        return pieces

    def take_pieces(self, answers: Answers) -> None:
        """Put the translations of the pieces, and the kept texts, in the order of the source."""
        parts = [(piece, answer) for piece, answer in zip(self.pieces(), answers, strict=True)]
        parts += [(span, None) for span in self.kept]
        self.target, self.links = "", []
        begin = 0
        for (start, end), answer in sorted(parts, key=lambda part: part[0]):
            self.target += _SPACES.sub(" ", self.source[begin:start])
            if answer is not None:
                answer = self._with_text(answer, self.source[start:end])
            text = self.source[start:end] if answer is None else answer.text
            if answer is not None and self.capitals:
                text = text.upper()
            place, offset = (self.unit.start + start, self.unit.start + end), len(self.target)
            if answer is None:
                self.links.append(Link(place, (offset, offset + len(text)), kept=True))
            else:
                source = word_spans(self.source[start:end], place[0])
                target = word_spans(text, offset)
                self.links += links_of_words(source, target, self._alignment(answer))
                self.flags |= answer.flags
                if _new_kept(text, [], self.keep):
                    self.flags.add(CHANGED)
            self.target += text
            begin = end
        self.target += self.source[begin:]
        self.is_whole = True

    @property
    def is_unchanged(self) -> bool:
        """Return True if the translation is the source, apart from its spaces."""
        return _plain(self.target) == _plain(self.source)

    def written(self) -> list[Piece]:
        """Return the translation with its elements and breaks, as the document writes it."""
        unit, passage = self.unit, self.passage
        first, last = (bisect_left(passage.breaks, place) for place in (unit.start, unit.end))
        breaks = passage.breaks[first:last]
        chosen = places_of_breaks(
            self.target,
            breaks,
            (unit.start, unit.end),
            kept=[link.target for link in self.links if link.kept],
            need_lines=passage.breaks_need_lines,
        )
        pairs = zip(chosen, breaks, strict=True)
        waiting = deque((place, old) for place, old in pairs if place is not None)

        def write(begin: int, end: int) -> str:
            texts = []
            while waiting and (waiting[0][0] < end or end == len(self.target)):
                place, old = waiting.popleft()
                place = max(begin, place)
                texts += [passage.written(self.target[begin:place]), passage.spelled[old]]
                begin = place + self.target[place : place + 1].isspace()
            return "".join([*texts, passage.written(self.target[begin:end])])

        return placed(
            self.target, unit.elements, self.links, passage.text, (unit.start, unit.end), write
        )


def _plain(text: str) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(text.split())


def _trimmed(text: str, span: Span) -> Span:
    written = text[slice(*span)]
    start = span[0] + len(written) - len(written.lstrip())
    return start, max(start, span[1] - (len(written) - len(written.rstrip())))


def _new_kept(text: str, spans: Sequence[Span], keep: Sequence[str]) -> bool:
    """Return True if a translation has text that would be kept, apart from these stretches."""
    return not all(
        any(first <= start and end <= last for first, last in spans)
        for start, end in kept_spans(text, keep)
    )


def _written(each: Cut, tasks: Sequence[_Task]) -> str:
    """Return a passage with its translations and its markup."""
    changed = [task for task in tasks if not task.is_unchanged]
    moving = {element for task in changed for element in descendants(task.unit.elements)}
    writer = _Writer(each.passage, changed)
    for edge in each.edges:
        element = edge.element
        if element in moving:
            continue
        writer.go_to(edge.position)
        if edge.opens:
            writer.pieces.append(Piece(element.before, opens=element.needs_text))
        if edge.opens and element.content is not None:
            writer.pieces.append(Piece(element.content))
            writer.place = max(writer.place, element.end)
        if edge.closes:
            writer.pieces.append(Piece(element.after, closes=element.needs_text))
    writer.go_to(len(each.passage.text))
    if not changed:
        return "".join(piece.text for piece in writer.pieces)
    return each.passage.joined(writer.pieces)


class _Writer:
    """Writes a passage from its beginning: translations, and all else as it was."""

    def __init__(self, passage: Passage, tasks: Sequence[_Task]) -> None:
        self.passage = passage
        self.tasks = tasks
        self.pieces: list[Piece] = []
        self.place = 0
        """The next character of the passage."""
        self.next = 0
        """The next task."""

    def go_to(self, place: int) -> None:
        """Write all that is before a place."""
        while self.next < len(self.tasks) and self.tasks[self.next].unit.end <= place:
            task = self.tasks[self.next]
            self._original(task.unit.start)
            self.pieces += [Piece(self._space_before(task)), *task.written()]
            self.place = task.unit.end
            self.next += 1
        self._original(place)

    def _original(self, place: int) -> None:
        if place > self.place:
            self.pieces.append(Piece(self.passage.original(self.place, place)))
            self.place = place

    def _space_before(self, task: _Task) -> str:
        """Return a space if only the language of the translation puts one between sentences."""
        before = self.tasks[self.next - 1] if self.next else None
        if before is None or before.unit.end != task.unit.start or task.unit.joint is None:
            return ""
        return task.unit.joint.between(before.target, task.target)
