"""Draw words evenly and build the phrases of sentence patterns.

Conventions that give each sentence one translation: a bare countable noun is "a/an", 그 is
"the", 이 "this", 저 "that" and 제 "my"; bare places take "the" (도서관에 = to the library).
"""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeVar

from headway.sample_corpus import english as en
from headway.sample_corpus.conjugation import attributive
from headway.sample_corpus.lexicon import (
    ADJECTIVE_LIST,
    PERSON,
    Adjective,
    Noun,
    Term,
    Verb,
    Word,
    adjectives,
    nouns,
    terms,
    transitive,
)

T = TypeVar("T", bound=Hashable)
W = TypeVar("W", bound=Word)

Agreement = Literal["i", "third", "plural"]

# Places that never take a determiner: rooms have "the", the others nothing.
_BARE_GROUPS = {
    "field", "language", "ballgame", "racket", "room", "utility", "home", "city", "country",
}  # fmt: skip
_DETERMINERS = {"그": ("the", "the"), "이": ("this", "these"), "저": ("that", "those"),
                "제": ("my", "my")}  # fmt: skip
# Pairs of an adjective and a verb that contradict each other, such as to wash a clean cup.
_CONTRADICTIONS = {"clean": ("wash", "wipe", "sweep")}


class Phrase(NamedTuple):
    """A noun phrase on both sides, and the agreement of its English verb."""

    korean: str
    english: str
    agreement: Agreement = "third"


class Action(NamedTuple):
    """A transitive verb with its object."""

    verb: Verb
    noun: Noun
    object: Phrase


@dataclass(frozen=True, slots=True)
class Sentence:
    """One generated pair, with the words it drew and the pairings it makes.

    A pairing is a verb with its object, an adjective with its noun, or a pattern with a word.
    """

    pattern: str
    korean: str
    english: str
    words: tuple[Word, ...]
    pairings: frozenset[tuple[str, str]]


def label(word: Word) -> str:
    """Return the name of a word in pairings; it has both sides, to distinguish homonyms."""
    return f"{word.korean}={word.english}"


def noun_phrase(
    noun: Noun, determiner: str = "", adjective: Adjective | None = None, many: bool = False
) -> Phrase:
    """Build a noun phrase: 사과 = an apple, 그 작은 사과 = the small apple, 그 의사들."""
    plural = many or noun.number == "plural"
    korean = noun.korean + ("들" if many else "")
    english = en.plural(noun.english) if many else noun.english
    if adjective:
        korean = f"{attributive(adjective.korean, adjective.irregular)} {korean}"
        english = f"{adjective.english} {english}"
    if determiner:
        korean = f"{determiner} {korean}"
        english = f"{_DETERMINERS[determiner][plural]} {english}"
    elif noun.preposition:
        english = f"the {english}" if noun.article else english
    elif not plural and noun.number == "count":
        english = en.with_article(english)
    return Phrase(korean, english, "plural" if plural else "third")


def at(place: Noun) -> str:
    """Return the English adverbial of being at a place: in the kitchen, at school."""
    return f"{place.preposition} {noun_phrase(place).english}"


def to(place: Noun) -> str:
    """Return the English adverbial of going to a place: to the bank, to school."""
    return f"to {noun_phrase(place).english}"


def be(agreement: Agreement, past: bool = False) -> str:
    """Return the form of "be" that agrees with a subject."""
    if past:
        return "were" if agreement == "plural" else "was"
    return {"i": "am", "third": "is", "plural": "are"}[agreement]


def verb_present(agreement: Agreement, verb: str) -> str:
    """Return the simple present that agrees with a subject."""
    return en.third_person(verb) if agreement == "third" else verb


_ME = {"i": Phrase("저", "I", "i"), "we": Phrase("우리", "we", "plural")}
_SOME = ("그", "그", "이", "저")


