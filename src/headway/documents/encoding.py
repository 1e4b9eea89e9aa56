"""The encoding of a file of text, which its translation keeps."""

import codecs
import re
from typing import NamedTuple

from headway.errors import DataError

_MARKS = {  # the longer ones first, because one begins like another
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_CHARSET = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_.:\-]+)", re.IGNORECASE)
_LOOKED_AT = 1024  # bytes, as in the standard of HTML


class Encoded(NamedTuple):
    """A text, and how it is written."""

    text: str
    mark: bytes
    """The byte order mark before it; empty without one."""
    codec: str
    is_html: bool

    def encode(self, text: str) -> bytes:
        """Return another text, written alike; DataError if this encoding cannot write it.

        A page refers to characters that its encoding lacks, as in `&#44608;`.
        """
        try:
            errors = "xmlcharrefreplace" if self.is_html else "strict"
            return self.mark + text.encode(self.codec, errors)
        except UnicodeEncodeError as error:
            letter = text[error.start]
            raise DataError(
                f"The encoding {self.codec} of the file has no {letter!r}, which the translation "
                "needs.",
                "Save the file in UTF-8.",
            ) from None


def decoded(data: bytes, *, is_html: bool = False, charset: str = "") -> Encoded:
    """Return the text of a file; DataError if it has another encoding than it says.

    It is UTF-8, or what a byte order mark, the page or `charset` names.
    """
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    codec = _MARKS.get(mark) or charset or "utf-8"
    named = _CHARSET.search(data[:_LOOKED_AT]) if is_html and not mark else None
    try:
        if named is not None:
            codec = codecs.lookup(named[1].decode()).name
        text = data[len(mark) :].decode(codec)
        if text.encode(codec) != data[len(mark) :]:
            raise UnicodeError
    except LookupError:
        unknown = named[1].decode() if named else codec
        raise DataError(
            f"The file says that its encoding is {unknown}, which is unknown.", "Save it in UTF-8."
        ) from None
    except UnicodeError:
        raise DataError(f"The file is not text in {codec.upper()}.", "Save it in UTF-8.") from None
    return Encoded(text, mark, codec, is_html)
