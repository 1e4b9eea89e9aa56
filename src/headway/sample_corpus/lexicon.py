"""Read the word lists of the built-in corpus into entries that the grammar draws from."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, cast

from headway.sample_corpus.conjugation import Irregular
from headway.sample_corpus.nouns import NAMES, NOUNS, SURNAMES
from headway.sample_corpus.predicates import (
    ADJECTIVES,
    GIVING,
    INTRANSITIVE,
    STATIVE,
    TRANSITIVE,
    WEATHER,
)
from headway.sample_corpus.terms import MANNER, TERMS

Number = Literal["count", "mass", "plural"]

# The noun groups that "person" means in the verb and adjective lists.
PERSON = ("job", "adult", "child")


class Entry(NamedTuple):
    """One dictionary entry, as shown to readers; `kind` is noun, verb, adjective and so on."""

    korean: str
    english: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun with its semantic group; places also have a preposition and perhaps no article."""

    korean: str
    english: str
    group: str
    number: Number = "count"
    preposition: str = ""
    article: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb with the groups of its objects, or of its places when it is intransitive."""

    korean: str
    english: str
    groups: tuple[str, ...]
    tags: str
    irregular: Irregular
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective with the groups of nouns that it can describe."""

    korean: str
    english: str
    groups: tuple[str, ...]
    irregular: Irregular


class Auxiliary(NamedTuple):
    """A verb that patterns always have; `describes` if it is conjugated as an adjective."""

    korean: str
    describes: bool = False
    irregular: Irregular = ""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A name, a time, an adverb, a number, a counter or a spatial relation."""

    korean: str
    english: str
    group: str


Word = Noun | Verb | Adjective | Term


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the entries of a list, Korean and English."""
    items = (item.strip() for item in text.replace("\n", " ").split(","))
    return [(k, e) for k, _, e in (" ".join(item.split()).partition("=") for item in items) if k]


def _noun(korean: str, english: str, group: str) -> Noun:
    preposition, colon, place = english.partition(":")
    if colon:
        return Noun(
            korean, place.removesuffix("!"), group, "count", preposition, not place.endswith("!")
        )
    numbers: dict[str, Number] = {"~": "mass", "+": "plural"}
    return Noun(korean, english.lstrip("~+"), group, numbers.get(english[0], "count"))


def _rows(text: str) -> list[list[str]]:
    rows = [line.replace("=", ":", 1).split(":") for line in text.strip().splitlines()]
    return [[cell.strip() for cell in row] for row in rows]


def _groups(cell: str) -> tuple[str, ...]:
    names: list[str] = []
    for name in cell.split():
        names.extend(PERSON if name == "person" else (name,))
    return tuple(names)


def irregular(cell: str) -> tuple[str, Irregular]:
    """Return a dictionary form and its class, which follows after a slash."""
    korean, _, kind = cell.partition("/")
    return korean, cast(Irregular, kind)


def _verbs(text: str, kind: str) -> list[Verb]:
    verbs: list[Verb] = []
    for korean, english, first, second in _rows(text):
        groups, tags = (second, first) if kind == "intransitive" else (first, second)
        word, stem_class = irregular(korean)
        verbs.append(Verb(word, english, _groups(groups), tags, stem_class, kind))
    return verbs


def _adjectives(text: str) -> list[Adjective]:
    adjectives: list[Adjective] = []
    for korean, english, *groups in _rows(text):
        word, stem_class = irregular(korean)
        adjectives.append(Adjective(word, english, _groups("".join(groups)), stem_class))
    return adjectives


NOUN_LIST = tuple(
    _noun(korean, english, group)
    for group, text in NOUNS.items()
    for korean, english in pairs(text)
)
NAME_LIST = tuple(
    Term(korean, english, group)
    for group, text in (("name", NAMES), ("surname", SURNAMES))
    for korean, english in pairs(text)
)
TERM_LIST = tuple(
    Term(korean, english, group) for group, text in TERMS.items() for korean, english in pairs(text)
)
TRANSITIVE_LIST = tuple(_verbs(TRANSITIVE, "transitive"))
GIVING_LIST = tuple(_verbs(GIVING, "giving"))
STATIVE_LIST = tuple(_verbs(STATIVE, "stative"))
INTRANSITIVE_LIST = tuple(_verbs(INTRANSITIVE, "intransitive"))
ADJECTIVE_LIST = tuple(_adjectives(ADJECTIVES))
WEATHER_LIST = tuple(_adjectives(WEATHER))
# An adverb of manner and the intransitive verbs that it suits.
MANNER_VERBS = {
    Term(korean, english, "manner"): tuple(verbs.split())
    for korean, english, verbs in _rows(MANNER)
}


@cache
def nouns(*groups: str) -> tuple[Noun, ...]:
    """Return the nouns of these groups, in the order of the lists."""
    return tuple(noun for noun in NOUN_LIST if noun.group in groups)


@cache
def terms(group: str) -> tuple[Term, ...]:
    """Return the names, times, adverbs, numbers, counters or relations of one group."""
    return tuple(term for term in (*NAME_LIST, *TERM_LIST) if term.group == group)


@cache
def transitive(tags: str = "", group: str = "") -> tuple[Verb, ...]:
    """Return the transitive verbs that have all tags and, if given, take the noun group."""
    return tuple(
        verb
        for verb in TRANSITIVE_LIST
        if set(tags) <= set(verb.tags) and (not group or group in verb.groups)
    )


@cache
def intransitive(tags: str = "", placed: bool = False) -> tuple[Verb, ...]:
    """Return the intransitive verbs that have all tags and, if asked, suit some place."""
    return tuple(
        verb
        for verb in INTRANSITIVE_LIST
        if set(tags) <= set(verb.tags) and (verb.groups or not placed)
    )


@cache
def adjectives(group: str) -> tuple[Adjective, ...]:
    """Return the adjectives that can describe nouns of a group."""
    return tuple(adjective for adjective in ADJECTIVE_LIST if group in adjective.groups)


def _key(word: Word) -> tuple[str, str]:
    return word.korean, word.english


@cache
def all_words() -> tuple[Word, ...]:
    """Return every word once, also if it is in two lists."""
    everything: tuple[Word, ...] = (
        *NOUN_LIST, *NAME_LIST, *TERM_LIST, *TRANSITIVE_LIST, *GIVING_LIST, *STATIVE_LIST,
        *INTRANSITIVE_LIST, *ADJECTIVE_LIST, *WEATHER_LIST, *MANNER_VERBS,
    )  # fmt: skip
    distinct: dict[tuple[str, str], Word] = {}
    for word in everything:
        distinct.setdefault(_key(word), word)
    return tuple(distinct.values())


def kind_of(word: Word) -> str:
    """Return the part of speech of a word, as shown to readers."""
    if isinstance(word, Noun):
        return "noun"
    if isinstance(word, Verb):
        return "verb"
    return "adjective" if isinstance(word, Adjective) else word.group


def term_of(korean: str, group: str) -> Term:
    """Return the term of a group with this Korean side."""
    return next(term for term in terms(group) if term.korean == korean)
