"""Translation memories are read by language, without their markup, and safely."""

import tracemalloc
from pathlib import Path

import pytest

from headway.data.corpus import read_pairs, read_sentences
from headway.data.tmx import tmx_languages, tmx_pairs
from headway.errors import DataError

HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    '<tmx version="1.4"><header srclang="en-US" datatype="plaintext"/><body>\n'
)


def memory(*units: dict[str, str], head: str = HEAD, attribute: str = "xml:lang") -> str:
    body = "".join(
        "<tu>"
        + "".join(f'<tuv {attribute}="{k}"><seg>{v}</seg></tuv>' for k, v in unit.items())
        + "</tu>\n"
        for unit in units
    )
    return f"{head}{body}</body></tmx>\n"


def pairs(path: Path, text: str | bytes, languages=("en", "af")) -> list[tuple[str, str]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(tmx_pairs(path, languages))


def test_units_are_pairs_of_the_two_languages(tmp_path: Path) -> None:
    text = memory(
        {"en-US": "Yes &amp; no", "af-ZA": "Ja en nee"}, {"af-ZA": "Hallo", "en-US": "Hello"}
    )
    path = tmp_path / "x.tmx"
    assert pairs(path, text) == [("Yes & no", "Ja en nee"), ("Hello", "Hallo")]
    assert pairs(path, text, ("Afrikaans", "en-us")) == [
        ("Ja en nee", "Yes & no"),
        ("Hallo", "Hello"),
    ]
    assert read_pairs(path, languages=("af", "en"))[1] == ("Hallo", "Hello")


def test_a_language_that_a_unit_lacks_is_an_empty_text(tmp_path: Path) -> None:
    text = memory({"en": "a", "af": "b"}, {"en": "c", "de": "d"}, {"de": "e"}, {"af": "f"})
    assert pairs(tmp_path / "x.tmx", text) == [("a", "b"), ("c", ""), ("", "f")]


def test_the_code_itself_goes_before_one_with_a_region(tmp_path: Path) -> None:
    text = memory({"en-GB": "colour", "en": "hue", "en-US": "color", "af": "kleur"})
    path = tmp_path / "x.tmx"
    assert pairs(path, text) == [("hue", "kleur")]
    assert pairs(path, text, ("en-US", "af")) == [("color", "kleur")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('Click <bpt i="1">&lt;b&gt;</bpt>here<ept i="1">&lt;/b&gt;</ept>.', "Click here."),
        ('un<bpt i="1">&lt;i&gt;</bpt>believ<ept i="1"/>able', "unbelievable"),
        ("one<ph>&lt;br/&gt;</ph>two", "one two"),
        ("one<ph/> two<it/>, <ut>x</ut>three", "one two, three"),
        ("<hi>strong <ph>x</ph>text</hi> here", "strong text here"),
        ('a <ph>&lt;img alt="<sub>hidden</sub>"&gt;</ph>b', "a b"),
        ("\n      a\n      b\n    ", "a b"),
    ],
)
def test_markup_is_left_out(tmp_path: Path, segment: str, text: str) -> None:
    assert pairs(tmp_path / "x.tmx", memory({"en": segment, "af": "y"})) == [(text, "y")]


def test_other_forms_of_the_file(tmp_path: Path) -> None:
    unit = {"EN": "né", "AF": "b"}
    path = tmp_path / "x.tmx"
    assert pairs(path, memory(unit, attribute="lang")) == [("né", "b")]
    spaced = HEAD.replace("<tmx", '<tmx xmlns="http://www.lisa.org/tmx14"')
    assert pairs(path, memory(unit, head=spaced)) == [("né", "b")]
    assert pairs(path, memory(unit).replace("utf-8", "utf-16").encode("utf-16")) == [("né", "b")]
    assert pairs(path, b"\xef\xbb\xbf" + memory(unit).encode()) == [("né", "b")]


def test_languages_that_are_not_there_are_answered_with_those_that_are(tmp_path: Path) -> None:
    text = memory({"en-US": "a", "af-ZA": "b"}, {"en-US": "c", "de": "d"})
    with pytest.raises(DataError) as error:
        pairs(tmp_path / "x.tmx", text, ("source", "target"))
    assert "en-US (2), af-ZA (1), de (1), and not both of source and target" in str(error.value)
    assert "data.source_language=en-US --set data.target_language=af-ZA" in error.value.remedy
    with pytest.raises(DataError, match="not both of en and fr"):
        pairs(tmp_path / "x.tmx", text, ("en", "fr"))


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["ko", "en-US"], ("ko", "en-US")),
        (["zh-CN", "zh-TW"], ("zh-CN", "zh-TW")),
        (["en-US", "af", "en-GB"], ("en", "af")),
        (["en", "af", "de"], None),
        (["en"], None),
        (["en", ""], None),
    ],
)
def test_a_memory_of_two_languages_names_them(tmp_path: Path, codes, expected) -> None:
    path = tmp_path / "x.tmx"
    path.write_text(memory(*({codes[0]: "a", code: "b"} for code in codes)))
    assert tmx_languages(path) == expected


BOMB = (
    '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><tmx><body>'
)
OUTSIDE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/hostname">]><tmx><body>'


@pytest.mark.parametrize("head", [BOMB, OUTSIDE])
def test_entities_are_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(DataError, match="declares entities"):
        pairs(tmp_path / "x.tmx", memory({"en": "&a;", "af": "b"}, head=head))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (memory({"en": "a", "af": "b"})[:-20], "is not whole XML"),
        ("no XML", "is not whole XML"),
        (memory({"en": "&nbsp;", "af": "b"}), "is not whole XML"),
        (memory(), "no translation unit"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pairs(tmp_path / "x.tmx", text)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tmx"
    peaks = []
    for count in (100, 2000):
        path.write_text(memory(*[{"en": "a" * 50, "af": "b" * 50}] * count))
        tracemalloc.start()
        assert sum(1 for _ in tmx_pairs(path, ("en", "af"))) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000


def test_it_is_no_text_with_a_sentence_a_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds records"):
        read_sentences(tmp_path / "x.tmx")
