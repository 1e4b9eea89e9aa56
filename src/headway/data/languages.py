"""Tells names and codes of languages from other words."""

_SECOND_LETTERS = {
    "a": "abefkmnrsvyz", "b": "aeghimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu",
    "f": "afijory", "g": "adlnuv", "h": "aeiortuyz", "i": "adegikostu", "j": "av",
    "k": "agijklmnorsuvwy", "l": "abginotuv", "m": "ghiklnrsty", "n": "abdeglnorvy", "o": "cjmrs",
    "p": "ailst", "q": "u", "r": "mnouw", "s": "acdegiklmnoqrstuvw", "t": "aeghiklnorstwy",
    "u": "gkrz", "v": "eio", "w": "ao", "x": "h", "y": "io", "z": "ahu",
}  # fmt: skip
_CODES = frozenset(one + other for one, others in _SECOND_LETTERS.items() for other in others)
"""All codes of two letters of ISO 639."""

_NAMES = {
    "afrikaans": "af", "albanian": "sq", "amharic": "am", "arabic": "ar", "armenian": "hy",
    "basque": "eu", "bengali": "bn", "bulgarian": "bg", "catalan": "ca", "chinese": "zh",
    "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
    "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr", "galician": "gl",
    "georgian": "ka", "german": "de", "greek": "el", "hausa": "ha", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "icelandic": "is", "indonesian": "id", "irish": "ga", "italian": "it",
    "japanese": "ja", "korean": "ko", "latin": "la", "latvian": "lv", "lithuanian": "lt",
    "malay": "ms", "mongolian": "mn", "nepali": "ne", "norwegian": "no", "persian": "fa",
    "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr",
    "slovak": "sk", "slovenian": "sl", "somali": "so", "spanish": "es", "swahili": "sw",
    "swedish": "sv", "tamil": "ta", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur",
    "vietnamese": "vi", "welsh": "cy", "xhosa": "xh", "yoruba": "yo", "zulu": "zu",
}  # fmt: skip


def language_code(name: str) -> str:
    """Return a name or code of a language in one form, such as `en` or `en-us`.

    >>> language_code("English"), language_code("en_US"), language_code("my film")
    ('en', 'en-us', 'my film')
    """
    plain = name.strip().casefold()
    return _NAMES.get(plain, plain.replace("_", "-"))


def is_language(text: str) -> bool:
    """Return True for the English name of a language, or its code of two letters.

    A code may have a region or script behind it.
    """
    main, _, region = language_code(text).partition("-")
    return main in _CODES and len(region) <= 4 and (region.isalnum() or not region)


def is_same_language(code: str, wanted: str) -> bool:
    """Return True if a code is of the wanted language: `en-US` is `en`, and `en` is not `en-US`."""
    code, wanted = language_code(code), language_code(wanted)
    return code == wanted or code.partition("-")[0] == wanted
