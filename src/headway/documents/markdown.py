"""Markdown: prose is translated; code, addresses, tags, definitions and front matter stay.

markdown-it-py finds the blocks and, in each, what its rules read as markup; each rule is watched so
that its markup has a place in the text. So everything except text stays byte for byte.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headway.documents.document import Parts
from headway.documents.html import parts_of_html
from headway.documents.inline import SPACES, Item, kept_items, pair, parts_of_items
from headway.errors import MissingExtraError

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
# Of MyST and of GitHub: the target of a link, a fence of colons, the kind of a note.
_NO_PROSE = re.compile(r"\([^()\s]+\)=|:{3,}.*|\[![A-Za-z]+\]")
_ROLE = re.compile(r"\{[\w:+\-]+\}\Z")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:?")
_BOX = re.compile(r"\[[ xX]\][ \t]+(?=\S)")  # of a list of tasks
_TAG = re.compile(r"<(?P<ends>/?)(?P<tag>[A-Za-z][\w\-]*)")
_BEGINS_A_BLOCK = re.compile(r"\A(\d{0,9})((?<=\d)[.)](?=\s|\Z)|[-+](?=\s|\Z)|#|>|[-=]+\s*\Z)")
_MARKS = re.compile(r"[\\`*]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|~(?=~)|&(?=[#\w]+;)|[\[\]]")


def parts_of_markdown(text: str) -> Parts:
    """Return the prose of a text in Markdown, and the rest.

    CommonMark with tables and strikethrough. Pieces of HTML are read as pages are.
    """
    watch = _Watch()
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    parts: Parts = [text[:begin]]
    lines = _Lines(text, begin)
    in_table = False
    for token in watch.blocks(text[begin:]):
        in_table = token.type != "table_close" and (in_table or token.type == "table_open")
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        if token.type == "html_block":
            start, end = lines.starts[token.map[0]], lines.starts[token.map[1]]
            if "".join(text[start:end].split()) == "".join(token.content.split()):
                parts.append(lines.up_to(start))
                parts += parts_of_html(lines.up_to(end))
            continue
        for group in lines.groups(token):
            parts.append(lines.up_to(group.start))
            lines.place = group.end
            items = _items(group, watch.marks_in(group.text))
            pair(items)
            escaped = _Escaping(items, in_table=in_table, has_definitions=watch.has_definitions)
            parts += parts_of_items(items, escaped, is_hidden)
    return [*parts, lines.up_to(len(text))]


class _Group(NamedTuple):
    """Lines of prose that belong together."""

    text: str
    """Without the marks before each line, such as those of a quotation."""
    spelled: list[str]
    """How the document writes each character."""
    start: int
    end: int
    """The place in the document."""

    def source(self, begin: int, end: int) -> str:
        """Return characters as the document writes them."""
        return "".join(self.spelled[begin:end])


class _Lines:
    """Finds the lines of a block in the document."""

    def __init__(self, text: str, begin: int) -> None:
        self.text = text
        self.place = begin
        ends = [begin + end.end() for end in re.finditer(r"\r\n|\r|\n", text[begin:])]
        self.starts = [begin, *ends]
        if not ends or ends[-1] < len(text):
            self.starts.append(len(text))

    def up_to(self, end: int) -> str:
        """Return the document from the last place to this one, which is the next last place."""
        begin, self.place = self.place, max(self.place, end)
        return self.text[begin : self.place]

    def groups(self, token: "Token") -> Iterator[_Group]:
        """Yield the lines of a block; lines that are not prose divide it."""
        assert token.map is not None
        spelled: list[str] = []
        text, begin, end = "", self.place, self.place
        number = token.map[0]
        for line in token.content.split("\n"):
            content = line.lstrip()
            content_place = self._place_of_content(content, number, end)
            number += 1
            if content_place is None or _NO_PROSE.fullmatch(content.strip()):
                if spelled:
                    yield _Group(text, spelled, begin, end)
                text, spelled = "", []
                end = end if content_place is None else content_place[1]
                continue
            start, end_of_line, characters = content_place
            if spelled:
                text += "\n"
                spelled.append(self.text[end:start])
            else:
                begin = start
            text += content
            spelled += characters
            end = end_of_line
        if spelled:
            yield _Group(text, spelled, begin, end)

    def _place_of_content(
        self, content: str, number: int, place: int
    ) -> tuple[int, int, list[str]] | None:
        """Return where a line is, and how its characters are written: in tables | has a mark."""
        if not content or number + 1 >= len(self.starts):
            return None
        first, last = max(place, self.starts[number]), self.starts[number + 1]
        for characters in (list(content), [r"\|" if c == "|" else c for c in content]):
            start = self.text.find("".join(characters), first, last)
            if start >= 0:
                return start, start + sum(map(len, characters)), characters
        return None


class _Mark(NamedTuple):
    """A stretch of prose that a rule of the parser has read as markup."""

    begin: int
    end: int
    rule: str
    tokens: "list[Token]"
    lengths: list[int]
    """The number of characters of each token's text, before pairs of marks were found."""
    label_end: int
    """Where the text of a link ends."""


