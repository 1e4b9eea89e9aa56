"""Sentence patterns about going, acting somewhere for some time, and giving."""

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import (
    COME,
    EXIST,
    GO,
    LIVE,
    Draw,
    Sentence,
    at,
    be,
    to,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    GIVING_LIST,
    MANNER_VERBS,
    intransitive,
    nouns,
    terms,
)
from headway.sample_corpus.pattern_registry import pattern

_PLACES = nouns("shop", "place", "outdoor", "own", "work")
_ON_LAND = tuple(n for n in _PLACES if n.english != "island")
_BY_LAND = tuple(n for n in nouns("public", "car", "bike") if n.korean not in ("비행기", "배"))
_VEHICLES = nouns("public", "car", "bike")


@pattern
def went(d: Draw) -> Sentence:
    """Say "민수는 어제 도서관에 갔습니다." for "Minsu went to the library yesterday."."""
    s, time, place = d.subject(), d.pick([*terms("past"), *terms("weekday")]), d.pick(_PLACES)
    return d.say(
        f"{d.timed(s, time.korean)} {place.korean}에 {d.past(GO)}",
        f"{s.english} went {to(place)} {time.english}",
    )


@pattern
def went_by(d: Draw) -> Sentence:
    """Say "우리는 지하철로 공항에 갔습니다." for "We went to the airport by subway."."""
    s, vehicle, place = d.subject(), d.pick(_BY_LAND), d.pick(_ON_LAND)
    return d.say(
        f"{d.topic(s)} {pt.by(vehicle.korean)} {place.korean}에 {d.past(GO)}",
        f"{s.english} went {to(place)} by {vehicle.english}",
    )