@dataclass(slots=True)
class Draw:
    """The source of words for one pattern; it deals each set of choices as a deck of cards.

    Unlike independent draws, a deck uses all choices equally often.
    """

    pattern: str
    rng: random.Random
    decks: dict[Hashable, list[Hashable]] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)
    pairings: list[tuple[str, str]] = field(default_factory=list)
    many: bool = False

    def start(self) -> None:
        """Forget the words of the previous sentence."""
        self.words, self.pairings, self.many = [], [], False

    def say(self, korean: str, english: str, end: str = ".") -> Sentence:
        """Finish a sentence with its capital letter and its mark."""
        text = english[0].upper() + english[1:] + end
        return Sentence(
            self.pattern, korean + end, text, tuple(self.words), frozenset(self.pairings)
        )

    def deal(self, options: Sequence[T]) -> T:
        """Take the next card of the deck of these options."""
        key = tuple(options)
        deck = self.decks.setdefault(key, [])
        if not deck:
            deck.extend(options)
            self.rng.shuffle(deck)
        return deck.pop()  # type: ignore[return-value]

    def forget(self, count: int) -> None:
        """Take back the last words, with all pairings that name them."""
        taken = {label(word) for word in self.words[-count:]}
        del self.words[-count:]
        self.pairings = [p for p in self.pairings if p[1] not in taken]

    def fixed(self, word: Word) -> None:
        """Record a word that the pattern always has, which makes no pairing."""
        self.words.append(word)

    def use(self, word: Word) -> None:
        """Record a chosen word and its pairing with the pattern.

        Names, times and numbers make no such pairing, because many occur in one pattern only.
        """
        self.words.append(word)
        if not isinstance(word, Term):
            self.pairings.append((self.pattern, label(word)))

    def pick(self, options: Sequence[W]) -> W:
        """Deal a word and record it."""
        word = self.deal(options)
        self.use(word)
        return word

    def join(self, head: Word, noun: Word) -> None:
        """Record the pairing of a verb or an adjective with its noun."""
        self.pairings.append((label(head), label(noun)))

    def term(self, group: str) -> Term:
        """Deal a name, a time, an adverb, a number or a counter."""
        return self.pick(terms(group))

    def fresh(self, options: Sequence[W]) -> W:
        """Deal a word that is not yet in the sentence, and record it."""
        while (word := self.deal(options)) in self.words:
            pass
        self.use(word)
        return word

    def someone(self, kinds: str = "name kin job", determiners: Sequence[str] = ("그",)) -> Phrase:
        """Deal a person of these kinds that is not yet in the sentence."""
        kind = self.deal(kinds.split())
        if kind == "name":
            name = self.fresh(terms("name"))
            return Phrase(name.korean, name.english)
        if kind == "kin":
            return noun_phrase(self.fresh(nouns("kin")), "제")
        noun = self.fresh(nouns("adult") if kind == "adult" else nouns(*PERSON))
        return noun_phrase(noun, self.deal(determiners), many=kind == "jobs")

    def subject(self, first: bool = True, determiners: Sequence[str] = _SOME) -> Phrase:
        """Deal a subject: I, we, a name, a relative of mine or a person by trade."""
        kinds = ["name", "name", "kin", "kin", "job", "job", "job", "job", "jobs"]
        kind = self.deal([*kinds, "i", "i", "we"] if first else kinds)
        self.many = kind in ("we", "jobs")
        if kind in ("i", "we"):
            return _ME[kind]
        return self.someone(kind, ("그",) if kind == "jobs" else determiners)

    def me(self) -> Phrase:
        """Deal I or we."""
        kind = self.deal(("i", "i", "we"))
        self.many = kind == "we"
        return _ME[kind]

    def thing(self, noun: Noun, determiners: Sequence[str] = ("그", "이", "저")) -> Phrase:
        """Build a noun phrase, with a dealt determiner if the noun takes one."""
        return noun_phrase(noun, "" if noun.group in _BARE_GROUPS else self.deal(determiners))

    def _fits(self, verb: Verb, noun: Noun) -> bool:
        # Not several people with one hat, nor children who drink beer or drive.
        if noun in self.words or verb in self.words:
            return False
        if self.many and noun.number == "count" and verb.english in ("wear", "take off", "ride"):
            return False
        child = any(isinstance(word, Noun) and word.group == "child" for word in self.words)
        return not (child and (noun.group == "alcohol" or verb.english == "drive"))

    def _match(self, verbs: Sequence[Verb], bare: bool) -> tuple[Verb, Noun]:
        """Deal a verb and an object, each of them first half of the time.

        So neither verbs with few objects nor nouns with few verbs are rare.
        """
        verbs = [verb for verb in verbs if _objects((verb,), bare)]
        while True:
            if self.deal((True, False)):
                verb = self.deal(verbs)
                noun = self.deal(_objects((verb,), bare))
            else:
                noun = self.deal(_objects(tuple(verbs), bare))
                verb = self.deal([v for v in verbs if noun.group in v.groups])
            if self._fits(verb, noun):
                return verb, noun

    def action(
        self,
        tags: str = "",
        determiners: Sequence[str] = ("", "", "", "그", "이", "저"),
        only: tuple[Verb, ...] = (),
        bare: bool = True,
    ) -> Action:
        """Deal a transitive verb with an object that suits it; `bare` also allows math, Rome."""
        verb, noun = self._match(only or transitive(tags), bare)
        self.use(verb)
        if noun.group in PERSON and self.deal((True, False)):
            phrase = self.someone("name kin")
            self.join(verb, self.words[-1])
            return Action(verb, noun, phrase)
        self.use(noun)
        self.join(verb, noun)
        if "t" in verb.tags:
            return Action(verb, noun, Phrase(noun.korean, f"the {noun.english}"))
        return Action(verb, noun, self.thing(noun, determiners))

    def chosen(self, tags: str = "r") -> tuple[Verb, Noun]:
        """Deal a verb and a thing that exists afterwards, for relative clauses."""
        verb, noun = self._match(transitive(tags), bare=False)
        self.use(verb)
        self.use(noun)
        self.join(verb, noun)
        return verb, noun

    def described(
        self, options: Sequence[Adjective] = ADJECTIVE_LIST, bare: bool = True
    ) -> tuple[Noun, Adjective]:
        """Deal an adjective with a noun that it suits, each first half of the time."""
        if self.deal((True, False)):
            adjective = self.deal([a for a in options if _described((a,), bare)])
            noun = self.deal(_described((adjective,), bare))
        else:
            noun = self.deal(_described(tuple(options), bare))
            adjective = self.deal([a for a in adjectives(noun.group) if a in options])
        return noun, adjective

    def quality(
        self,
        options: Sequence[Adjective] = ADJECTIVE_LIST,
        bare: bool = True,
        determiners: Sequence[str] = ("그", "이", "저"),
        first: bool = True,
    ) -> tuple[Phrase, Adjective]:
        """Deal a person or thing with an adjective that suits; `first` also allows I, we."""
        noun, adjective = self.described(options, bare)
        self.use(adjective)
        if noun.group in PERSON:
            kind = self.deal(("job", "job", "jobs", "kin", "name", *(("me",) if first else ())))
            if kind == "me":
                return self.me(), adjective
            phrase = self.someone(kind, determiners[:1])
            self.join(adjective, self.words[-1])
            return phrase, adjective
        self.use(noun)
        self.join(adjective, noun)
        return self.thing(noun, determiners), adjective


def contradicts(adjective: Adjective, verb: Verb) -> bool:
    """Return True if an object with this adjective makes no sense with the verb."""
    return verb.english in _CONTRADICTIONS.get(adjective.english, ())


@cache
def _objects(verbs: tuple[Verb, ...], bare: bool) -> tuple[Noun, ...]:
    groups = dict.fromkeys(group for verb in verbs for group in verb.groups)
    return nouns(*(group for group in groups if bare or group not in _BARE_GROUPS))


@cache
def _described(options: tuple[Adjective, ...], bare: bool) -> tuple[Noun, ...]:
    groups = dict.fromkeys(group for adjective in options for group in adjective.groups)
    return nouns(*(group for group in groups if bare or group not in _BARE_GROUPS))
