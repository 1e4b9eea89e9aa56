"""The language of messages and figures: English or Korean."""

from collections.abc import Mapping

from headway.errors import ConfigError, suggest

LANGUAGES = ("en", "ko")

Words = str | Mapping[str, str]
"""Text that is the same in both languages, or one text for each: {"en": …, "ko": …}."""

_spoken = LANGUAGES[0]


def speak(language: str) -> None:
    """Choose the language of messages and figures: "en" or "ko".

    The choice holds for the whole process. Raises ConfigError for another language.
    """
    global _spoken
    if language not in LANGUAGES:
        raise ConfigError(f"There is no language {language!r}.", suggest(language, LANGUAGES))
    _spoken = language


def spoken() -> str:
    """Return the chosen language."""
    return _spoken


def in_language(words: Words) -> str:
    """Return a text in the chosen language.

    >>> in_language({"en": "query", "ko": "쿼리"})
    'query'
    """
    if isinstance(words, str):
        return words
    check_words(words)
    return words[_spoken]


def check_words(words: Words) -> None:
    """Raise ConfigError if a text lacks one of the languages."""
    if not isinstance(words, str) and set(words) != set(LANGUAGES):
        raise ConfigError(
            f"A text has the languages {', '.join(map(str, words)) or 'none'}.",
            "Give it as {'en': …, 'ko': …}, or as one text for both.",
        )