@pattern
def from_to(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    우리는 서울에서 부산까지 기차로 갔습니다. = We went from Seoul to Busan by train.
    """
    s, group = d.subject(), d.deal(("home", "city", "country"))
    first, second = d.fresh(nouns(group)), d.fresh(nouns(group))
    by = ("기차", "버스", "자동차") if group == "home" else ("비행기",)
    vehicle = d.fresh([n for n in _VEHICLES if n.korean in by])
    return d.say(
        f"{d.topic(s)} {first.korean}에서 {second.korean}까지 {pt.by(vehicle.korean)} {d.past(GO)}",
        f"{s.english} went from {first.english} to {second.english} by {vehicle.english}",
    )


@pattern
def will_travel(d: Draw) -> Sentence:
    """Say "민수는 삼월에 로마에 갈 것입니다." for "Minsu will go to Rome in March."."""
    s, time = d.subject(), d.pick([*terms("month"), *terms("season")])
    place = d.pick(nouns("home", "city", "country"))
    return d.say(
        f"{d.timed(s, time.korean)} {place.korean}에 {d.future(GO)}",
        f"{s.english} will go {to(place)} {time.english}",
    )


@pattern
def lives(d: Draw) -> Sentence:
    """Say "제 형은 런던에 삽니다." for "My older brother lives in London."."""
    s, place, kind = d.subject(), d.pick(nouns("home", "city", "country")), d.deal(("live", "come"))
    if kind == "live":
        live = d.present(LIVE) if d.vary("", "고 있다") == "" else f"살고 {d.present(EXIST)}"
        return d.say(
            f"{d.topic(s)} {place.korean}에 {live}",
            f"{s.english} {verb_present(s.agreement, 'live')} {at(place)}",
        )
    return d.say(
        f"{d.topic(s)} {place.korean}에서 {d.past(COME)}",
        f"{s.english} {be(s.agreement)} from {place.english}",
    )


@pattern
def did_there(d: Draw) -> Sentence:
    """Say "그 아이는 공원에서 놀았습니다." for "The child played in the park."."""
    s, verb = d.subject(), d.pick(intransitive(placed=True))
    place = d.pick(nouns(*verb.groups))
    d.join(verb, place)
    past = d.deal((True, True, False))
    return d.say(
        f"{d.topic(s)} {place.korean}에서 {d.past(verb) if past else d.present(verb)}",
        f"{s.english} {en.past(verb.english) if past else verb_present(s.agreement, verb.english)} "
        f"{at(place)}",
    )


@pattern
def doing_there(d: Draw) -> Sentence:
    """Say "그 아이는 공원에서 놀고 있습니다." for "The child is playing in the park."."""
    s, verb = d.subject(), d.pick(intransitive("p", placed=True))
    place = d.pick(nouns(*verb.groups))
    d.join(verb, place)
    return d.say(
        f"{d.topic(s)} {place.korean}에서 {ko.stem(verb.korean)}고 {d.present(EXIST)}",
        f"{s.english} {be(s.agreement)} {en.ing(verb.english)} {at(place)}",
    )


@pattern
def manner(d: Draw) -> Sentence:
    """Say "그 아이는 천천히 걸었습니다." for "The child walked slowly."."""
    s, how = d.subject(), d.pick(tuple(MANNER_VERBS))
    verb = d.pick([v for v in intransitive() if v.korean in MANNER_VERBS[how]])
    d.join(verb, how)
    return d.say(
        f"{d.topic(s)} {how.korean} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {how.english}",
    )


@pattern
def clock_time(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    저는 매일 일곱 시에 운동합니다. = I exercise at seven o'clock every day.
    """
    s, verb, hour = d.subject(), d.pick(intransitive("hv")), d.pick(terms("count")[:12])
    return d.say(
        f"{d.topic(s)} 매일 {hour.korean} 시에 {d.present(verb)}",
        f"{s.english} {verb_present(s.agreement, verb.english)} at {hour.english} o'clock "
        "every day",
    )


@pattern
def duration(d: Draw) -> Sentence:
    """Say "저는 두 시간 동안 잤습니다." for "I slept for two hours."."""
    s, verb = d.subject(), d.pick([v for v in intransitive("hv") if "go " not in v.english])
    unit = d.deal(("시간", "분"))
    number = d.pick(terms("count")[:6] if unit == "시간" else terms("minutes"))
    english = "hour" if unit == "시간" else "minute"
    english = english if number.english == "one" else english + "s"
    return d.say(
        f"{d.topic(s)} {number.korean} {unit} 동안 {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} for {number.english} {english}",
    )


@pattern
def part_of_day(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    우리는 아침에 호수에서 운동합니다. = We exercise at the lake in the morning.
    """
    s, time = d.subject(), d.pick([*terms("daypart"), *terms("season")])
    verb = d.pick([v for v in intransitive("hv") if {"outdoor", "shop"} & {*v.groups}])
    place = d.pick(nouns(*(g for g in verb.groups if g != "room")))
    d.join(verb, place)
    return d.say(
        f"{d.topic(s)} {time.korean} {place.korean}에서 {d.present(verb)}",
        f"{s.english} {verb_present(s.agreement, verb.english)} {at(place)} {time.english}",
    )


@pattern
def gave(d: Draw) -> Sentence:
    """Say "민수는 그 아이에게 책을 주었습니다." for "Minsu gave a book to the child."."""
    s = d.subject()
    a = d.action(determiners=("", "", "그", "이"), only=GIVING_LIST)
    receiver = d.someone()
    return d.say(
        f"{d.topic(s)} {pt.to_person(receiver.korean)} {d.object_(a.object.korean)} "
        f"{d.past(a.verb)}",
        f"{s.english} {en.past(a.verb.english)} {a.object.english} to {receiver.english}",
    )


@pattern
def with_somebody(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    저는 지민과 함께 도서관에 갔습니다. = I went to the library with Jimin.
    """
    s, friend, place = d.subject(), d.someone("name name kin job friend"), d.pick(_PLACES)
    together = d.vary("함께", "함께", "같이", "")
    return d.say(
        f"{d.topic(s)} {d.with_(friend.korean)} {together} {place.korean}에 {d.past(GO)}",
        f"{s.english} went {to(place)} with {friend.english}",
    )
