"""Documents of Word: formats, links and all parts of the archive stay."""

import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.unit.documents.fake import ALL, finish, reverse, same, split, upper

from headway.documents import steps_of_file, steps_of_text
from headway.errors import ConfigError, DataError

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BOLD = "<w:rPr><w:b/></w:rPr>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr>{"".join(runs)}</w:p>'


def document(*paragraphs: str, declaration: str = "", **parts: str) -> bytes:
    body = f'{declaration}<w:document xmlns:w="{W}" xmlns:v="urn:v"><w:body>{"".join(paragraphs)}'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", "<w:styles/> not read")
        archive.writestr("word/media/image1.png", bytes(range(256)))
        for name, text in parts.items():
            archive.writestr(f"word/{name}.xml", f'<w:hdr xmlns:w="{W}">{text}</w:hdr>')
    return file.getvalue()


def translated(data: bytes, translate: object = upper) -> bytes:
    return finish(steps_of_file(data, "docx", split), translate)[0].content  # type: ignore[arg-type]


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def texts(data: bytes, name: str = "word/document.xml") -> list[list[tuple[str, str]]]:
    """Return for each paragraph its texts, each with the names of its formats and of its links."""
    root = etree.fromstring(parts(data)[name])
    around = "ancestor::w:hyperlink | parent::w:r/w:rPr/*"
    return [
        [
            (
                text.text,
                " ".join(
                    etree.QName(node).localname for node in text.xpath(around, namespaces={"w": W})
                ),
            )
            for text in each.iter(f"{{{W}}}t")
        ]
        for each in root.iter(f"{{{W}}}p")
    ]


SIMPLE = document(
    paragraph(run("Hello "), run("big ", BOLD), run("wor", BOLD), run("ld. It "), run("is {x}.")),
    paragraph(
        run("See "), f'<w:hyperlink v:id="1">{run("this", BOLD)}</w:hyperlink>', run(" link.")
    ),
    paragraph(run("42")),
    header1=paragraph(run("A header")),
)


def test_a_document_that_is_translated_into_itself_is_the_same() -> None:
    assert translated(SIMPLE, same) == SIMPLE


def test_formats_and_links_follow_their_words() -> None:
    data = translated(SIMPLE)
    assert texts(data) == [
        [("HELLO ", ""), ("BIG WOR", "b"), ("LD. IT IS {x}.", "")],
        [("SEE ", ""), ("THIS", "hyperlink b"), (" LINK.", "")],
        [("42", "")],
    ]
    assert texts(data, "word/header1.xml") == [[("A HEADER", "")]]
    assert texts(translated(SIMPLE, reverse))[1] == [
        ("link. ", ""), ("this", "hyperlink b"), (" See", ""),
    ]  # fmt: skip


def test_all_else_stays() -> None:
    old, new = parts(SIMPLE), parts(translated(SIMPLE))
    assert list(old) == list(new)
    for name in ("[Content_Types].xml", "word/styles.xml", "word/media/image1.png"):
        assert old[name] == new[name]
    assert new["word/document.xml"].count(b'<w:pStyle w:val="a"/>') == 3
    assert b'<w:hyperlink v:id="1">' in new["word/document.xml"]


def test_twice_through_gives_the_same() -> None:
    once = translated(SIMPLE)
    assert translated(once) == once


FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("seven")
    + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)  # fmt: skip


def test_fields_drawings_and_ranges_stay_whole() -> None:
    inner = paragraph(run("In a box"))
    data = document(
        paragraph(
            '<w:bookmarkStart w:id="1"/>', run("On page "), FIELD, run(" there"),
            f"<w:r>{BOLD}<w:drawing>{inner}</w:drawing></w:r>", run("is one."),
            '<w:bookmarkEnd w:id="1"/>',
        ),
        paragraph(run("Name"), "<w:r><w:tab/><w:t>Value of it</w:t><w:br/></w:r>", run("End")),
        paragraph('<w:r><w:fldChar w:fldCharType="begin"/></w:r>', run("left alone")),
    )  # fmt: skip
    new = parts(translated(data))["word/document.xml"].decode()
    assert new.count(FIELD) == 1
    assert "IN A BOX" in new
    assert "PAGE </w:t></w:r><w:r><w:fldChar" in new
    assert new.index("bookmarkStart") < new.index("ON PAGE") < new.index("bookmarkEnd")
    assert texts(translated(data))[-2] == [("NAME", ""), ("VALUE OF IT", ""), ("END", "")]
    assert (
        new.index("NAME") < new.index("<w:tab/>") < new.index("VALUE OF IT") < new.index("<w:br/>")
    )
    assert "left alone" in new


