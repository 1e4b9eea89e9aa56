"""Text with markup inside it: items in the order of the document, which become passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from headway.documents.document import Parts
from headway.documents.passage import Element, IsHidden, Passage, identity, never

SPACES = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029", " "))
"""Makes a space of each character that separates words."""
_DEEPEST = 50
"""Elements within each other in one passage; tags of deeper ones divide the text."""


@dataclass(slots=True)
class Item:
    """Something within a passage."""

    kind: str
    """text; start or end, of an element; point, for markup at one place; kept, for an element whose
    text is kept; break, for markup between lines, which is a space in their text."""
    source: str
    """As it is written."""
    text: str = ""
    spelled: list[str] = field(default_factory=list)
    tag: str = ""
    needs_text: bool = False
    """It cannot be written without text: an element around it, or a break before and after it."""
    partner: int | None = None
    """The place of the tag that ends this element, or begins it."""


def text_item(source: str) -> Item:
    """Return the item of text that is written as it is."""
    return Item("text", source, source.translate(SPACES), list(source))


def kept_items(source: str, text: str) -> list[Item]:
    """Return the items of an element with kept text; without text it is markup at one place."""
    words = " ".join(text.split())
    if not words:
        return [Item("point", source)]
    # A space within the element, which its own text is without, separates it from the words.
    space = Item("text", "", " ", [""])
    return [
        *([space] * text[0].isspace()),
        Item("kept", source, words, [""] * len(words)),
        *([space] * text[-1].isspace()),
    ]


def pair(items: list[Item]) -> None:
    """Set the partners of tags; a tag without one has None, as all pairs around it have."""
    waiting: list[int] = []
    for place, item in enumerate(items):
        if item.kind == "start":
            waiting.append(place)
        elif item.kind == "end" and waiting and items[waiting[-1]].tag == item.tag:
            begin = waiting.pop()
            if len(waiting) < _DEEPEST:
                items[begin].partner, item.partner = place, begin
    alone = [item.kind in ("start", "end") and item.partner is None for item in items]
    before = [0, *accumulate(alone)]
    for place, item in enumerate(items):
        begin = item.partner
        if item.kind == "end" and begin is not None and before[place] > before[begin]:
            items[begin].partner = item.partner = None


def parts_of_items(
    items: Sequence[Item], written: Callable[[str], str] = identity, is_hidden: IsHidden = never
) -> Parts:
    """Return passages of items whose tags are paired; a tag without its partner divides them.

    written: writes new text as the document does. is_hidden: as in a passage.
    """
    parts: Parts = []
    together: list[Item] = []
    for item in [*items, None]:
        if item is not None and (item.kind not in ("start", "end") or item.partner is not None):
            together.append(item)
            continue
        if any(each.kind == "text" and not each.text.isspace() for each in together):
            parts.append(_passage(together, written, is_hidden))
        else:
            parts += [each.source for each in together]
        together = []
        if item is not None:
            parts.append(item.source)
    return parts


def _passage(items: Sequence[Item], written: Callable[[str], str], is_hidden: IsHidden) -> Passage:
    """Return the passage of items in which every tag has its partner."""
    texts: list[str] = []
    spelled: list[str] = []
    breaks: list[int] = []
    breaks_need_lines = any(item.kind == "break" and item.needs_text for item in items)
    outermost: list[Element] = []
    inside: list[Element] = []
    for item in items:
        siblings = inside[-1].children if inside else outermost
        start, end = len(spelled), len(spelled) + len(item.text)
        texts.append(item.text)
        spelled += item.spelled
        if item.kind == "start":
            inside.append(Element(item.source, start=start, needs_text=item.needs_text))
            siblings.append(inside[-1])
        elif item.kind == "end":
            element = inside.pop()
            element.after, element.end = item.source, start
        elif item.kind == "point":
            siblings.append(Element(item.source, start=start, end=end))
        elif item.kind == "kept":
            siblings.append(Element("", "", start, end, item.source))
        elif item.kind == "break":
            breaks.append(start)
    return Passage(
        "".join(texts), outermost, spelled, written, breaks, breaks_need_lines, is_hidden
    )