class _Watch:
    """A parser of CommonMark that notes what each rule reads in a text."""

    def __init__(self) -> None:
        """Make the parser, which leaves the text in blocks to `marks_in`."""
        try:
            from markdown_it import MarkdownIt, rules_inline
        except ImportError:
            raise MissingExtraError.of("documents", "Markdown needs markdown-it-py.") from None
        rules = {
            "newline": rules_inline.newline,
            "escape": rules_inline.escape,
            "backticks": rules_inline.backtick,
            "strikethrough": rules_inline.strikethrough.tokenize,
            "emphasis": rules_inline.emphasis.tokenize,
            "link": rules_inline.link,
            "image": rules_inline.image,
            "autolink": rules_inline.autolink,
            "html_inline": rules_inline.html_inline,
            "entity": rules_inline.entity,
        }
        self.parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        for name, rule in rules.items():
            self.parser.inline.ruler.at(name, self._watching(name, rule))
        self.parser.inline.ruler2.disable("fragments_join")  # a token keeps its own text
        self.parser.core.ruler.disable("inline")
        self.definitions: dict[str, Any] = {}
        self.marks: list[_Mark] = []

    def blocks(self, text: str) -> "list[Token]":
        """Return the blocks of a text; later marks are by the definitions of links in it."""
        self.definitions = {}
        return self.parser.parse(text, self.definitions)

    @property
    def has_definitions(self) -> bool:
        """Return True if text in brackets may be a link."""
        return bool(self.definitions.get("references"))

    def marks_in(self, text: str) -> list[_Mark]:
        """Return the marks in a text, outer ones before those within them."""
        self.marks = []
        self.parser.inline.parse(text, self.parser, self.definitions, [])
        return self.marks

    def _watching(
        self, name: str, rule: "Callable[[StateInline, bool], bool]"
    ) -> "Callable[[StateInline, bool], bool]":
        """Return a rule that notes its successes."""

        def watched(state: "StateInline", silent: bool) -> bool:
            begin, count, pending = state.pos, len(state.tokens), bool(state.pending)
            before = len(self.marks)
            succeeds = rule(state, silent)
            if not succeeds or silent:
                return succeeds
            if name == "image":  # whose description is a text of its own
                del self.marks[before:]
            tokens = state.tokens[count + (pending and len(state.tokens) > count) :]
            lengths = [len(token.content) for token in tokens]
            label_end = 0
            if name == "link":
                label_end = state.md.helpers.parseLinkLabel(state, begin, True)
            self.marks.insert(before, _Mark(begin, state.pos, name, tokens, lengths, label_end))
            return succeeds

        return watched


def _items(group: _Group, marks: Sequence[_Mark]) -> list[Item]:
    """Return the text and the markup of a group."""
    return [item for item in _Items(group).of(marks) if item.source or item.text]