def test_ranges_within_links_and_insertions_keep_both_ends() -> None:
    data = document(
        paragraph(
            run("See "),
            f'<w:hyperlink w:anchor="a"><w:bookmarkStart w:id="1"/>{run("this page")}'
            '<w:bookmarkEnd w:id="1"/></w:hyperlink>',
            f'<w:ins w:id="7"><w:commentRangeStart w:id="2"/>{run(" now")}</w:ins>',
            '<w:commentRangeEnd w:id="2"/>',
        ),
    )
    new = parts(translated(data))["word/document.xml"].decode()
    for name in ("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd"):
        assert new.count(f"<w:{name} ") == 1
    assert "SEE" in new


def test_content_controls_are_translated() -> None:
    choice = f"<w:sdtContent>{run('a choice')}</w:sdtContent>"
    control = f'<w:sdt><w:sdtPr><w:id w:val="3"/></w:sdtPr>{choice}</w:sdt>'
    new = parts(translated(document(paragraph(run("Make "), control, run(" now")))))
    assert control.replace("a choice", "A CHOICE").encode() in new["word/document.xml"]


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>'


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not an archive"),
        (b"PK\x03\x04 and so on", "not an archive"),
        (document(paragraph(run("x")), declaration=BOMB), "document type"),
        (document("<w:p>"), "not XML"),
        (SIMPLE[:40] + bytes([SIMPLE[40] ^ 255]) + SIMPLE[41:], "cannot be read"),
    ],
)
def test_unsafe_and_damaged_files_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        translated(data)


def test_an_archive_without_a_document_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(DataError, match=r"no word/document\.xml"):
        translated(file.getvalue())


def test_a_bomb_is_refused_before_it_is_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.documents.word._MOST_BYTES", 1 << 20)
    file = io.BytesIO(SIMPLE)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/bomb.bin", bytes(2 << 20))
    with pytest.raises(DataError, match="more than 1 MB"):
        translated(file.getvalue())


def test_text_is_no_docx() -> None:
    with pytest.raises(ConfigError, match="bytes"):
        finish(steps_of_text("x", "docx", split), same)


@pytest.mark.parametrize("name", ["upper", "upper_unaligned", "reverse"])
def test_the_format_of_a_space_is_not_given_to_a_word(name: str) -> None:
    big = '<w:rPr><w:sz w:val="40"/></w:rPr>'
    data = document(paragraph(run("one"), run(" ", BOLD), run("two"), run(" ", big), run("three")))
    ((text, _),) = texts(translated(data, ALL[name]))[0]
    assert text.lower() in ("one two three", "three two one")


def test_a_line_to_write_on_stays() -> None:
    line = "<w:rPr><w:u/></w:rPr>"
    runs = run("Name:"), run("      ", line), run("Date:"), run("  \xa0 ", line)
    data = document(paragraph(*runs))
    assert translated(data, same) == data
    assert texts(translated(data)) == [
        [("NAME:", ""), ("      ", "u"), (" DATE:", ""), ("  \xa0 ", "u")]
    ]
    assert translated(translated(data)) == translated(data)


def _renamed(data: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts(data).items():
            archive.writestr(*change(name, content))
    return file.getvalue()


def test_the_main_part_may_have_a_number() -> None:
    """As Word on the web writes it."""
    moved = "word/document2.xml"
    data = _renamed(
        SIMPLE, lambda name, content: (name.replace("word/document.xml", moved), content)
    )
    assert texts(translated(data), moved)[0][0] == ("HELLO ", "")


def test_the_strict_form_is_refused() -> None:
    """Its names are others, so that nothing would be translated."""
    strict = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
    data = _renamed(SIMPLE, lambda name, content: (name, content.replace(W.encode(), strict)))
    with pytest.raises(DataError, match=r"Strict Open XML"):
        translated(data)


def test_a_password_is_said() -> None:
    with pytest.raises(DataError, match="it has a password, or is in the older format"):
        translated(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504))


pieces = st.lists(
    st.sampled_from([
        run("one "), run("Two. ", BOLD), run("tree", "<w:rPr><w:i/></w:rPr>"), run(" &amp; {x} "),
        f'<w:hyperlink v:id="1">{run("link ")}{run("bold", BOLD)}</w:hyperlink>', FIELD,
        "<w:r><w:tab/></w:r>", '<w:r><w:footnoteReference w:id="2"/></w:r>', run("가나 "),
        '<w:proofErr w:type="a"/>', '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    ]),
    max_size=6,
)  # fmt: skip


@given(st.lists(pieces, min_size=1, max_size=3), st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_any_paragraph_keeps_what_is_no_text(paragraphs: list[list[str]], name: str) -> None:
    data = document(*(paragraph(*each) for each in paragraphs))
    new = translated(data, ALL[name])
    old_xml, new_xml = (parts(each)["word/document.xml"].decode() for each in (data, new))
    for tag in ("w:hyperlink", "w:tab/", "footnoteReference", "fldChar", "w:pStyle", "instrText"):
        assert new_xml.count(f"<w:{tag.removeprefix('w:')}") == old_xml.count(
            f"<w:{tag.removeprefix('w:')}"
        )
    if name == "same":
        assert new == data
    else:
        assert len(texts(new)) == len(texts(data))
