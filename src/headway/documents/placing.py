"""Put the elements of a sentence around the words of its translation.

An element goes where the translation of its words is: around the run of target words, without
words of a sibling, in which aligned words outnumber others most. Without an alignment, words are
taken to correspond by their places. An element none of whose words is aligned gets the free word
nearest to its place; one without words goes after the word that it follows. So every element is
there once, within the element that it was in; siblings change places if their words do.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple

from headway.documents.passage import Element, Piece, descendants

_WORD = re.compile(r"\S+")


class Link(NamedTuple):
    """A stretch of the translation, and the stretch of the sentence that it translates.

    Places are characters, those of the sentence counted in its passage.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    kept: bool = False
    """The two stretches are the same text."""


def word_spans(text: str, begin: int = 0) -> list[tuple[int, int]]:
    """Return where the words of a text are, which spaces separate; begin: the place of the text."""
    return [(begin + match.start(), begin + match.end()) for match in _WORD.finditer(text)]


def links_of_words(
    source: Sequence[tuple[int, int]],
    target: Sequence[tuple[int, int]],
    alignment: Sequence[tuple[int, int]],
) -> list[Link]:
    """Return a link for each target word: by the alignment, or by its place if there is none.

    alignment: pairs of a source word and a target word. It is ignored if it has words that do not
    exist, as for languages that do not separate words by spaces.
    """
    if not source:
        return []
    if not alignment or any(s >= len(source) or t >= len(target) for s, t in alignment):
        alignment = [(len(source) * n // len(target), n) for n in range(len(target))]
    return [Link(source[s], target[t]) for s, t in alignment]


def placed(
    text: str,
    elements: Sequence[Element],
    links: Sequence[Link],
    passage: str,
    sentence: tuple[int, int],
    write: Callable[[int, int], str],
) -> list[Piece]:
    """Return a translation with the elements of its sentence, in pieces.

    elements: the outermost ones that belong to the sentence. passage: the text in which they are;
    sentence: its place there. write: returns characters of the translation as the document writes
    them.
    """
    if not elements:
        return [Piece(write(0, len(text)))]
    borders = sorted({
        place for element in descendants(elements) for place in (element.start, element.end)
    })  # fmt: skip
    words = [
        part
        for word in _target_words(text, links)
        for part in _divided(word, text, passage, borders)
    ]
    placing = _Placing(text, passage, words)
    whole = _Stretch(*sentence, 0, len(placing.words), 0, len(text))
    runs = placing.runs(elements, whole)
    return list(placing.written(runs, whole, write))


class _TargetWord(NamedTuple):
    """A word of the translation, or a stretch of it that is kept text."""

    start: int
    end: int
    source: tuple[int, int] | None
    """What it translates."""
    kept: bool = False


class _Stretch(NamedTuple):
    """What an element contains, as places in the passage, in the target words and in the target."""

    source_start: int
    source_end: int
    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Run:
    """An element with its place in the translation."""

    element: Element
    stretch: _Stretch
    children: Sequence["_Run"]


def _target_words(text: str, links: Sequence[Link]) -> list[_TargetWord]:
    """Return the words of a translation; kept text is a word of its own, even within others."""
    kept = sorted((link.target, link.source) for link in links if link.kept)
    aligned = sorted((link.target, link.source) for link in links if not link.kept)
    words: list[_TargetWord] = []
    begin = next_link = 0
    for (start, end), source in [*kept, ((len(text), len(text)), None)]:
        for word in word_spans(text[begin:start], begin):
            while next_link < len(aligned) and aligned[next_link][0][1] <= word[0]:
                next_link += 1
            linked = next_link < len(aligned) and aligned[next_link][0][0] < word[1]
            words.append(_TargetWord(*word, aligned[next_link][1] if linked else None))
        if source is not None:
            words.append(_TargetWord(start, end, source, kept=True))
        begin = end
    return words


def _divided(
    word: _TargetWord, text: str, passage: str, borders: Sequence[int]
) -> Iterator[_TargetWord]:
    """Yield the parts of a word that have the letters of its source, as in H<sub>2</sub>O.

    borders: where elements begin and end in the passage, ascending.
    """
    if word.source is None or word.kept:
        yield word
        return
    start, end = word.source
    written, source = text[word.start : word.end].lower(), passage[start:end].lower()
    place, begin = word.start, start
    for border in borders[bisect_right(borders, start) : bisect_left(borders, end)]:
        before, after = source[: border - start], source[border - start :]
        cut = 0
        if written.startswith(before):
            cut = word.start + len(before)
        elif written.endswith(after):
            cut = word.end - len(after)
        if place < cut < word.end:
            yield _TargetWord(place, cut, (begin, border))
            place, begin = cut, border
    yield _TargetWord(place, word.end, (begin, end))


class _Placing:
    """The choice of a place for each element of one translation."""

    def __init__(self, text: str, passage: str, words: Sequence[_TargetWord]) -> None:
        self.text = text
        self.passage = passage
        self.words = words
        self.moved: set[int] = set()
        """Words that are written with their element at another place."""

    def written(
        self, runs: Sequence[_Run], around: _Stretch, write: Callable[[int, int], str]
    ) -> Iterator[Piece]:
        """Yield the text of a stretch with the elements in it."""
        begin = around.start
        for run in runs:
            element, stretch = run.element, run.stretch
            yield from map(Piece, starmap(write, self._between(begin, stretch.start)))
            if element.needs_text and stretch.start == stretch.end and not run.children:
                continue
            spaces = self._spaces(run)
            yield Piece(spaces[0] + element.before, opens=element.needs_text)
            if element.content is not None:
                yield Piece(element.content)
            else:
                yield from self.written(run.children, stretch, write)
            yield Piece(element.after + spaces[1], closes=element.needs_text)
            begin = stretch.end
        yield from map(Piece, starmap(write, self._between(begin, around.end)))

    def _between(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        for word in sorted(self.moved):
            if begin <= self.words[word].start and self.words[word].end <= end:
                yield begin, self.words[word].start
                begin = self.words[word].end
        yield begin, end

    def runs(self, elements: Sequence[Element], around: _Stretch) -> list[_Run]:
        """Return the elements in the order of the translation, with their places."""
        chosen = _best_runs(self._owners(elements, around))
        self._give_free_words(chosen, elements, around)
        placed = [
            (self._stretch(elements[order], around, first, last), order)
            for order, (first, last) in chosen.items()
        ]
        taken = sorted(stretch for stretch, _ in placed)
        points = _Points(self, around, sorted(taken, key=lambda stretch: stretch.start))
        for order, element in enumerate(elements):
            if order not in chosen:
                placed.append((points.of(element), order))
                if element.content is not None:
                    span = (element.start, element.end)
                    self.moved |= {
                        n for n, word in enumerate(self.words) if word.kept and word.source == span
                    }
        placed.sort(key=lambda one: (one[0].start, one[0].end, one[1]))
        return [
            _Run(elements[order], stretch, self.runs(elements[order].children, stretch))
            for stretch, order in placed
        ]

    def _owners(self, elements: Sequence[Element], around: _Stretch) -> list[int | None]:
        """Return for each word the element whose text it translates."""
        starts = [element.start for element in elements]
        ends = [element.end for element in elements]
        owners: list[int | None] = []
        for word in self.words[around.first : around.last]:
            owner = None
            if word.source is not None:
                near = range(
                    bisect_right(ends, word.source[0]), bisect_left(starts, word.source[1])
                )
                shared = {
                    n: min(ends[n], word.source[1]) - max(starts[n], word.source[0]) for n in near
                }
                owner = max(shared, key=lambda n: (shared[n], -n), default=None)
                if owner is not None and shared[owner] <= 0:
                    owner = None
                if owner is not None and elements[owner].content is not None and not word.kept:
                    owner = None  # only the kept text itself is within its element
            owners.append(owner)
        return owners

    def _give_free_words(
        self,
        chosen: dict[int, tuple[int, int]],
        elements: Sequence[Element],
        around: _Stretch,
    ) -> None:
        """Give each element with text but without words the free word nearest to its place."""
        within = {n for first, last in chosen.values() for n in range(first, last)}
        count = around.last - around.first
        free = [
            n for n in range(count) if n not in within and not self.words[around.first + n].kept
        ]
        length = max(1, around.source_end - around.source_start)
        for order, element in enumerate(elements):
            has_text = element.content is None and self.passage[element.start : element.end].strip()
            if has_text and order not in chosen and free:
                middle = (element.start + element.end) / 2 - around.source_start
                place = middle / length * count - 0.5
                after = bisect_left(free, place)
                near = min(free[max(0, after - 1) : after + 1], key=lambda n: abs(n - place))
                chosen[order] = (near, near + 1)
                free.remove(near)

    def _stretch(self, element: Element, around: _Stretch, first: int, last: int) -> _Stretch:
        """Return the stretch of an element, without marks at its ends that its source has not."""
        first, last = around.first + first, around.first + last
        start, end = self.words[first].start, self.words[last - 1].end
        if element.content is None:
            source_text = self.passage[element.start : element.end].strip()
            inner = self.text[start:end]
            letters = [n for n, character in enumerate(inner) if character.isalnum()]
            if letters and source_text[:1].isalnum() and not self.words[first].kept:
                start += letters[0]
            if letters and source_text[-1:].isalnum() and not self.words[last - 1].kept:
                end -= len(inner) - 1 - letters[-1]
        start, end = max(start, around.start), min(end, around.end)
        return _Stretch(element.start, element.end, first, last, start, max(start, end))

    def _spaces(self, run: _Run) -> tuple[str, str]:
        """Return the spaces that markup of one place has on its sides, if it had them before."""
        element, place = run.element, run.stretch.start
        if element.end > element.start or element.after:
            return "", ""
        sides = (element.start - 1, place - 1), (element.start, place)
        before, after = (
            " " if self.passage[old : old + 1] == " " and self.text[new : new + 1].strip() else ""
            for old, new in sides
        )
        return before, after


class _Points:
    """The places of elements without words, among those that have some."""

    def __init__(self, placing: _Placing, around: _Stretch, taken: Sequence[_Stretch]) -> None:
        self.placing = placing
        self.around = around
        self.taken = taken
        self.taken_starts = [stretch.start for stretch in taken]
        self.by_source = sorted(
            (source, n)
            for n in range(around.first, around.last)
            if (source := placing.words[n].source) is not None
        )

    def of(self, element: Element) -> _Stretch:
        """Return where an element goes: after the word that it follows."""
        passage, words, around = self.placing.passage, self.placing.words, self.around
        before = bisect_left(self.by_source, ((element.start, -1), -1))
        if not passage[element.end : around.source_end].strip():
            place, word = around.end, around.last
        elif not before:
            place, word = around.start, around.first
        else:
            latest = self.by_source[before - 1][1]
            place, word = words[latest].end, latest + 1
            spaced = passage[element.start - 1 : element.start].isspace()
            if spaced and word < around.last:
                place = words[word].start
        sibling = bisect_right(self.taken_starts, place) - 1
        if sibling >= 0 and place < self.taken[sibling].end and place > self.taken[sibling].start:
            place, word = self.taken[sibling].end, self.taken[sibling].last
        place = min(max(place, around.start), around.end)
        return _Stretch(element.start, element.end, word, word, place, place)


def _best_runs(owners: Sequence[int | None]) -> dict[int, tuple[int, int]]:
    """Return for each owner the run with most of its words, less those without an owner.

    A run has no word of another owner. Of equal runs the first is taken.
    """
    best: dict[int, tuple[int, tuple[int, int]]] = {}  # score and run of each owner
    current, score, first = None, 0, 0
    for n, owner in enumerate(owners):
        if owner is None:
            score -= 1
            continue
        if owner != current or score <= 0:
            current, score, first = owner, 0, n
        score += 1
        if owner not in best or score > best[owner][0]:
            best[owner] = score, (first, n + 1)
    return {owner: run for owner, (_, run) in best.items()}
