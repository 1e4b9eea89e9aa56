"""Draw words evenly and build the phrases of sentence patterns.

Conventions that give each sentence one translation: a bare countable noun is "a/an", 그 is
"the", 이 "this", 저 "that" and 제 "my"; bare places take "the" (도서관에 = to the library). A
subject that is left out is "I" in a statement and "you" in a question.

A sentence is formal, polite, plain or casual, and may lack what people leave out: subjects, object
particles and the final mark. Such choices are its form; the meaning does not depend on it.
"""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeVar

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.hangul import final_of
from headway.sample_corpus.lexicon import (
    ADJECTIVE_LIST,
    PERSON,
    Adjective,
    Auxiliary,
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
    "tv", "own", "work",
}  # fmt: skip
_DETERMINERS = {"그": ("the", "the"), "이": ("this", "these"), "저": ("that", "those"),
                "제": ("my", "my"), "내": ("my", "my")}  # fmt: skip
# Pairs of an adjective and a verb that contradict each other, such as to wash a clean cup.
_CONTRADICTIONS = {"clean": ("wash", "wipe", "sweep")}
# Styles of speech; a style that is listed more often is used more often.
_STYLES: tuple[ko.Style, ...] = (
    "formal", "formal", "formal", "formal", "polite", "polite", "polite", "plain", "plain",
    "casual",
)  # fmt: skip

