"""Sentence patterns with two things, tools, relative clauses, reasons and conditions."""

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import (
    GO,
    Draw,
    Sentence,
    at,
    be,
    contradicts,
    noun_phrase,
    to,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    STATIVE_LIST,
    WEATHER_LIST,
    Adjective,
    Noun,
    Verb,
    adjectives,
    intransitive,
    nouns,
    term_of,
    terms,
    transitive,
)
from headway.sample_corpus.pattern_registry import pattern

_SHELTERS = tuple(n for n in nouns("shop") if n.english in (
    "cafe", "library", "bookstore", "art gallery", "gym", "restaurant", "bakery",
))  # fmt: skip
# Verbs that take two things at once, of groups that have several members.
_SHARED = tuple(
    v
    for v in transitive()
    if v.english not in ("wear", "take off", "ride", "drive", "take")
    and not {"job", "song", "bike", "public"} & {*v.groups}
)
# "A flower and a rose" makes no sense: such words contain others; the last two have no others.
_GENERAL = ("꽃", "책", "고기", "나무", "이메일", "밥")
_FAR = ("다음 주에", "다음 달에", "내년에")
_FINE = ("좋다", "따뜻하다", "시원하다", "맑다")
# Tools: the tool, the verb and its objects.
_TOOLS = (
    ("칼", "cut", "material bakery"), ("칼", "chop", "vegetable"), ("가위", "cut", "material"),
    ("연필", "write", "message"), ("볼펜", "write", "message"),
    ("붓", "draw", "plant pet wild farm"), ("크레용", "draw", "plant pet wild farm"),
    ("숟가락", "eat", "dessert meal rice"), ("포크", "eat", "fruit meat"),
    ("젓가락", "eat", "meat staple"), ("수건", "wipe", "crockery"),
)  # fmt: skip
# Actions of people with this feeling.
_REASONS = {
    "피곤하다": "자다 쉬다 졸다 하품하다", "슬프다": "울다 기도하다", "아프다": "쉬다 자다 울다",
    "행복하다": "웃다 춤추다 노래하다", "외롭다": "울다 산책하다",
}  # fmt: skip


@pattern
def two_people(d: Draw) -> Sentence:
    """Say "민수와 지민은 의사를 만났습니다." for "Minsu and Jimin met a doctor."."""
    first, second = d.someone("name kin"), d.someone("name")
    d.many = True
    a = d.action()
    return d.say(
        f"{pt.with_(first.korean)} {pt.topic(second.korean)} {d.object_(a.object.korean)} "
        f"{d.past(a.verb)}",
        f"{first.english} and {second.english} {en.past(a.verb.english)} {a.object.english}",
    )


@pattern
def two_things(d: Draw) -> Sentence:
    """Say "민수는 연필과 공책을 샀습니다." for "Minsu bought a pencil and a notebook."."""
    s, a = d.subject(), d.action(determiners=("",), only=_SHARED)
    while a.noun.korean in _GENERAL or len(nouns(a.noun.group)) == 1:
        d.forget(2)
        a = d.action(determiners=("",), only=_SHARED)
    second = d.fresh([n for n in nouns(a.noun.group) if n.korean not in _GENERAL])
    d.join(a.verb, second)
    english = noun_phrase(second).english
    if "t" in a.verb.tags:
        english = f"the {second.english}"
    return d.say(
        f"{d.topic(s)} {pt.with_(a.object.korean)} {d.object_(second.korean)} {d.past(a.verb)}",
        f"{s.english} {en.past(a.verb.english)} {a.object.english} and {english}",
    )


@pattern
def with_tool(d: Draw) -> Sentence:
    """Say "저는 칼로 종이를 잘랐습니다." for "I cut paper with a knife."."""
    s = d.subject()
    tool_name, verb_name, groups = d.deal(_TOOLS)
    tool = next(n for n in nouns("cutlery", "stationery", "homeware") if n.korean == tool_name)
    verb = next(v for v in transitive() if v.english == verb_name)
    noun = d.pick(nouns(*groups.split()))
    d.use(tool)
    d.fixed(verb)
    d.join(verb, noun)
    phrase = d.thing(noun, ("", "그"))
    return d.say(
        f"{d.topic(s)} {pt.by(tool.korean)} {d.object_(phrase.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {phrase.english} with {noun_phrase(tool).english}",
    )


