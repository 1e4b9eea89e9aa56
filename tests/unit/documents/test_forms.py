"""Formats have names, endings, and libraries that an extra installs."""

import sys

import pytest
from tests.unit.documents.fake import finish, same, split

from headway.documents import FORMS, Form, check_form, form_of, steps_of_file
from headway.errors import ConfigError, MissingExtraError


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.txt", "text"), ("a.b.HTM", "html"), ("x/page.html", "html"), ("film.srt", "srt"),
        ("de.po", "po"), ("all.pot", "po"), ("README.md", "md"), ("letter.docx", "docx"),
        ("a.pdf", None), ("html", None),
    ],
)  # fmt: skip
def test_an_ending_means_a_format(name: str, form: Form | None) -> None:
    assert form_of(name) == form


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    assert [check_form(form) for form in FORMS] == list(FORMS)
    with pytest.raises(ConfigError, match="text, html, srt, po, md, docx"):
        check_form("pdf")


@pytest.mark.parametrize(
    ("form", "library", "data"),
    [
        ("html", "turbohtml", b"<p>a"),
        ("po", "polib", b'msgid "a"\nmsgstr ""\n'),
        ("md", "markdown_it", b"a"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, form: Form, library: str, data: bytes
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[documents\]'"):
        finish(steps_of_file(data, form, split), same)
