"""Recognize names and codes of languages."""

_SECOND_LETTERS = {
    "a": "abefkmnrsvyz", "b": "aeghimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu",
    "f": "afijory", "g": "adlnuv", "h": "aeiortuyz", "i": "adegikostu", "j": "av",
    "k": "agijklmnorsuvwy", "l": "abginotuv", "m": "ghiklnrsty", "n": "abdeglnorvy", "o": "cjmrs",
    "p": "ailst", "q": "u", "r": "mnouw", "s": "acdegiklmnoqrstuvw", "t": "aeghiklnorstwy",
    "u": "gkrz", "v": "eio", "w": "ao", "x": "h", "y": "io", "z": "ahu",
}  # fmt: skip
_CODES = frozenset(a + b for a, letters in _SECOND_LETTERS.items() for b in letters)
"""All codes of two letters of ISO 639."""

_WORDS = {
    "af": "afrikaans afr", "am": "amharic amh አማርኛ", "ar": "arabic ara arb العربية",
    "az": "azerbaijani aze", "be": "belarusian bel", "bg": "bulgarian bul български",
    "bn": "bengali ben বাংলা", "bs": "bosnian bos", "ca": "catalan cat català",
    "cs": "czech ces cze čeština", "cy": "welsh cym wel", "da": "danish dan dansk",
    "de": "german deu ger deutsch", "el": "greek ell gre ελληνικά", "en": "english eng",
    "eo": "esperanto epo", "es": "spanish spa español", "et": "estonian est eesti",
    "eu": "basque eus baq", "fa": "persian farsi fas per فارسی", "fi": "finnish fin suomi",
    "fr": "french fra fre français", "ga": "irish gle", "gl": "galician glg",
    "gu": "gujarati guj ગુજરાતી", "ha": "hausa hau", "he": "hebrew heb עברית",
    "hi": "hindi hin हिन्दी", "hr": "croatian hrv hrvatski", "hu": "hungarian hun magyar",
    "hy": "armenian hye arm", "id": "indonesian ind", "is": "icelandic isl ice",
    "it": "italian ita italiano", "ja": "japanese jpn 日本語", "ka": "georgian kat geo",
    "kk": "kazakh kaz", "km": "khmer khm", "kn": "kannada kan", "ko": "korean kor 한국어",
    "la": "latin lat", "lo": "lao", "lt": "lithuanian lit", "lv": "latvian lav",
    "mk": "macedonian mkd mac", "ml": "malayalam mal", "mn": "mongolian mon",
    "mr": "marathi mar", "ms": "malay msa may", "my": "burmese mya bur", "ne": "nepali nep",
    "nl": "dutch nld dut nederlands", "no": "norwegian nor norsk", "pa": "punjabi pan",
    "pl": "polish pol polski", "pt": "portuguese por português",
    "ro": "romanian ron rum română", "ru": "russian rus русский",
    "sk": "slovak slk slo slovenčina", "sl": "slovenian slv slovenščina", "so": "somali som",
    "sq": "albanian sqi alb", "sr": "serbian srp српски", "sv": "swedish swe svenska",
    "sw": "swahili swa", "ta": "tamil tam தமிழ்", "te": "telugu tel తెలుగు",
    "th": "thai tha ไทย", "tl": "tagalog tgl", "tr": "turkish tur türkçe", "ts": "tsonga tso",
    "uk": "ukrainian ukr українська", "ur": "urdu urd اردو", "uz": "uzbek uzb",
    "vi": "vietnamese vie", "xh": "xhosa xho", "yo": "yoruba yor", "zh": "chinese zho chi 中文",
    "zu": "zulu zul",
}  # fmt: skip
"""By code: the English name of a language, its codes of three letters, and its native name."""

ENGLISH_NAMES = {code: words.split()[0].capitalize() for code, words in _WORDS.items()}
"""The English name of a language by its code of two letters."""

_CODE_OF = {word: code for code, words in _WORDS.items() for word in words.split()}


def language_code(name: str) -> str:
    """Return a name or code of a language in one form, such as `en` or `en-us`.

    >>> language_code("English"), language_code("eng_US"), language_code("my film")
    ('en', 'en-us', 'my film')
    """
    main, hyphen, region = name.strip().casefold().replace("_", "-").partition("-")
    return _CODE_OF.get(main, main) + hyphen + region


def is_language(text: str) -> bool:
    """Return True for the name of a language, or its code of two letters.

    A region or script may follow a code. Codes of three letters need one, because without it they
    may be words, such as `may`, `per` and `por`.
    """
    main, _, region = language_code(text).partition("-")
    plain = text.strip()
    if len(plain) == 3 and plain.isascii() and plain.isalpha():
        return False
    return main in _CODES and len(region) <= 4 and (region.isalnum() or not region)


def are_languages(first: str, second: str) -> bool:
    """Return True if two words are names or codes of two different languages.

    Together, codes of three letters are hardly words.
    """
    codes = [language_code(word) for word in (first, second)]
    return codes[0] != codes[1] and all(
        is_language(word) or (len(word) == 3 and code in _CODES)
        for word, code in zip((first, second), codes, strict=True)
    )


def is_language_name(text: str) -> bool:
    """Return True for the name of a language, but not for its codes of two or three letters."""
    plain = text.strip().casefold()
    return plain in _CODE_OF and not (plain.isascii() and len(plain) <= 3)


def is_same_language(code: str, wanted: str) -> bool:
    """Return True if a code is of the wanted language: `en-US` is `en`, but `en` is not `en-US`."""
    code, wanted = language_code(code), language_code(wanted)
    return code == wanted or code.partition("-")[0] == wanted
