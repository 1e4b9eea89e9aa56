"""Documents of real projects through translators that change text in a known way.

    PYTHONPATH=. python benchmarks/documents_of_projects.py FOLDER... [--formats docx md]

Every file of these folders whose ending names a format is translated into itself, into capitals,
and with its words in the opposite order. The first gives the same bytes; the others keep the
structure and what must be kept, and capitals twice give what they gave once. Needs python-docx.
"""

import argparse
import contextlib
import io
import itertools
import re
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.unit.documents.fake import ALL, finish, split

from headway.documents import FORMS, Form, form_of, steps_of_file
from headway.documents.kept import kept_spans
from headway.errors import HeadwayError

Structure = Callable[[bytes], Any]
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_NO_FORMAT = (f"{W}lang", f"{W}noProof")
_SHOWN = {
    f"{W}t": "",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}tab": "\t",
    f"{W}noBreakHyphen": "\u2011",
}
_INLINE = (
    "a abbr b bdi bdo big cite code del dfn em font i img ins kbd label mark math nobr q ruby s "
    "samp script small span strike strong style sub sup svg template time tt u var wbr"
)
_VOID = "area base br col embed hr img input link meta param source track wbr"
_RUNS = {f"{W}{name}" for name in ("r", "t", "rPr", "proofErr", "noBreakHyphen")}


def of_text(data: bytes) -> Any:
    """The lines without a letter."""
    lines = data.decode("utf-8", "replace").split("\n")
    return [None if any(map(str.isalpha, line)) else line for line in lines]


def of_html(data: bytes) -> Any:
    """Tags and comments, how often each is within which, and blocks in their order."""
    from turbohtml import TokenType, tokenize

    inline = set(_INLINE.split())
    void = set(_VOID.split())
    open_: list[str] = []
    within: Counter[tuple[str, str]] = Counter()
    blocks: list[str] = []
    text = data.decode("utf-8", "replace")
    for token in tokenize(text, resolve_references=False, capture_source=True):
        if token.type not in (TokenType.START_TAG, TokenType.END_TAG, TokenType.COMMENT):
            continue
        source, tag = str(token.source), str(token.tag)
        within[(open_[-1] if open_ else "", source)] += token.type != TokenType.END_TAG
        if token.type != TokenType.COMMENT and tag not in inline:
            blocks.append(source)
        if token.type == TokenType.START_TAG and tag not in void and not token.self_closing:
            open_.append(tag)
        elif token.type == TokenType.END_TAG and tag in open_:
            while open_.pop() != tag:
                pass
    return within, blocks


def of_markdown(data: bytes) -> Any:
    """Blocks in their order with code, and the elements in the text of all blocks."""
    from markdown_it import MarkdownIt

    blocks = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(data.decode())
    inner = [child for block in blocks for child in block.children or []]
    plain = ("text", "softbreak", "html_inline")
    kept = Counter(
        (child.type, str(child.attrs), child.content if child.type == "code_inline" else "")
        for child in inner
        if child.type not in plain
    )
    code = ("fence", "code_block")
    return [(b.type, b.tag, b.content if b.type in code else "") for b in blocks], kept


def of_catalogue(data: bytes) -> Any:
    """All entries but their translations."""
    import polib

    return [
        (entry.msgid, entry.msgid_plural, entry.msgctxt, entry.flags, entry.occurrences)
        for entry in polib.pofile(data.decode())
    ]


def of_subtitles(data: bytes) -> Any:
    """The lines with times, and the number of lines."""
    return re.findall(rb"(?m)^.*-->.*$", data), data.count(b"\n")


def of_word(data: bytes) -> Any:
    """All parts; of those with text the blocks, and for each paragraph what is not a run.

    Also the formats of its runs, and what python-docx finds, if it can open the document.
    """
    from docx import Document

    archive = zipfile.ZipFile(io.BytesIO(data))
    trees = _trees(data)
    parts = [
        (name, _outside(trees[name]), [_inside(p) for p in trees[name].iter(f"{W}p")])
        if name in trees
        else (name, archive.read(name))
        for name in archive.namelist()
    ]
    try:
        opened = Document(io.BytesIO(data))
    except Exception as error:
        return parts, str(error)
    found = [len(opened.paragraphs), len(opened.tables), len(opened.sections)]
    return parts, found, [len(list(paragraph.hyperlinks)) for paragraph in opened.paragraphs]


def _trees(data: bytes) -> dict[str, Any]:
    """Return the parts of a Word document that have paragraphs."""
    from lxml import etree

    archive = zipfile.ZipFile(io.BytesIO(data))
    names = [name for name in archive.namelist() if re.fullmatch(r"word/\w+\.xml", name)]
    found: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(etree.XMLSyntaxError):  # a part that only has the name
            found[name] = etree.fromstring(archive.read(name))
    return {name: tree for name, tree in found.items() if tree.find(f".//{W}p") is not None}