# The auxiliary verbs of the patterns.
EXIST, ABSENT = Auxiliary("있다", describes=True), Auxiliary("없다", describes=True)
NOT_DO, NOT_BE = Auxiliary("않다"), Auxiliary("않다", describes=True)
UNABLE, WISH, DO = Auxiliary("못하다"), Auxiliary("싶다", describes=True), Auxiliary("하다")
GO, COME, LIVE, LIKE = (Auxiliary(verb) for verb in ("가다", "오다", "살다", "좋아하다"))


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
    `form` has the choices that do not change the meaning, the style first.
    """

    pattern: str
    korean: str
    english: str
    words: tuple[Word, ...]
    pairings: frozenset[tuple[str, str]]
    form: tuple[str, ...]


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
        korean = f"{ko.attributive(adjective.korean, adjective.irregular)} {korean}"
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
    return "home" if place.english == "home" else f"to {noun_phrase(place).english}"


def be(agreement: Agreement, past: bool = False) -> str:
    """Return the form of "be" that agrees with a subject."""
    if past:
        return "were" if agreement == "plural" else "was"
    return {"i": "am", "third": "is", "plural": "are"}[agreement]


def verb_present(agreement: Agreement, verb: str) -> str:
    """Return the simple present that agrees with a subject."""
    return en.third_person(verb) if agreement == "third" else verb


Predicate = Verb | Adjective | Auxiliary

_HUMBLE = {"formal": "저", "polite": "저", "plain": "나", "casual": "나"}
_YOU = {"formal": "당신", "polite": "당신", "plain": "너", "casual": "너"}
# Verbs that have another word for a person who is honored.
_HONORED_OTHERWISE = ("먹다", "마시다", "자다", "있다", "만나다")
_OTHERS = (Phrase("그", "he"), Phrase("그녀", "she"), Phrase("그들", "they", "plural"))
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
    style: ko.Style = "formal"
    form: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Forget the words of the previous sentence, and deal a style."""
        self.words, self.pairings, self.many = [], [], False
        self.style = self.deal(_STYLES)
        self.form = [self.style]

    def say(self, korean: str, english: str, end: str = ".", *, asks: bool = False) -> Sentence:
        """Finish a sentence with its capital letter and its mark.

        asks: the words alone show that it is a question, so that the mark may be left out.
        """
        if end == ".":
            mark = self.vary(".", ".", ".", ".", ".", ".", "", "!")
        elif asks or self.style in ("formal", "plain"):
            mark = self.vary("?", "?", "?", "?", "")
        else:
            mark = end
        text = english[0].upper() + english[1:] + (mark or end)
        return Sentence(
            self.pattern,
            " ".join(korean.split()) + mark,
            text,
            tuple(self.words),
            frozenset(self.pairings),
            tuple(self.form),
        )

    def vary(self, *options: str) -> str:
        """Deal one of several forms that mean the same, and record it."""
        form = self.deal(options)
        self.form.append(form)
        return form

    def present(self, word: Predicate) -> str:
        """Return the present of a verb or an adjective, in the style of the sentence."""
        describes = isinstance(word, Adjective) or (isinstance(word, Auxiliary) and word.describes)
        return ko.present(word.korean, word.irregular, self.style, describes=describes)

    def present_question(self, word: Predicate) -> str:
        """Return the present of a question."""
        return ko.present_question(word.korean, word.irregular, self.style)

    def asks_present(self, word: Predicate, phrase: Phrase) -> str:
        """Return the present of a question; "you" may be honored: 가십니까, 가세요."""
        honored = phrase.english == "you" and word.korean not in _HONORED_OTHERWISE
        if honored and self.style in ("formal", "polite") and self.vary("", "시"):
            return ko.respectful_question(word.korean, word.irregular, self.style)
        return self.present_question(word)

    def past(self, word: Predicate) -> str:
        """Return the past."""
        return ko.past(word.korean, word.irregular, self.style)

    def past_question(self, word: Predicate) -> str:
        """Return the past of a question."""
        return ko.past_question(word.korean, word.irregular, self.style)

    def future(self, word: Predicate) -> str:
        """Return the future: 갈 것입니다, 갈 거예요, 갈 것이다, 갈 거야."""
        thing = "것" if self.style in ("formal", "plain") else "거"
        form = ko.prospective(word.korean, word.irregular)
        return f"{form} {pt.copula(thing, self.style)}"

    def future_question(self, word: Predicate) -> str:
        """Return the future of a question: 갈 것입니까, 갈 거예요, 갈 거니, 갈 거야."""
        thing = "것" if self.style == "formal" else "거"
        form = ko.prospective(word.korean, word.irregular)
        return f"{form} {pt.copula_question(thing, self.style)}"

    def request(self, word: Predicate) -> str:
        """Return the request."""
        return ko.request(word.korean, word.irregular, self.style)

    @property
    def mine(self) -> str:
        """The word for "my"."""
        return "제" if _HUMBLE[self.style] == "저" else "내"

    def topic(self, phrase: Phrase) -> str:
        """Attach the topic particle, or leave out I and you."""
        if phrase.english == "I" and self.vary("said", "said", "dropped") == "dropped":
            return ""
        if phrase.english == "you" and self.vary("said", "dropped", "dropped") == "dropped":
            return ""
        return pt.topic(phrase.korean)

    def degree(self, degree: Term) -> str:
        """Return a degree, or another word with the same meaning."""
        if degree.korean == "아주":
            return self.vary("아주", "매우")
        if degree.korean == "정말" and self.style in ("polite", "casual"):
            return self.vary("정말", "진짜")
        return degree.korean

    def with_(self, korean: str) -> str:
        """Attach a particle that means "with": 친구와, and 친구랑 or 친구하고 when speaking."""
        if self.style in ("formal", "plain"):
            return pt.with_(korean)
        particle = self.vary("와", "랑", "하고")
        if particle == "와":
            return pt.with_(korean)
        return pt.along(korean) if particle == "랑" else korean + particle

    def timed(self, phrase: Phrase, time: str) -> str:
        """Return the topic and a time, or the time before the topic."""
        topic = self.topic(phrase)
        return f"{time} {topic}" if self.vary("", "", "time first") else f"{topic} {time}"

    def denied(self, word: Predicate, auxiliary: Auxiliary, *, past: bool = False) -> str:
        """Return the negative: 읽지 않았습니다 or 안 읽었습니다, 읽지 못했습니다 or 못 읽었습니다."""
        conjugate = self.past if past else self.present
        simple = len(word.korean) < 5 and not word.korean.endswith(("하다", "있다", "싶다"))
        if simple and self.vary("지", "지", "short") == "short":
            return f"{'못' if auxiliary == UNABLE else '안'} {conjugate(word)}"
        return f"{ko.stem(word.korean)}지 {conjugate(auxiliary)}"

    def object_(self, korean: str) -> str:
        """Attach the object particle, which polite and casual speech sometimes leaves out."""
        # 밥 먹었어요 without the particle asks for a meal, not for rice.
        kept = self.style in ("formal", "plain") or korean == "밥"
        return pt.object_(korean) if kept or self.vary("를", "를", "를", "") else korean

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
            return self.named(self.fresh(terms("name")))
        if kind == "friend":
            return noun_phrase(self.fresh(nouns("friend")))
        if kind == "kin":
            return noun_phrase(self.fresh(nouns("kin")), self.mine)
        noun = self.fresh(nouns("adult") if kind == "adult" else nouns(*PERSON))
        return noun_phrase(noun, self.deal(determiners), many=kind == "jobs")

    def named(self, name: Term) -> Phrase:
        """Return a person by name: 민수 씨 in polite speech, 지민이 in casual speech."""
        if self.style in ("formal", "polite"):
            return Phrase(name.korean + self.vary("", "", "", " 씨"), name.english)
        closed = self.style == "casual" and bool(final_of(name.korean))
        return Phrase(name.korean + (self.vary("", "이") if closed else ""), name.english)

    def subject(self, first: bool = True, determiners: Sequence[str] = _SOME) -> Phrase:
        """Deal a subject: I, we, he, a name, a relative of mine or a person by trade."""
        kinds = ["name", "name", "kin", "kin", "other", "job", "job", "job", "job", "jobs"]
        return self._subject([*kinds, "i", "i", "we"] if first else kinds, determiners)

    def asked(self) -> Phrase:
        """Deal the subject of a question: you, he, a name, a relative or a person by trade."""
        return self._subject(
            ["name", "kin", "other", "job", "job", "job", "jobs", "you", "you"], _SOME
        )

    def _subject(self, kinds: Sequence[str], determiners: Sequence[str]) -> Phrase:
        kind = self.deal(kinds)
        self.many = kind in ("we", "jobs")
        if kind == "you":
            return self.you
        if kind == "other":
            return self.other()
        if kind in ("i", "we"):
            return self.first_person(kind)
        return self.someone(kind, ("그",) if kind == "jobs" else determiners)

    @property
    def you(self) -> Phrase:
        """The subject "you"."""
        return Phrase(_YOU[self.style], "you", "plural")

    def other(self) -> Phrase:
        """Deal he, she or they."""
        phrase = self.deal(_OTHERS)
        self.many = phrase.agreement == "plural"
        return phrase

    def first_person(self, kind: str) -> Phrase:
        """Return the subject "we", or "I" in the style of the sentence."""
        if kind == "we":
            return Phrase("우리", "we", "plural")
        return Phrase(_HUMBLE[self.style], "I", "i")

    def me(self) -> Phrase:
        """Deal I or we."""
        kind = self.deal(("i", "i", "we"))
        self.many = kind == "we"
        return self.first_person(kind)

    def one(self, kinds: str) -> Phrase:
        """Deal a person of these kinds, or he, she or they."""
        return self.other() if self.deal((True, False, False)) else self.someone(kinds)

    def thing(self, noun: Noun, determiners: Sequence[str] = ("그", "이", "저")) -> Phrase:
        """Build a noun phrase, with a dealt determiner if the noun takes one."""
        determiner = "" if noun.group in _BARE_GROUPS else self.deal(determiners)
        return noun_phrase(noun, self.mine if determiner == "제" else determiner)

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
