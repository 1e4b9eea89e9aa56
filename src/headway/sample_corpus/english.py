"""Inflect English words: articles, plurals, verb forms and degrees of adjectives."""

from functools import cache

_IRREGULAR_PAST = {
    "be": "was", "become": "became", "break": "broke", "build": "built", "buy": "bought", "catch": "caught",
    "choose": "chose", "come": "came", "cut": "cut", "do": "did", "draw": "drew",
    "drink": "drank", "drive": "drove", "eat": "ate", "fall": "fell", "feed": "fed",
    "find": "found", "get": "got", "give": "gave", "go": "went", "have": "had", "hide": "hid",
    "know": "knew", "leave": "left", "lend": "lent", "lie": "lay", "lose": "lost",
    "make": "made", "meet": "met", "read": "read", "ride": "rode", "run": "ran", "see": "saw",
    "sell": "sold", "send": "sent", "show": "showed", "sing": "sang", "sit": "sat",
    "sleep": "slept", "speak": "spoke", "sweep": "swept", "swim": "swam", "take": "took", "teach": "taught",
    "throw": "threw", "understand": "understood", "wear": "wore", "write": "wrote",
}  # fmt: skip
_IRREGULAR_PLURAL = {
    "man": "men", "woman": "women", "child": "children", "mouse": "mice", "wolf": "wolves",
    "knife": "knives", "potato": "potatoes", "tomato": "tomatoes", "fisherman": "fishermen",
    "bookshelf": "bookshelves", "scarf": "scarves", "mango": "mangoes", "thesis": "theses",
}  # fmt: skip
_IRREGULAR_COMPARATIVE = {"good": "better", "bad": "worse", "far": "farther"}
_IRREGULAR_SUPERLATIVE = {"good": "best", "bad": "worst", "far": "farthest"}
# Adjectives of two syllables that are compared with endings.
_SHORT_TWO_SYLLABLES = {"quiet", "narrow", "simple", "humble", "gentle", "clever"}
_SOUNDS_LIKE_VOWEL = ("hour", "honest")
_SOUNDS_LIKE_CONSONANT = ("university", "uniform", "useful", "one")
_VOWELS = "aeiou"


def _first_word(phrase: str) -> tuple[str, str]:
    head, space, tail = phrase.partition(" ")
    return head, space + tail


def _ends_in_consonant_y(word: str) -> bool:
    return len(word) > 1 and word[-1] == "y" and word[-2] not in _VOWELS


def _vowel_groups(word: str) -> int:
    letters = word.removesuffix("e") if not word.endswith(("ee", "le")) else word
    flags = [letter in _VOWELS + "y" for letter in letters]
    starts = sum(1 for i, flag in enumerate(flags) if flag and (i == 0 or not flags[i - 1]))
    return max(1, starts)


def _doubles(word: str) -> bool:
    # swim, chop, big: one syllable that ends in a single vowel and a single consonant.
    if len(word) < 3 or _vowel_groups(word) > 1 or word[-1] in _VOWELS + "wxy":
        return False
    return word[-2] in _VOWELS and word[-3] not in _VOWELS


def _sibilant(word: str) -> bool:
    return word.endswith(("s", "x", "z", "ch", "sh"))


def with_article(phrase: str) -> str:
    """Put a or an before a phrase, by its first sound: a cup, an egg, an honest cook."""
    lowered = phrase.lower()
    vowel = lowered[0] in _VOWELS and not lowered.startswith(_SOUNDS_LIKE_CONSONANT)
    return f"{'an' if vowel or lowered.startswith(_SOUNDS_LIKE_VOWEL) else 'a'} {phrase}"


@cache
def plural(phrase: str) -> str:
    """Return the plural of a noun, changing the last word: apples, police officers, women."""
    before, space, word = phrase.rpartition(" ")
    if word in _IRREGULAR_PLURAL:
        return before + space + _IRREGULAR_PLURAL[word]
    if _sibilant(word):
        return phrase + "es"
    return phrase[:-1] + "ies" if _ends_in_consonant_y(word) else phrase + "s"


@cache
def third_person(phrase: str) -> str:
    """Return the present with he or she, changing the first word: goes, turns on, studies."""
    verb, particle = _first_word(phrase)
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb] + particle
    if _sibilant(verb) or verb in ("go", "do"):
        return verb + "es" + particle
    return (verb[:-1] + "ies" if _ends_in_consonant_y(verb) else verb + "s") + particle


@cache
def past(phrase: str) -> str:
    """Return the past, changing the first word: went, turned on, studied, chopped."""
    verb, particle = _first_word(phrase)
    if verb in _IRREGULAR_PAST:
        return _IRREGULAR_PAST[verb] + particle
    if verb.endswith("e"):
        return verb + "d" + particle
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ied" + particle
    return (verb + verb[-1] if _doubles(verb) else verb) + "ed" + particle


@cache
def ing(phrase: str) -> str:
    """Return the -ing form, changing the first word: making, lying down, swimming."""
    verb, particle = _first_word(phrase)
    if verb.endswith("ie"):
        return verb[:-2] + "ying" + particle
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing" + particle
    return (verb + verb[-1] if _doubles(verb) else verb) + "ing" + particle


def _takes_endings(adjective: str) -> bool:
    if "-" in adjective or " " in adjective:
        return False
    groups = _vowel_groups(adjective)
    if groups == 1:
        return adjective not in ("tired",)
    return groups == 2 and (_ends_in_consonant_y(adjective) or adjective in _SHORT_TWO_SYLLABLES)


def _degree(adjective: str, ending: str) -> str:
    if adjective.endswith("e"):
        return adjective + ending[1:]
    if _ends_in_consonant_y(adjective):
        return adjective[:-1] + "i" + ending
    return (adjective + adjective[-1] if _doubles(adjective) else adjective) + ending


@cache
def comparative(adjective: str) -> str:
    """Return the comparative: bigger, heavier, more expensive, better."""
    if adjective in _IRREGULAR_COMPARATIVE:
        return _IRREGULAR_COMPARATIVE[adjective]
    return _degree(adjective, "er") if _takes_endings(adjective) else f"more {adjective}"


@cache
def superlative(adjective: str) -> str:
    """Return the superlative without its article: biggest, most expensive, best."""
    if adjective in _IRREGULAR_SUPERLATIVE:
        return _IRREGULAR_SUPERLATIVE[adjective]
    return _degree(adjective, "est") if _takes_endings(adjective) else f"most {adjective}"
