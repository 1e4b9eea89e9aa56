"""HTML: text is translated, and all else stays byte for byte.

The tokenizer of turbohtml follows the standard of HTML and gives each token as it is written. Text
up to a tag that begins or ends a block is a passage, in which tags such as `<a>` are elements.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headway.documents.document import Parts
from headway.documents.inline import SPACES, Item, kept_items, pair, parts_of_items, text_item
from headway.errors import MissingExtraError

if TYPE_CHECKING:
    from turbohtml import Token

_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "g", "i",
    "ins", "label", "mark", "nobr", "q", "s", "small", "span", "strike", "strong", "sub", "sup",
    "time", "u", "x",
})  # fmt: skip
"""Elements within a sentence, whose places follow its words."""
_KEPT_INLINE = frozenset({"code", "kbd", "ruby", "samp", "tt", "var"})
_UNSEEN = frozenset({"img", "math", "script", "style", "svg", "template", "wbr"})
"""Elements within a sentence that have no words of it."""
_KEPT = frozenset({"iframe", "noembed", "noframes", "plaintext", "pre", "textarea", "xmp"})
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
})  # fmt: skip
_PLACEHOLDERS = frozenset({"bx", "ex", "g", "ph", "x"})
"""Elements of XLIFF that programs put into pages, such as `<x id="1"/>`."""
_ENDED_BY_THE_NEXT = frozenset({"dd", "dt", "li", "option", "p", "td", "th", "tr"})


def parts_of_html(text: str) -> Parts:
    """Return the passages of a page or a piece of one, and the rest.

    Kept: code, kbd, pre, samp, script, style, textarea, tt, var and others without prose; and
    elements with translate="no" or the class notranslate.
    """
    return _Reader(text).parts()


class _Token(NamedTuple):
    """A token with its place, in one of the kinds that matter here."""

    kind: str
    """text, start, end, comment or other."""
    start: int
    end: int
    tag: str = ""
    text: str = ""
    """What a text token says, with references decoded."""
    keeps: bool | None = None
    """Whether the attributes of a start tag say that its text is kept; None if they do not say."""
    is_empty: bool = False
    """The tag ends its own element, as in `<x/>`."""


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens of a page, which together are the page."""
    try:
        from turbohtml import TokenType, tokenize
    except ImportError:
        raise MissingExtraError.of("documents", "HTML needs turbohtml.") from None
    kinds = {
        TokenType.TEXT: "text", TokenType.CHARACTER_REFERENCE: "text",
        TokenType.START_TAG: "start", TokenType.END_TAG: "end", TokenType.COMMENT: "comment",
    }  # fmt: skip
    # The tokenizer changes these; of the same length, each token stays where it is.
    shown = text.replace("\r", " ").replace("\0", "\ufffd").replace("</>", "<!>")
    place = 0
    for token in tokenize(shown, resolve_references=False, capture_source=True):
        length = len(token.data or "") if token.source is None else len(token.source)
        start, place = place, place + length
        tag = token.tag or ""
        keeps = _keeps(token) if token.type == TokenType.START_TAG else None
        data = (token.data or "") if token.source is not None else text[start:place]
        is_empty = tag in _VOID or (token.self_closing and tag in _PLACEHOLDERS)
        kind = kinds.get(token.type, "other")
        yield _Token(kind, start, place, tag, data, keeps, is_empty)
    if place < len(text):  # a tag without an end
        yield _Token("other", place, len(text))


def _keeps(token: "Token") -> bool | None:
    translate = token.attr("translate")
    if "notranslate" in (token.attr("class") or "").split():
        return True
    if translate is None:
        return None
    return {"no": True, "yes": False, "": False}.get(translate.strip().lower())


@dataclass(slots=True)
class _Open:
    """An element that has begun."""

    tag: str
    keeps: bool