class _Items:
    def __init__(self, group: _Group) -> None:
        self.group = group
        self.items: list[Item] = []
        self.place = 0

    def of(self, marks: Sequence[_Mark]) -> list[Item]:
        ends: list[tuple[int, int]] = []  # of links: of their texts, and of them
        if box := _BOX.match(self.group.text):
            self._add("point", 0, box.end())
        for mark in marks:
            while ends and ends[-1][0] <= mark.begin:
                self._end_link(*ends.pop())
            if mark.begin < self.place or not mark.tokens:
                continue  # within something that is kept, or no markup after all
            if mark.rule == "link":
                destination = self.group.text[mark.label_end + 1 : mark.end]
                if destination not in ("", "[]"):
                    self._add("start", mark.begin, mark.begin + 1, "a")
                    ends.append((mark.label_end, mark.end))
                    continue
                self._keep(mark, self.group.text[mark.begin + 1 : mark.label_end])
            else:
                self._take(mark)
        while ends:
            self._end_link(*ends.pop())
        self._text_up_to(len(self.group.text))
        return self.items

    def _take(self, mark: _Mark) -> None:
        first = mark.tokens[0]
        if mark.rule in ("emphasis", "strikethrough"):
            self._take_delimiters(mark)
        elif mark.rule == "backticks":
            self._keep(mark, first.content)
        elif mark.rule == "autolink":
            self._keep(mark, self.group.text[mark.begin + 1 : mark.end - 1])
        elif mark.rule == "image":
            self._add("point", mark.begin, mark.end)
        elif mark.rule == "html_inline":
            tag = _TAG.match(first.content)
            if tag is None or first.content.endswith("/>"):
                self._add("point", mark.begin, mark.end)
            else:
                kind = "end" if tag["ends"] else "start"
                self._add(kind, mark.begin, mark.end, f"<{tag['tag'].lower()}>")
        elif first.type == "softbreak":
            self._text_up_to(mark.begin)
            source = self.group.source(mark.begin, mark.end)
            self.items.append(Item("break", source, " ", [source], needs_text=True))
            self.place = mark.end
        elif first.type == "hardbreak":
            self._add("start", mark.begin, mark.end, "br")  # without an end, so it divides the text
        else:  # a reference such as &amp; or an escaped character
            self._text_up_to(mark.begin)
            source = self.group.source(mark.begin, mark.end)
            text = first.content.translate(SPACES) or " "
            self.items.append(Item("text", source, text, [source, *[""] * (len(text) - 1)]))
            self.place = mark.end

    def _take_delimiters(self, mark: _Mark) -> None:
        """Take the marks of a row such as `***`, each of which may begin or end an element.

        Of the two marks of a strong element, the outer one is a text token that has become empty.
        """
        begin = start = mark.begin
        for number, (token, length) in enumerate(zip(mark.tokens, mark.lengths, strict=True)):
            end = begin + length
            name, _, kind = token.type.rpartition("_")
            if kind == "open":
                self._add("start", start, end, name)
            elif kind == "close":
                outer = mark.lengths[number + 1 : number + 2] if name == "strong" else []
                self._add("end", begin, end + sum(outer), name)
            is_outer = token.type == "text" and not token.content
            start, begin = (begin if is_outer else end), end

    def _keep(self, mark: _Mark, text: str) -> None:
        self._text_up_to(mark.begin)
        source = self.group.source(mark.begin, mark.end)
        last = self.items[-1] if self.items else None
        role = _ROLE.search(last.source) if last is not None and last.kind == "text" else None
        if role is not None and last is not None and mark.rule == "backticks":
            source = role[0] + source
            keep = len(last.text) - len(role[0])
            self.items[-1] = Item("text", last.source[: -len(role[0])], last.text[:keep],
                                  last.spelled[:keep])  # fmt: skip
        self.items += kept_items(source, text)
        self.place = mark.end

    def _end_link(self, text_end: int, end: int) -> None:
        self._add("end", text_end, end, "a")

    def _add(self, kind: str, begin: int, end: int, tag: str = "") -> None:
        self._text_up_to(begin)
        is_emphasis = tag in ("em", "strong", "s")
        source = self.group.source(begin, end)
        self.items.append(Item(kind, source, tag=tag, needs_text=is_emphasis))
        self.place = end

    def _text_up_to(self, end: int) -> None:
        """Add the text before this place; a footnote's mark in it is markup."""
        begin = self.place
        text = self.group.text
        for note in [*_FOOTNOTE.finditer(text, begin, max(begin, end)), None]:
            stop = end if note is None else note.start()
            if begin < stop:
                spelled = self.group.spelled[begin:stop]
                written = text[begin:stop].translate(SPACES)
                self.items.append(Item("text", "".join(spelled), written, spelled))
            if note is not None:
                self.items.append(Item("point", self.group.source(note.start(), note.end())))
                begin = note.end()
        self.place = max(self.place, end)


class _Escaping:
    """Writes text so that none of it is markup."""

    def __init__(self, items: Sequence[Item], *, in_table: bool, has_definitions: bool) -> None:
        self.in_table = in_table
        spelled = (c for item in items if item.kind == "text" for c in item.spelled)
        self.brackets_are_plain = not has_definitions and any(c in ("[", "]") for c in spelled)

    def __call__(self, text: str) -> str:
        text = _MARKS.sub(self._escaped, text)
        if self.in_table:
            text = text.replace("|", r"\|")
        return _BEGINS_A_BLOCK.sub(lambda begin: rf"{begin[1]}\{begin[2]}", text, count=1)

    def _escaped(self, mark: re.Match[str]) -> str:
        is_plain = mark[0] in "[]" and self.brackets_are_plain
        before_address = mark[0] == "]" and mark.string[mark.end() : mark.end() + 1] == "("
        return mark[0] if is_plain and not before_address else "\\" + mark[0]


def is_hidden(outer: str, mark: str, inner: str) -> bool:
    """Return True if CommonMark reads a mark of emphasis as text, as in `**"a"**b` and `_a_b`.

    outer, inner: the characters beside it.
    """
    from markdown_it.common.utils import isMdAsciiPunct, isPunctChar

    def is_punctuation(character: str) -> bool:
        return isMdAsciiPunct(ord(character)) or isPunctChar(character)

    is_letter = not (outer.isspace() or is_punctuation(outer))
    return is_letter and (mark[0] == "_" or is_punctuation(inner))
