"""Sentence patterns with numbers: counters, measures, prices and floors."""

from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import ABSENT, EXIST, Draw, Sentence, at, be, noun_phrase
from headway.sample_corpus.lexicon import (
    PERSON,
    Noun,
    Term,
    Verb,
    nouns,
    term_of,
    terms,
    transitive,
)
from headway.sample_corpus.pattern_registry import pattern

_COUNTER_OF_GROUP = {
    "fruit": "개", "vegetable": "개", "snack": "개", "book": "권", "pet": "마리",
    "farm": "마리", "wild": "마리", "small": "마리", "job": "명", "adult": "명", "child": "명",
    "footwear": "켤레", "car": "대", "bike": "대", "appliance": "대", "plant": "송이",
    "crockery": "개", "belonging": "개", "garment": "벌", "stationery": "개",
}  # fmt: skip
# Words whose counter differs from that of their group, and mass nouns that are measured.
_COUNTER_OF_WORD = {
    "나무": "", "연필": "자루", "볼펜": "자루", "붓": "자루", "공책": "권", "사진": "장",
    "표": "장", "그림": "장", "종이": "장", "지도": "장",
}  # fmt: skip
_MEASURES = {
    "잔": ("cup of", ("hotdrink", "colddrink")),
    "병": ("bottle of", ("colddrink", "alcohol")),
    "그릇": ("bowl of", ("meal", "rice", "staple")),
}


def counter(noun: Noun) -> str:
    """Return the counter of a countable noun; empty if it has none here."""
    if noun.korean in _COUNTER_OF_WORD:
        return _COUNTER_OF_WORD[noun.korean]
    if noun.number == "plural" and noun.group not in ("footwear", "garment"):
        return ""
    return _COUNTER_OF_GROUP.get(noun.group, "")


def amount(noun: Noun, number: Term) -> str:
    """Return the English of a counted noun: three apples, one pair of socks."""
    is_one = number.english == "one"
    if noun.number == "mass":
        return f"{number.english} {'sheet' if is_one else 'sheets'} of {noun.english}"
    if noun.number == "plural":
        return f"{number.english} {'pair' if is_one else 'pairs'} of {noun.english}"
    return f"{number.english} {noun.english if is_one else en.plural(noun.english)}"


@pattern
def people_there(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    교실에 학생 세 명이 있습니다. = There are three students in the classroom.
    """
    place = d.pick(nouns("shop", "place"))
    noun, number = d.pick(nouns(*PERSON)), d.term("count")
    d.fixed(term_of("명", "counter"))
    return d.say(
        f"{place.korean}에 {noun.korean} {number.korean} 명이 {d.present(EXIST)}",
        f"there {'is' if number.english == 'one' else 'are'} {amount(noun, number)} {at(place)}",
    )


_COUNTABLE = tuple(n for n in nouns(*_COUNTER_OF_GROUP, "material") if counter(n))
# The event with counted things: people are met, animals seen, all else is bought.
_COUNTED_EVENT = {"명": ("만나다", "meet"), "마리": ("보다", "see")}


def _counted_event(d: Draw) -> tuple[Verb, Noun, Term]:
    unit = term_of(d.deal(("개", "개", "개", "마리", "명", "명", "권", "벌", "켤레", "대", "송이",
                         "장", "자루")), "counter")  # fmt: skip
    noun = d.pick([n for n in _COUNTABLE if counter(n) == unit.korean])
    korean, english = _COUNTED_EVENT.get(unit.korean, ("사다", "buy"))
    verb = next(v for v in transitive() if (v.korean, v.english) == (korean, english))
    d.fixed(verb)
    d.join(verb, noun)
    d.fixed(unit)
    return verb, noun, unit


@pattern
def counted(d: Draw) -> Sentence:
    """Say "민수는 사과 세 개를 샀습니다." for "Minsu bought three apples."."""
    s, number = d.subject(), d.term("count")
    verb, noun, unit = _counted_event(d)
    return d.say(
        f"{d.topic(s)} {noun.korean} {number.korean} {d.object_(unit.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {amount(noun, number)}",
    )


@pattern
def how_many(d: Draw) -> Sentence:
    """Ask "민수는 사과를 몇 개 샀습니까?" for "How many apples did Minsu buy?"."""
    s = d.asked()
    verb, noun, unit = _counted_event(d)
    many = amount(noun, Term("", "many", "")).removeprefix("many ")
    return d.say(
        f"{d.topic(s)} {d.object_(noun.korean)} 몇 {unit.korean} {d.past_question(verb)}",
        f"how many {many} did {s.english} {verb.english}",
        "?",
        asks=True,
    )


@pattern
def measured(d: Draw) -> Sentence:
    """Say "저는 커피 두 잔을 마셨습니다." for "I drank two cups of coffee."."""
    s, number = d.subject(), d.pick(terms("count")[:6])
    unit = term_of(d.deal(("잔", "병", "그릇")), "counter")
    measure, groups = _MEASURES[unit.korean]
    noun = d.pick(nouns(*groups))
    d.fixed(unit)
    name = "먹다" if unit.korean == "그릇" else d.deal(("마시다", "주문하다"))
    verb = next(v for v in transitive() if v.korean == name)
    d.fixed(verb)
    d.join(verb, noun)
    head, _, of = measure.partition(" ")
    head = head if number.english == "one" else en.plural(head)
    return d.say(
        f"{d.topic(s)} {noun.korean} {number.korean} {d.object_(unit.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {number.english} {head} {of} {noun.english}",
    )


@pattern
def price(d: Draw) -> Sentence:
    """Say "이 사과는 천 원입니다." for "This apple is one thousand won."."""
    options = nouns(
        "fruit", "vegetable", "snack", "book", "stationery", "bakery", "dessert", "ingredient"
    )
    s, money = d.thing(d.pick(options)), d.term("money")
    return d.say(
        f"{d.topic(s)} {money.korean} {pt.copula('원', d.style)}",
        f"{s.english} {be(s.agreement)} {money.english} won",
    )


@pattern
def storey(d: Draw) -> Sentence:
    """Say "서점은 삼 층에 있습니다." for "The bookstore is on the third floor."."""
    place, number = d.pick(nouns("shop")), d.term("floor")
    form = d.deal(("yes", "no", "question"))
    end = {
        "yes": d.present(EXIST), "no": d.present(ABSENT), "question": d.present_question(EXIST)
    }[form]  # fmt: skip
    korean = f"{pt.topic(place.korean)} {number.korean} 층에 {end}"
    name = noun_phrase(place).english
    if form == "question":
        return d.say(korean, f"is {name} on the {number.english} floor", "?")
    verb = "is" if form == "yes" else "is not"
    return d.say(korean, f"{name} {verb} on the {number.english} floor")
