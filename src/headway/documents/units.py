"""The units of a passage that are translated, each usually one sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headway.decoding.parts import Joint
from headway.documents.kept import Span, has_letters, kept_spans
from headway.documents.passage import Edge, Element, Passage, descendants, edges
from headway.documents.sentences import TextSentence

Split = Callable[[str], Sequence[TextSentence]]
"""Returns the sentences of a text, as `sentences_of` does for a model."""


@dataclass(slots=True)
class Unit:
    """Text that is translated by itself."""

    start: int
    end: int
    """Its characters of the passage."""
    prefix: str
    """Tags of the passage that are put before it."""
    joint: Joint | None
    """How it is joined to the unit before."""
    several: bool = False
    """Several sentences, because an element or a kept text goes beyond one."""
    kept: list[Span] = field(default_factory=list)
    """Its stretches that are kept, as characters of the passage."""
    elements: list[Element] = field(default_factory=list)
    """The outermost elements that are within it and move with its words."""


class Cut(NamedTuple):
    """A passage cut into units."""

    passage: Passage
    units: list[Unit]
    edges: list[Edge]
    """Beginnings and ends of all elements."""


def cut(passage: Passage, split: Split, keep: Sequence[str]) -> Cut:
    """Cut a passage into units, which are the sentences that have letters outside kept text.

    Sentences that share an element, and do not fill it, are one unit.
    """
    kept = _spans_to_keep(passage, keep)
    units: list[Unit] = []
    if has_letters(passage.text, kept):
        for sentence in split(passage.text):
            written = passage.text[sentence.start : sentence.end]
            prefix = sentence.source.removesuffix(written)
            units.append(Unit(sentence.start, sentence.end, prefix, sentence.joint))
    all_edges = list(edges(passage.elements))
    moving: set[Element] = set()
    while units:
        moving = _moving(all_edges, units)
        spans = [*kept, *((element.start, element.end) for element in moving)]
        joined = _joined(units, spans)
        if len(joined) == len(units):
            break
        units = joined
    _share_out(kept, units)
    units = [unit for unit in units if has_letters(*_unit_text(passage.text, unit))]
    moving = _moving(all_edges, units)
    within = {child for element in moving for child in descendants(element.children)}
    outermost = [e.element for e in all_edges if e.opens and e.element in moving - within]
    _share_out_elements(outermost, units)
    return Cut(passage, units, all_edges)


def _unit_text(text: str, unit: Unit) -> tuple[str, list[Span]]:
    """Return the text of a unit, with its kept stretches as characters of that text."""
    spans = [(start - unit.start, end - unit.start) for start, end in unit.kept]
    return text[unit.start : unit.end], spans


def _spans_to_keep(passage: Passage, keep: Sequence[str]) -> list[Span]:
    """Return the stretches of a passage that are kept: by their elements, or by their form."""
    marked = [
        (element.start, element.end)
        for element in descendants(passage.elements)
        if element.content is not None and element.end > element.start
    ]
    spans = list(marked)
    if not marked:
        return kept_spans(passage.text, keep)
    begin = 0
    for start, end in [*marked, (len(passage.text),) * 2]:
        between = kept_spans(passage.text[begin:start], keep)
        spans += [(begin + first, begin + last) for first, last in between]
        begin = end
    return sorted(spans)


def _moving(all_edges: Sequence[Edge], units: Sequence[Unit]) -> set[Element]:
    """Return the elements that begin or end within a unit, and kept ones with text in it."""
    moving: set[Element] = set()
    n = 0
    for edge in all_edges:
        while n < len(units) and units[n].end <= edge.position:
            n += 1
        element = edge.element
        last = element.end if edge.opens and element.content is not None else edge.position
        if n < len(units) and units[n].start < last:
            moving.add(element)
    return moving


def _joined(units: Sequence[Unit], spans: Sequence[Span]) -> list[Unit]:
    """Join units that share one of these stretches."""
    together = set()  # the places of units that belong to the unit before
    for start, end in spans:
        shared = [n for n, unit in _overlapping(units, start, end)]
        together.update(shared[1:])
    joined: list[Unit] = []
    for n, unit in enumerate(units):
        if n in together:
            joined[-1].end = unit.end
            joined[-1].several = True
        else:
            joined.append(unit)
    return joined


def _overlapping(units: Sequence[Unit], start: int, end: int) -> list[tuple[int, Unit]]:
    low, high = 0, len(units)
    while low < high:  # the first unit that ends after the start
        middle = (low + high) // 2
        low, high = (low, middle) if units[middle].end > start else (middle + 1, high)
    shared = []
    while low < len(units) and units[low].start < end:
        shared.append((low, units[low]))
        low += 1
    return shared


def _share_out(kept: Sequence[Span], units: Sequence[Unit]) -> None:
    for start, end in kept:
        for _, unit in _overlapping(units, start, end)[:1]:
            unit.kept.append((start, end))


def _share_out_elements(elements: Sequence[Element], units: Sequence[Unit]) -> None:
    """Give each element to the unit that it is in, or that it touches if it has no text there."""
    for element in elements:
        touched = _overlapping(units, element.start, max(element.end, element.start + 1))
        touched[0][1].elements.append(element)
