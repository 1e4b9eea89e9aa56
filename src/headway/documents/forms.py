"""The forms of documents, and how each is read and written."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import PurePath
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

from headway.documents.catalogue import charset_of_catalogue, parts_of_catalogue
from headway.documents.document import Parts, joined, passages_of
from headway.documents.encoding import Encoded, decoded
from headway.documents.html import parts_of_html
from headway.documents.markdown import parts_of_markdown
from headway.documents.passage import Passage
from headway.documents.plain import parts_of_text
from headway.documents.steps import Answers, Wishes, translating
from headway.documents.subtitles import parts_of_subtitles
from headway.documents.units import Split
from headway.documents.word import WordDocument
from headway.errors import ConfigError

Form = Literal["text", "html", "srt", "po", "md", "docx"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The forms that documents are translated in."""

_ENDINGS: dict[str, Form] = {
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".srt": "srt",
    ".po": "po",
    ".pot": "po",
    ".md": "md",
    ".markdown": "md",
    ".docx": "docx",
}
_READERS: dict[Form, Callable[[str], Parts]] = {
    "text": parts_of_text, "html": parts_of_html, "srt": parts_of_subtitles,
    "po": parts_of_catalogue,
    "md": parts_of_markdown,
}  # fmt: skip

Content = TypeVar("Content")


class Finished(NamedTuple, Generic[Content]):
    """A translated document."""

    content: Content
    flags: Mapping[str, int]
    """The number of sentences with each reason to doubt them (`headway.documents.steps`)."""
    sentences: int
    """The number of sentences, or groups of them, that were translated."""


Steps = Generator[Wishes, Answers, Finished[Content]]
"""Asks for translations, takes the answers, and returns the document at the end."""


def form_of(name: str) -> Form | None:
    """Return the form that the ending of a name means; None if it means none of them.

    >>> form_of("index.HTML"), form_of("notes")
    ('html', None)
    """
    return _ENDINGS.get(PurePath(name).suffix.lower())


def endings() -> list[str]:
    """Return the endings of the names of files that can be translated."""
    return list(_ENDINGS)


def check_form(name: str) -> Form:
    """Return the name of a form; ConfigError for one that does not exist."""
    for form in FORMS:
        if name == form:
            return form
    raise ConfigError(f"There is no format '{name}'.", f"The formats are {', '.join(FORMS)}.")


def steps_of_text(
    text: str, form: Form, split: Split, *, keep: Sequence[str] = (), capitals: bool = True
) -> Steps[str]:
    """Translate a document that is text; see `translating` for the arguments and the rounds."""
    if form == "docx":
        raise ConfigError("A docx is bytes, but this is text.", "Give the content of its file.")
    parts = _READERS[form](text)
    translated = yield from translating(passages_of(parts), split, keep=keep, capitals=capitals)
    return Finished(joined(parts, translated.texts), translated.flags, translated.sentences)


def steps_of_file(
    data: bytes, form: Form, split: Split, *, keep: Sequence[str] = (), capitals: bool = True
) -> Steps[bytes]:
    """Translate the content of a file; see `translating` for the arguments and the rounds.

    Raises DataError, before the first wish, for content that is not of this form.
    """
    document = _opened(data, form)
    translated = yield from translating(document.passages, split, keep=keep, capitals=capitals)
    content = document.content(translated.texts)
    return Finished(content, translated.flags, translated.sentences)


class _Opened(NamedTuple):
    """The content of a file."""

    passages: list[Passage]
    content: Callable[[Sequence[str]], bytes]
    """Returns the content with a text in place of each passage."""


def _opened(data: bytes, form: Form) -> _Opened:
    if form == "docx":
        document = WordDocument(data)
        return _Opened(document.passages, document.content)
    charset = charset_of_catalogue(data) if form == "po" else ""
    encoded: Encoded = decoded(data, is_html=form == "html", charset=charset)
    parts = _READERS[form](encoded.text)
    return _Opened(passages_of(parts), lambda texts: encoded.encode(joined(parts, texts)))