@pattern
def in_language(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    그 학생은 영어로 편지를 썼습니다. = The student wrote a letter in English.
    """
    s, language = d.subject(), d.pick(nouns("language"))
    verb = d.pick([v for v in transitive() if v.english in ("read", "write")])
    noun = d.pick(nouns(*verb.groups))
    d.join(verb, noun)
    phrase = d.thing(noun, ("", "그"))
    return d.say(
        f"{d.topic(s)} {pt.by(language.korean)} {d.object_(phrase.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {phrase.english} in {language.english}",
    )


@pattern
def described_object(d: Draw) -> Sentence:
    """Say "그 의사는 빨간 모자를 샀습니다." for "The doctor bought a red hat."."""
    s = d.subject()
    verb, noun = d.chosen("")
    while "t" in verb.tags or not (fitting := _fitting(verb, noun)):
        d.forget(2)
        verb, noun = d.chosen("")
    adjective = d.pick(fitting)
    d.join(adjective, noun)
    phrase = noun_phrase(noun, d.deal(("", "", "그", "이", "저")), adjective)
    return d.say(
        f"{d.topic(s)} {d.object_(phrase.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {phrase.english}",
    )


def _fitting(verb: Verb, noun: Noun) -> list[Adjective]:
    return [a for a in adjectives(noun.group) if not contradicts(a, verb)]


@pattern
def relative_object(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    제가 어제 산 가방은 비쌌습니다. = The bag that I bought yesterday was expensive.
    """
    s = d.subject(determiners=("그",))
    verb, noun = d.chosen()
    while not (fitting := adjectives(noun.group)):
        d.forget(2)
        verb, noun = d.chosen()
    adjective = d.pick(fitting)
    d.join(adjective, noun)
    time = term_of("작년에" if "l" in verb.tags else "어제", "past")
    d.fixed(time)
    was = "were" if noun.number == "plural" else "was"
    return d.say(
        f"{pt.subject(s.korean)} {time.korean} {ko.done(verb.korean, verb.irregular)} "
        f"{pt.topic(noun.korean)} {d.past(adjective)}",
        f"the {noun.english} that {s.english} {en.past(verb.english)} {time.english} {was} "
        f"{adjective.english}",
    )


@pattern
def relative_subject(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    그 책을 읽은 학생은 똑똑합니다. = The student who read the book is smart.
    """
    a = d.action(determiners=("그", "이", "저"))
    noun = d.pick([n for n in nouns("job", "human") if n != a.noun])
    adjective = d.pick(adjectives("job"))
    d.join(adjective, noun)
    return d.say(
        f"{pt.object_(a.object.korean)} {ko.done(a.verb.korean, a.verb.irregular)} "
        f"{pt.topic(noun.korean)} {d.present(adjective)}",
        f"the {noun.english} who {en.past(a.verb.english)} {a.object.english} is "
        f"{adjective.english}",
    )


@pattern
def relative_planned(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    이것은 제가 내일 읽을 책입니다. = This is the book that I will read tomorrow.
    """
    s, (verb, noun) = d.subject(determiners=("그",)), d.chosen("rv")
    time = d.pick([t for t in terms("future") if ("l" in verb.tags) == (t.korean in _FAR)])
    this = "these are" if noun.number == "plural" else "this is"
    return d.say(
        f"이것은 {pt.subject(s.korean)} {time.korean} "
        f"{ko.prospective(verb.korean, verb.irregular)} {pt.copula(noun.korean, d.style)}",
        f"{this} the {noun.english} that {s.english} will {verb.english} {time.english}",
    )


@pattern
def because_of_weather(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    날씨가 추워서 민수는 카페에 갔습니다. = The weather was cold, so Minsu went to the cafe.
    """
    weather, s = d.pick(WEATHER_LIST), d.subject()
    fine = weather.korean in _FINE
    place = d.pick(nouns("outdoor") if fine else _SHELTERS)
    return d.say(
        f"날씨가 {ko.reason(weather.korean, weather.irregular)} {d.topic(s)} "
        f"{place.korean}에 {d.past(GO)}",
        f"the weather was {weather.english}, so {s.english} went {to(place)}",
    )


@pattern
def if_weather(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    날씨가 좋으면 우리는 공원에 갈 것입니다. = If the weather is good, we will go to the park.
    """
    weather, s = d.pick(WEATHER_LIST), d.subject()
    fine = weather.korean in _FINE
    place = d.pick(nouns("outdoor") if fine else _SHELTERS)
    return d.say(
        f"날씨가 {ko.condition(weather.korean, weather.irregular)} {d.topic(s)} "
        f"{place.korean}에 {d.future(GO)}",
        f"if the weather is {weather.english}, {s.english} will go {to(place)}",
    )


@pattern
def because_of_feeling(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    저는 피곤해서 침실에서 쉬었습니다. = I was tired, so I rested in the bedroom.
    """
    s = d.me()
    feeling = d.pick([a for a in adjectives("job") if a.korean in _REASONS])
    verb = d.pick([v for v in intransitive() if v.korean in _REASONS[feeling.korean].split()])
    place = d.pick(nouns(*verb.groups))
    d.join(verb, place)
    return d.say(
        f"{d.topic(s)} {ko.reason(feeling.korean, feeling.irregular)} {place.korean}에서 "
        f"{d.past(verb)}",
        f"{s.english} {be(s.agreement, True)} {feeling.english}, so {s.english} "
        f"{en.past(verb.english)} {at(place)}",
    )


@pattern
def one_after_another(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    민수는 밥을 먹고 커피를 마셨습니다. = Minsu ate rice and drank coffee.
    """
    s = d.subject()
    first = d.action("p", ("", "그"))
    second = d.action("p", ("", "그"))
    return d.say(
        f"{d.topic(s)} {d.object_(first.object.korean)} {ko.stem(first.verb.korean)}고 "
        f"{d.object_(second.object.korean)} {d.past(second.verb)}",
        f"{s.english} {en.past(first.verb.english)} {first.object.english} and "
        f"{en.past(second.verb.english)} {second.object.english}",
    )


@pattern
def favorite_thing(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    수학은 민수가 좋아하는 과목입니다. = Math is the subject that Minsu likes.
    """
    group, korean, english = d.deal((
        ("field", "과목", "subject"), ("ballgame", "운동", "sport"), ("racket", "운동", "sport"),
        ("meal", "음식", "food"), ("hotdrink", "음료", "drink"),
    ))  # fmt: skip
    s = d.subject(determiners=("그",))
    noun = d.pick(nouns(group))
    verb = d.pick([v for v in STATIVE_LIST if v.english in ("like", "dislike")])
    d.join(verb, noun)
    plural = noun.number == "plural"
    return d.say(
        f"{pt.topic(noun.korean)} {pt.subject(s.korean)} {ko.ongoing(verb.korean)} {pt.copula(korean, d.style)}",
        f"{noun_phrase(noun).english} {'are' if plural else 'is'} the {english} that "
        f"{s.english} {verb_present(s.agreement, verb.english)}",
    )
