"""Detects the language of a text with Lingua, among the languages of the server."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from lingua import IsoCode639_1, Language, LanguageDetectorBuilder

_CHARACTERS = 2000  # at the beginning of a text, which are enough
_MARKUP = re.compile("<[^>]*>|&#?[0-9A-Za-z]{1,32};")
_CODES = {"no": "nb"}  # Lingua has both forms of Norwegian


class Detection(NamedTuple):
    """A language with a confidence in percent."""

    confidence: int
    language: str

    def as_dict(self) -> dict[str, Any]:
        """Return the detection as answers contain it."""
        return {"confidence": self.confidence, "language": self.language}


def detect(text: str, codes: Sequence[str]) -> list[Detection]:
    """Return the languages that the text may be in, best first; none if nothing points to one."""
    languages = {language: code for code in codes if (language := _language(code)) is not None}
    if not has_words(text) or not languages:
        return []
    if len(languages) == 1:
        # With one language to choose from, Lingua would be sure of it for any script.
        return [Detection(100, next(iter(languages.values())))]
    values = _detector(frozenset(languages)).compute_language_confidence_values(text[:_CHARACTERS])
    return [
        Detection(round(100 * value.value), languages[value.language])
        for value in values
        if value.value > 0
    ]


def text_of_html(html: str) -> str:
    """Return roughly the text of HTML, because the names of tags would mislead the detection.

    >>> text_of_html("<p>하나&nbsp;<b>둘</b></p>").split()
    ['하나', '둘']
    """
    return _MARKUP.sub(" ", html)


def has_words(text: str) -> bool:
    """Return True if the text has a letter or a digit to translate."""
    return any(character.isalnum() for character in text)


@lru_cache(64)
def _language(code: str) -> Language | None:
    main = code.partition("-")[0]
    iso = getattr(IsoCode639_1, _CODES.get(main, main).upper(), None)
    return None if iso is None else Language.from_iso_code_639_1(iso)


@lru_cache(16)
def _detector(languages: frozenset[Language]) -> Any:
    return LanguageDetectorBuilder.from_languages(*languages).build()
