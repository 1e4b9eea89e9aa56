"""Message catalogues: empty translations are filled, and nothing else changes."""

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.documents.fake import ALL, finish, same, split, upper

from headway.documents import steps_of_file, steps_of_text
from headway.documents.kept import kept_spans
from headway.errors import DataError

PO = r"""# A translator's comment.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=n%10;\n"

#: a.py:3
#, python-format
msgid "Open the \"%(name)s\" file\tnow"
msgstr ""

#, fuzzy
msgid "Close it"
msgstr ""

msgctxt "menu"
msgid "Saved"
msgstr "Gespeichert"

#. Long.
#| msgid "old"
msgid ""
"First line with <b>bold</b>\n"
"\n"
" second {line}.\n"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

#~ msgid "gone"
#~ msgstr ""
"""


def translated(text: str, translate: object = upper) -> str:
    return finish(steps_of_text(text, "po", split), translate)[0].content  # type: ignore[arg-type]


def test_only_empty_translations_are_filled() -> None:
    text = translated(PO)
    entries = {entry.msgid: entry for entry in polib.pofile(text)}
    assert entries['Open the "%(name)s" file\tnow'].msgstr == 'OPEN THE "%(name)s" FILE NOW'
    assert entries["Close it"].msgstr == ""
    assert entries["Saved"].msgstr == "Gespeichert"
    long = entries["First line with <b>bold</b>\n\n second {line}.\n"]
    assert long.msgstr == "FIRST LINE WITH <b>BOLD</b>\n\n SECOND {line}.\n"
    assert entries["%d file"].msgstr_plural == {0: "%d FILE", 1: "%d FILES", 2: "%d FILES"}
    old, new = (
        [line for line in each.splitlines() if not line.startswith("msgstr")] for each in (PO, text)
    )
    assert [line for line in new if line in old] == old


def test_twice_through_gives_the_same() -> None:
    once = translated(PO)
    finished, wishes = finish(steps_of_text(once, "po", split), upper)
    assert (finished.content, wishes) == (once, [])


def test_messages_that_stay_are_copied_exactly() -> None:
    for entry in polib.pofile(translated(PO, same)):
        if not entry.obsolete and not entry.fuzzy and entry.msgid != "Saved":
            assert entry.msgstr in (entry.msgid, "")


def test_line_ends_of_windows_and_an_old_encoding_stay() -> None:
    data = (
        'msgid ""\r\nmsgstr ""\r\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\r\n\r\n'
        'msgid "caf\xe9 one"\r\nmsgstr ""\r\n'
    ).encode("latin-1")
    content = finish(steps_of_file(data, "po", split), upper)[0].content
    assert content == data[:-4] + '"CAF\xc9 ONE"\r\n'.encode("latin-1")


@pytest.mark.parametrize("text", ["", "Hello.\n", "/etc/passwd", "msgid a\n\n"])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a message catalogue"):
        translated(text)


messages = st.lists(
    st.sampled_from(
        ["one", "Two.", "%s", "{x}", "<b>", "</b>", "\n", "\\", '"', "&amp;", "가", " "]
    ),
    min_size=1,
    max_size=8,
).map("".join)


@given(st.lists(messages, unique=True, min_size=1, max_size=5), st.sampled_from(sorted(ALL)))
@settings(deadline=None)
def test_any_catalogue_stays_readable_and_keeps_its_placeholders(
    texts: list[str], name: str
) -> None:
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    catalogue.extend(polib.POEntry(msgid=text) for text in texts)
    result = polib.pofile(translated(str(catalogue), ALL[name]))
    assert [entry.msgid for entry in result] == texts
    for entry in result:
        assert entry.msgstr.count("\n") == entry.msgid.count("\n")
        if name != "other":
            old, new = (
                sorted(text[a:b] for a, b in kept_spans(text))
                for text in (entry.msgid, entry.msgstr)
            )
            assert name == "twice" or old == new
        if name == "same":
            assert entry.msgstr == entry.msgid


@pytest.mark.parametrize("line", ['msgid "A dog', "msgid A dog", "A dog", '"A "dog"'])
def test_a_line_that_is_no_line_of_a_catalogue_is_refused(line: str) -> None:
    """polib reads a text without an end, and its last letter was lost."""
    with pytest.raises(DataError, match="not a message catalogue"):
        translated(f'{line}\nmsgstr ""\n', upper)