def _outside(root: Any) -> list[tuple[str, str]]:
    """Return the elements outside paragraphs, in their order."""
    return [
        (node.tag, str(dict(node.attrib)))
        for node in root.iter("*")
        if next(node.iterancestors(f"{W}p"), None) is None
    ]


def _inside(paragraph: Any) -> Any:
    """Return the elements of a paragraph but its runs, each with its parent, and the formats.

    A range of a bookmark or a comment may begin and end elsewhere in the paragraph.
    """
    from lxml import etree

    own: Counter[Any] = Counter()
    formats: set[bytes] = set()
    for node in paragraph.iterdescendants("*"):
        if node.tag == f"{W}r" and (node.findtext(f"{W}t") or "").strip():
            properties = node.find(f"{W}rPr")
            kept = [
                n for n in (() if properties is None else properties) if n.tag not in _NO_FORMAT
            ]
            formats.add(b"".join(etree.tostring(n, method="c14n") for n in kept))
        if node.tag in _RUNS or any(a.tag == f"{W}rPr" for a in node.iterancestors()):
            continue
        around = [ancestor.tag for ancestor in node.iterancestors() if ancestor.tag not in _RUNS]
        within = "" if node.tag.endswith(("Start", "End")) else around[0]
        own[(within, node.tag, str(dict(node.attrib)), (node.text or "").strip())] += 1
    return own, formats


STRUCTURES: dict[Form, Structure] = {
    "text": of_text, "html": of_html, "md": of_markdown, "po": of_catalogue, "srt": of_subtitles,
    "docx": of_word,
}  # fmt: skip


def texts_of(data: bytes, form: Form) -> list[str]:
    """Return the texts of a document: for Word those of its paragraphs, without inner ones."""
    if form != "docx":
        return [data.decode("utf-8", "replace")]
    paragraphs = [p for tree in _trees(data).values() for p in tree.iter(f"{W}p")]
    return ["".join(_shown(p, node) for node in p.iter(*_SHOWN)) for p in paragraphs]


def _shown(paragraph: Any, node: Any) -> str:
    if next(node.iterancestors(f"{W}p")) is not paragraph:
        return ""
    return node.text or "" if node.tag == f"{W}t" else _SHOWN[node.tag]


def kept(data: bytes, form: Form) -> Counter[str]:
    """Return the addresses and placeholders of a document, however often each occurs."""
    texts = texts_of(data, form)
    return Counter(text[slice(*span)] for text in texts for span in kept_spans(text))


def in_capitals(data: bytes, form: Form) -> list[str]:
    """Return the texts in capitals, without spaces."""
    return ["".join(text.upper().split()) for text in texts_of(data, form)]


def problems(data: bytes, form: Form) -> Iterator[str]:
    """Yield what is wrong with the translations of a document."""

    def translated(content: bytes, name: str) -> bytes:
        return finish(steps_of_file(content, form, split), ALL[name])[0].content

    structure = STRUCTURES[form]
    if translated(data, "same") != data:
        yield "the same words give other bytes"
    old, old_kept = structure(data), kept(data, form)
    for name in ("upper", "upper_unaligned", "reverse"):
        new = translated(data, name)
        if structure(new) != old:
            yield f"{name}: another structure"
        if form in ("text", "docx", "srt") and kept(new, form) != old_kept:
            yield f"{name}: other addresses or placeholders"
        in_order = name == "upper" and form in ("text", "docx", "srt")
        if in_order and in_capitals(new, form) != in_capitals(data, form):
            yield f"{name}: other words"
        if name != "reverse" and translated(new, name) != new:
            yield f"{name}: twice gives something else"


def main() -> None:
    """Print the counts for each format, and each problem with its file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--formats", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--most-bytes", type=int, default=1_000_000)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: dict[str, Counter[str]] = {form: Counter() for form in chosen.formats}
    begun = time.perf_counter()
    found = itertools.chain.from_iterable(folder.rglob("*") for folder in chosen.folders)
    for path in sorted(set(found)):
        form = form_of(path.name)
        if form not in counts or not path.is_file():
            continue
        data, count = path.read_bytes(), counts[form]
        if len(data) > chosen.most_bytes:
            count["larger"] += 1
            continue
        try:
            result, _ = finish(steps_of_file(data, form, split), ALL["upper"])
        except HeadwayError as error:
            count["refused"] += 1
            print(f"refused: {path}: {error}")
            continue
        count["files"] += 1
        count["bytes"] += len(data)
        count["sentences"] += result.sentences
        try:
            wrong = list(problems(data, form))
        except Exception as error:  # of the program that reads the structure, or of ours
            wrong = [f"{type(error).__name__}: {error}"]
        count["with problems"] += bool(wrong)
        for problem in wrong:
            print(f"{path}: {problem}")
    for form, count in counts.items():
        print(form, dict(count))
    print(f"{time.perf_counter() - begun:,.0f} seconds")


if __name__ == "__main__":
    main()