class _Reader:
    """Reads a page once, and collects the items of the passage that it is in."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.found: Parts = []
        self.open: list[_Open] = []
        self.open_tags: Counter[str] = Counter()
        self.items: list[Item] = []
        self.kept: _Kept | None = None

    def parts(self) -> Parts:
        """Return the parts of the page."""
        for token in _tokens(self.page):
            self._take(token)
        self._end_kept()
        self._end_passage()
        return self.found

    @property
    def _keeps(self) -> bool:
        return self.open[-1].keeps if self.open else False

    def _take(self, token: _Token) -> None:
        source = self.page[token.start : token.end]
        kept_before = self._keeps
        if token.kind == "start":
            self._begin(token)
        elif token.kind == "end":
            self._end(token.tag)
        if self.kept is not None:
            self._continue_kept(token, source)
        elif token.kind == "text" and not self._keeps:
            self._add_text(token, source)
        elif token.kind == "comment" and not self._keeps:
            self.items.append(Item("point", source))
        elif token.kind == "start" and not kept_before and self._begins_kept(token):
            self.kept = _Kept(token.tag, len(self.open) - 1, [source])
        elif token.kind == "start" and not self._keeps and token.is_empty and self._is_point(token):
            self.items.append(Item("point", source))
        elif token.kind in ("start", "end") and token.tag in _INLINE and not kept_before:
            self.items.append(Item(token.kind, source, tag=token.tag))
        else:
            self._end_passage()
            self.found.append(source)

    def _is_point(self, token: _Token) -> bool:
        return token.tag in _UNSEEN | _PLACEHOLDERS

    def _begins_kept(self, token: _Token) -> bool:
        """Return True for the beginning of a kept element within a sentence."""
        if token.is_empty:
            return False
        inline = token.tag in _INLINE | _KEPT_INLINE | _UNSEEN
        return inline and self._keeps

    def _begin(self, token: _Token) -> None:
        if self.open and self.open[-1].tag == token.tag and token.tag in _ENDED_BY_THE_NEXT:
            self._end(token.tag)
        if token.is_empty:
            return
        keeps = token.keeps
        if keeps is None:
            keeps = self._keeps or token.tag in _KEPT | _KEPT_INLINE | _UNSEEN
        self.open.append(_Open(token.tag, keeps))
        self.open_tags[token.tag] += 1

    def _end(self, tag: str) -> None:
        """End the latest element of this tag, and those within it; a tag without one ends none."""
        while self.open_tags[tag]:
            ended = self.open.pop().tag
            self.open_tags[ended] -= 1
            if ended == tag:
                return

    def _add_text(self, token: _Token, source: str) -> None:
        if token.text == source:
            self.items.append(text_item(source))
        else:  # a reference, such as &amp; whose text may be several characters
            text = token.text.translate(SPACES) or " "
            self.items.append(Item("text", source, text, [source, *[""] * (len(text) - 1)]))

    def _continue_kept(self, token: _Token, source: str) -> None:
        """Add a token to the kept element, or end it."""
        assert self.kept is not None
        self.kept.sources.append(source)
        if token.kind == "text":
            self.kept.texts.append(token.text)
        ended = len(self.open) <= self.kept.depth
        if ended and token.tag == self.kept.tag:
            self._end_kept()
        elif ended or not self._keeps:  # by the end of a block, or translate="yes" within it
            whole, self.kept = self.kept.sources, None
            self._end_passage()
            self.found += whole

    def _end_kept(self) -> None:
        """Make an item of the kept element that has ended."""
        if self.kept is not None:
            source, text = "".join(self.kept.sources), "".join(self.kept.texts)
            is_seen = self.kept.tag not in _UNSEEN
            self.items += kept_items(source, text if is_seen else "")
            self.kept = None

    def _end_passage(self) -> None:
        """Make passages of the collected items."""
        pair(self.items)
        items = list(_without_notes(self.items))
        self.found += parts_of_items(items, _Escaping(_references(items)))
        self.items = []


@dataclass(slots=True)
class _Kept:
    """A kept element within a sentence, of which more follows."""

    tag: str
    depth: int
    """The number of elements around it."""
    sources: list[str]
    texts: list[str] = field(default_factory=list)


def _without_notes(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items; <sup> without a letter, such as a note's number, is markup and no word."""
    place = 0
    while place < len(items):
        item = items[place]
        if item.tag == "sup" and item.kind == "start" and item.partner is not None:
            inner = items[place : item.partner + 1]
            if not any(map(str.isalpha, "".join(each.text for each in inner))):
                yield Item("point", "".join(each.source for each in inner))
                place = item.partner + 1
                continue
        yield item
        place += 1


def _references(items: Sequence[Item]) -> dict[str, str]:
    """Return how the text of items writes characters that it refers to."""
    return {
        item.text: item.source
        for item in reversed(items)
        if item.kind == "text" and item.text != item.source and len(item.text) == 1
    }


class _Escaping:
    """Writes text with the references that the passage used for the same characters."""

    def __init__(self, references: dict[str, str]) -> None:
        needed = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
        named_references = {
            character: written for character, written in references.items() if character != " "
        }
        self.table = str.maketrans({**needed, **named_references})

    def __call__(self, text: str) -> str:
        return text.translate(self.table)
