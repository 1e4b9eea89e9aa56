"""A passage: text that is translated together, with the markup inside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple


@dataclass(slots=True, eq=False)
class Element:
    """Markup within a passage: around some of its text, or at one place.

    Elements are nested as in the document: `children` are within this one, in their order.
    """

    before: str
    """What is written before its text, such as `<b>`."""
    after: str = ""
    """What is written after its text, such as `</b>`; empty for markup at one place."""
    start: int = 0
    end: int = 0
    """Its characters of the passage; empty for markup at one place."""
    content: str | None = None
    """The markup of text that is kept as it is, written instead of that text; None if its text is
    translated."""
    children: list["Element"] = field(default_factory=list)
    needs_text: bool = False
    """It is emphasis of Markdown: it is left out without words, because it cannot be around
    nothing, and a space may have to separate it from the text beside it."""


class Piece(NamedTuple):
    """A part of what is written for a passage."""

    text: str
    opens: bool = False
    """A mark that begins emphasis."""
    closes: bool = False
    """A mark that ends emphasis."""


IsHidden = Callable[[str, str, str], bool]
"""Takes the character outside of a mark of emphasis, the mark, and the character inside."""


def identity(text: str) -> str:
    """Return the text as it is, for documents that write all characters as they are."""
    return text


def never(outer: str, mark: str, inner: str) -> bool:
    """Return False, for documents whose marks may be next to any text."""
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """Text that is translated together, such as a paragraph."""

    text: str
    """The text without markup; line ends and tabs within it are spaces."""
    elements: Sequence[Element] = ()
    """The outermost elements, in their order."""
    spelled: Sequence[str] = ""
    """How the document writes each character of the text; empty if it writes them as they are."""
    written: Callable[[str], str] = identity
    """Returns new text as the document writes it, such as `&lt;` for `<`."""
    breaks: Sequence[int] = ()
    """Spaces of the text for which the document has something else, such as a line end. Each stays,
    in this order, in place of the space of a translation that is nearest to its old place."""
    breaks_need_lines: bool = False
    """A break is left out of a translation that has too few words, as in Markdown, where a line
    without text ends a paragraph."""
    is_hidden: IsHidden = never
    """Tells whether a mark of emphasis would be read as text, because of the text beside it."""

    def original(self, start: int, end: int) -> str:
        """Return characters as the document writes them."""
        return "".join(self.spelled[start:end]) if self.spelled else self.text[start:end]

    def joined(self, pieces: Sequence[Piece]) -> str:
        """Return the text of pieces, with a space outside of each mark that would be hidden."""
        with_text = [piece for piece in pieces if piece.text]
        rows = [
            Piece("".join(piece.text for piece in group), opens, closes)
            for (opens, closes, _), group in groupby(with_text, _kind)
        ]
        texts = [rows[0].text] if rows else []
        around = [Piece(""), *rows, Piece("")]
        for ended, before, after, begun in zip(around, rows, rows[1:], around[3:], strict=False):
            outer = before.text[-1], after.text[0]
            if (
                (before.closes and after.opens and outer[0] == outer[1])
                or (before.closes and self.is_hidden(outer[1], before.text, ended.text[-1:]))
                or (after.opens and self.is_hidden(outer[0], after.text, begun.text[:1]))
            ):
                texts.append(" ")
            texts.append(after.text)
        return "".join(texts)


def _kind(piece: Piece) -> tuple[bool, bool, str]:
    """Return a key of marks that are one row to a reader of the document, and of text."""
    return piece.opens, piece.closes, piece.text[0] if piece.opens or piece.closes else ""


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end of an element, or both at once for an element of one place."""

    element: Element
    position: int
    """The character of the passage before which it stands."""
    opens: bool
    closes: bool


def edges(elements: Sequence[Element]) -> Iterator[Edge]:
    """Yield the beginnings and ends of elements and their children, in their order."""
    open_elements: list[tuple[Element, Iterator[Element]]] = []
    siblings = iter(elements)
    while True:
        element = next(siblings, None)
        if element is None:
            if not open_elements:
                return
            parent, siblings = open_elements.pop()
            yield Edge(parent, parent.end, opens=False, closes=True)
        elif element.content is not None or not (element.after or element.children):
            yield Edge(element, element.start, opens=True, closes=True)
        else:
            yield Edge(element, element.start, opens=True, closes=False)
            open_elements.append((element, siblings))
            siblings = iter(element.children)


def descendants(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield elements and all elements within them, without recursion, because pages nest deeply."""
    waiting = list(reversed(elements))
    while waiting:
        element = waiting.pop()
        yield element
        waiting.extend(reversed(element.children))
