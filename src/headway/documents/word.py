"""Documents of Word (docx): the text of paragraphs is translated, and its formatting stays.

A file is an archive of XML. The paragraphs of the text, headers, footers and notes are passages, in
which text of another format than most of the paragraph, and links, are elements. Parts and
paragraphs that do not change are written as they were.
"""

import copy
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from headway.documents.document import Parts, joined, passages_of
from headway.documents.inline import SPACES, Item, kept_items, pair, parts_of_items
from headway.documents.passage import Passage
from headway.errors import DataError, MissingExtraError

Node = Any
"""An element of XML, as lxml has it."""

_MOST_BYTES = 256 << 20
"""Of all parts of an archive together, when they are decompressed."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAIN = re.compile(r"word/document\d*\.xml")
_TEXTS = re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml")
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
"""The beginning of files of the older formats, which Word also writes with a password."""
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_AROUND_RUNS = {
    f"{_W}{name}" for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "sdt", "smartTag")
}
_CONTENT = f"{_W}sdtContent"
_DIVIDING = {f"{_W}{name}" for name in ("br", "cr", "tab", "ptab")}
_RANGE_STARTS = {f"{_W}{name}" for name in ("bookmarkStart", "commentRangeStart", "permStart")}
_RANGE_ENDS = {f"{_W}{name}" for name in ("bookmarkEnd", "commentRangeEnd", "permEnd")}
_SPELLING = f"{_W}proofErr"
_NO_FORMAT = {f"{_W}lang", f"{_W}noProof"}
_SEEN_ON_SPACES = {f"{_W}{name}" for name in ("bdr", "dstrike", "highlight", "shd", "strike", "u")}
_MARK = re.compile("\0([^\0]*)\0")
"""A mark of an element, of which XML has the content; NUL cannot be in XML."""
_NO_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF])


class WordDocument:
    """The paragraphs of a document, and its archive."""

    def __init__(self, data: bytes) -> None:
        """Read a document; DataError for a file that is none, or that is unsafe to open."""
        self.data = data
        self.archive = _archive(data)
        self.trees = {
            info.filename: _tree(info.filename, self.archive.read(info))
            for info in self.archive.infolist()
            if _TEXTS.fullmatch(info.filename)
        }
        for name, tree in self.trees.items():
            if not str(tree.tag).startswith(_W):
                raise _refused(f"{name} is in the form Strict Open XML, or in none of Word's")
        self.paragraphs = {
            name: [_Paragraph(element) for element in tree.iter(f"{_W}p")]
            for name, tree in self.trees.items()
        }

    @property
    def passages(self) -> list[Passage]:
        """The passages of all paragraphs, in the order of the parts."""
        return [
            passage
            for paragraphs in self.paragraphs.values()
            for paragraph in paragraphs
            for passage in passages_of(paragraph.parts)
        ]

    def content(self, texts: Sequence[str]) -> bytes:
        """Return the document with a text in place of each passage."""
        waiting = iter(texts)
        changed: dict[str, bytes] = {}
        for name, paragraphs in self.paragraphs.items():
            new = [
                paragraph.take([next(waiting) for _ in passages_of(paragraph.parts)])
                for paragraph in paragraphs
            ]
            if any(new):
                changed[name] = _written(self.trees[name])
        if not changed:
            return self.data
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for info in self.archive.infolist():
                content = changed.get(info.filename)
                old = self.archive.read(info)
                archive.writestr(copy.copy(info), old if content is None else content)
        return file.getvalue()


def _archive(data: bytes) -> zipfile.ZipFile:
    """Return the archive of a document, checked before anything is decompressed."""
    if data.startswith(_COMPOUND):
        raise _refused(
            "it has a password, or is in the older format .doc",
            "Save it as Word Document (.docx), without a password.",
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _refused(f"it is not an archive ({error})") from None
    infos = archive.infolist()
    names = {info.filename for info in infos}
    if "[Content_Types].xml" not in names or not any(map(_MAIN.fullmatch, names)):
        raise _refused("its archive has no word/document.xml")
    if len(names) < len(infos) or any(info.flag_bits & 1 for info in infos):
        raise _refused("its archive has encrypted parts, or two parts with one name")
    if sum(info.file_size for info in infos) > _MOST_BYTES:
        raise DataError(
            f"The document has more than {_MOST_BYTES >> 20} MB when it is decompressed.",
            "Make its pictures smaller, or divide it.",
        )
    try:
        if (damaged := archive.testzip()) is not None:
            raise _refused(f"its part {damaged} is damaged")
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error):
        raise _refused("its archive is damaged") from None
    return archive


def _refused(why: str, remedy: str = "Save it as Word Document (.docx).") -> DataError:
    return DataError(f"The file cannot be read as a Word document: {why}.", remedy)


def _etree() -> Any:
    """Return the library that reads and writes XML."""
    try:
        from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        raise MissingExtraError.of("documents", "Word documents need lxml.") from None
    return etree


def _tree(name: str, data: bytes) -> Node:
    etree = _etree()
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise _refused(f"{name} is not XML ({error})") from None
    if (
        root.getroottree().docinfo.doctype
    ):  # it may define entities, which no program of Office does
        raise _refused(f"{name} has a document type, which is not allowed")
    return root


def _written(root: Node) -> bytes:
    etree = _etree()
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)


class _Piece(NamedTuple):
    """A part of a run."""

    kind: str
    """As of an `Item`; divide for what ends a passage."""
    text: str
    format: str
    """The format of the text, for comparison."""
    nodes: list[Node]
    run: Node | None = None
    """The run that the only node is a part of."""

    @property
    def is_blank(self) -> bool:
        """True for spaces whose format is seen, such as a line to write on."""
        if self.kind != "text" or len(self.text) < 2 or not self.text.isspace():
            return False
        properties = _properties(self.run)
        return properties is not None and any(each.tag in _SEEN_ON_SPACES for each in properties)


class _Paragraph:
    """A paragraph with its passages."""

    def __init__(self, element: Node) -> None:
        self.element = element
        self.nodes: list[Any] = []
        """What the marks in texts stand for: an element of XML, or the properties of runs."""
        self.kinds: list[str] = []
        pieces = list(_pieces(element))
        letters: Counter[str] = Counter()
        self.properties: dict[str, Node | None] = {}
        for piece in pieces:
            if piece.kind == "text":
                letters[piece.format] += len(piece.text.strip())
                self.properties.setdefault(piece.format, _properties(piece.run))
        self.base = letters.most_common(1)[0][0] if letters else ""
        items = list(self._items(pieces))
        pair(items)
        self.original = "".join(item.source for item in items)
        self.parts: Parts = parts_of_items(items, lambda text: text.translate(_NO_XML))

    def _items(self, pieces: Sequence[_Piece]) -> Iterator[Item]:
        """Yield items whose markup is marks."""
        format_ = self.base
        end: Item | None = None
        for piece in pieces:
            blank = piece.is_blank and piece.format != self.base
            # A space has the format of the text before it, or else the element would need a word.
            as_before = piece.kind == "text" and piece.text.isspace() and not blank
            stays = as_before or (piece.kind, piece.format) == ("text", format_)
            if end is not None and not stays:
                yield end
                end, format_ = None, self.base
            if blank:
                yield Item("point", f"\0.{self._mark('piece', piece)}\0")
                yield Item("text", "", " ", [""])
            elif piece.kind == "text":
                if end is None and piece.format != self.base and not as_before:
                    number = self._mark("format", self.properties[piece.format])
                    format_ = piece.format
                    yield Item("start", f"\0<{number}\0", tag="format")
                    end = Item("end", f"\0>{number}\0", tag="format")
                yield Item("text", piece.text, piece.text.translate(SPACES), list(piece.text))
            elif piece.kind in ("start", "end"):
                number = self._mark("around", piece.nodes[0])
                sign = "<" if piece.kind == "start" else ">"
                yield Item(piece.kind, f"\0{sign}{number}\0", tag="around")
            else:
                mark = f"\0.{self._mark('piece', piece)}\0"
                if piece.kind == "divide":
                    yield Item("start", mark, tag="divide")
                else:
                    yield from kept_items(mark, piece.text)
        if end is not None:
            yield end

    def _mark(self, kind: str, node: object) -> int:
        self.kinds.append(kind)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _own(self, tags: Iterable[str]) -> list[Node]:
        """Return the elements with these tags, also within links, but not in inner paragraphs."""
        paragraph = f"{_W}p"
        nodes = self.element.iter(*tags)
        return [node for node in nodes if next(node.iterancestors(paragraph)) is self.element]

    def take(self, texts: Sequence[str]) -> bool:
        """Take a text for each passage; return True if the paragraph changes."""
        new = joined(self.parts, texts)
        if new == self.original:
            return False
        starts, ends = self._own(_RANGE_STARTS), self._own(_RANGE_ENDS)
        for node in list(self.element):
            if node.tag != f"{_W}pPr":
                self.element.remove(node)
        self.element.extend(starts)
        self._build(new)
        self.element.extend(ends)
        return True

    def _build(self, text: str) -> None:
        """Write a text with marks into the paragraph."""
        around = [self.element]
        formats = [self.properties.get(self.base)]
        for number, part in enumerate(_MARK.split(text)):
            if number % 2 == 0:
                if part:
                    around[-1].append(_run(part, formats[-1]))
                continue
            sign, mark = part[0], int(part[1:])
            node = self.nodes[mark]
            if sign == ".":
                around[-1].extend(node.nodes if node.run is None else [_part_of_run(node)])
            elif self.kinds[mark] == "format":
                formats = [*formats, node] if sign == "<" else formats[:-1]
            elif sign == "<":
                around.append(_emptied_into(around[-1], node))
            else:
                around.pop()


def _pieces(parent: Node) -> Iterator[_Piece]:
    """Yield the pieces of a paragraph, or of an element around some of its runs."""
    field: list[Node] = []  # the runs of a field, which begins and ends by a mark
    depth = 0
    for node in parent:
        if node.tag in (f"{_W}pPr", _SPELLING) or node.tag in _RANGE_STARTS | _RANGE_ENDS:
            continue
        marks = [mark.get(f"{_W}fldCharType") for mark in node.iter(f"{_W}fldChar")]
        depth += marks.count("begin") - marks.count("end")
        if field or marks:
            field.append(node)
            if depth <= 0:
                whole = depth == 0
                text = "".join(t.text or "" for n in field for t in n.iter(f"{_W}t"))
                yield _Piece("kept" if whole else "divide", text if whole else "", "", field)
                field, depth = [], 0
        elif node.tag == f"{_W}r":
            yield from _pieces_of_run(node)
        elif node.tag == f"{_W}fldSimple":
            text = "".join(each.text or "" for each in node.iter(f"{_W}t"))
            yield _Piece("kept", text, "", [node])
        elif node.tag in _AROUND_RUNS and next(node.iter(f"{_W}p"), None) is None:
            content = node.find(_CONTENT)
            yield _Piece("start", "", "", [node])
            yield from _pieces(node if content is None else content)
            yield _Piece("end", "", "", [node])
        else:
            yield _Piece("point", "", "", [node])
    if field:  # it ends in another paragraph
        yield _Piece("divide", "", "", field)


def _pieces_of_run(run: Node) -> Iterator[_Piece]:
    format_ = _format(run)
    for node in run:
        if node.tag == f"{_W}rPr":
            continue
        if node.tag == f"{_W}t":
            if node.text:
                yield _Piece("text", node.text, format_, [node], run)
        elif node.tag == f"{_W}noBreakHyphen":
            yield _Piece("text", "\u2011", format_, [node], run)
        else:
            kind = "divide" if node.tag in _DIVIDING else "point"
            yield _Piece(kind, "", "", [node], run)


def _properties(run: Node) -> Node | None:
    return run.find(f"{_W}rPr")


def _format(run: Node) -> str:
    """Return the format of a run as text, without its language."""
    etree = _etree()
    properties = _properties(run)
    if properties is None:
        return ""
    return "".join(
        etree.tostring(each, method="c14n", with_tail=False).decode()
        for each in properties
        if each.tag not in _NO_FORMAT
    )


def _part_of_run(piece: _Piece) -> Node:
    """Return a run of its own for a part of a run."""
    assert piece.run is not None
    run = _emptied(piece.run)
    if (properties := _properties(piece.run)) is not None:
        run.append(copy.deepcopy(properties))
    run.extend(piece.nodes)
    return run


def _run(text: str, properties: Node | None) -> Node:
    etree = _etree()
    run = etree.Element(f"{_W}r")
    if properties is not None:
        run.append(copy.deepcopy(properties))
    written = etree.SubElement(run, f"{_W}t")
    written.text = text
    written.set(_SPACE, "preserve")
    return run


def _emptied(node: Node) -> Node:
    """Return an element with the attributes of another."""
    etree = _etree()
    return etree.Element(node.tag, dict(node.attrib), node.nsmap)


def _emptied_into(parent: Node, node: Node) -> Node:
    """Append an element around runs, without them; return the element that will hold the runs."""
    copied = _emptied(node)
    parent.append(copied)
    content = node.find(_CONTENT)
    if content is None:
        return copied
    copied.extend([each for each in node if each is not content])
    copied.append(_emptied(content))
    return copied[-1]
