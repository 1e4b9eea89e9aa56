"""Sentence patterns of a first conversation: greetings, who one is, and feelings."""

import re
from dataclasses import replace

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import particles as pt
from headway.sample_corpus.by_heart import exclaimed, greeting_marks
from headway.sample_corpus.english import past, plural
from headway.sample_corpus.grammar import (
    DO,
    NOT_BE,
    NOT_DO,
    WISH,
    Draw,
    Phrase,
    Sentence,
    be,
    noun_phrase,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    ADJECTIVE_LIST,
    PERSON,
    STATIVE_LIST,
    WEATHER_LIST,
    Adjective,
    Auxiliary,
    Verb,
    nouns,
    pairs,
)
from headway.sample_corpus.pattern_registry import pattern
from headway.sample_corpus.patterns_events import taste
from headway.sample_corpus.patterns_things import ownership, trade
from headway.sample_corpus.phrases import CASUAL_GREETINGS, POLITE_GREETINGS

_POLITE, _CASUAL = tuple(pairs(POLITE_GREETINGS)), tuple(pairs(CASUAL_GREETINGS))
_PARENTS = ("엄마", "아빠")
_ADDRESSED_KIN = tuple(
    n for n in nouns("kin") if n.korean in (*_PARENTS, "어머니", "아버지", "할머니", "할아버지")
)
_FEELINGS = tuple(
    a
    for a in ADJECTIVE_LIST
    if a.korean
    in ("피곤하다", "배고프다", "아프다", "행복하다", "슬프다", "바쁘다", "외롭다", "건강하다")
)
# The adjectives of things alone: without a subject they mean "it".
_OF_THINGS = tuple(a for a in ADJECTIVE_LIST if not {*PERSON} & {*a.groups})
_FELT_WEATHER = tuple(w for w in WEATHER_LIST if w.korean not in ("좋다", "나쁘다"))
_IDENTIFIED = tuple(
    n
    for n in nouns(
        "pet", "fruit", "vegetable", "book", "message", "garment", "headwear", "instrument",
        "furniture", "container", "appliance", "belonging", "homeware", "crockery", "stationery",
        "plant", "car", "bike", "hotdrink", "colddrink",
    )
    if n.number != "plural"
)  # fmt: skip
_LIKED = tuple(
    n
    for n in nouns("pet", "wild", "farm", "fruit", "book", "show", "song", "plant", "snack")
    if n.number == "count"
)
_DEMONSTRATIVES = (("이것", "이건", "this"), ("저것", "저건", "that"), ("그것", "그건", "it"))
# Skills in a language: the verb, and the English with its object in braces.
_SKILLS = (
    (Auxiliary("잘하다"), "speak {} well"), (Auxiliary("조금 하다"), "speak a little {}"),
    (Auxiliary("잘 못하다"), "do not speak {} well"), (Auxiliary("못하다"), "cannot speak {}"),
)  # fmt: skip
_BECOME = Auxiliary("되다")
_OBJECTS = (Phrase("그", "him"), Phrase("그녀", "her"), Phrase("그들", "them"))


@pattern
def greeting(d: Draw) -> Sentence:
    """Greet somebody: "안녕하세요, 민수 씨." for "Hello, Minsu."."""
    polite = d.style in ("formal", "polite")
    korean, english = d.deal(_POLITE if polite else _CASUAL)
    kind = d.deal(("name", "name", "name", "kin", "teacher" if polite else "name", "all"))
    if kind == "name":
        name = d.term("name")
        person = Phrase(f"{name.korean} 씨" if polite else pt.vocative(name.korean), name.english)
    elif kind == "all":
        person = Phrase("여러분" if polite else "얘들아", "everyone")
    else:
        options = _ADDRESSED_KIN if polite else [n for n in _ADDRESSED_KIN if n.korean in _PARENTS]
        noun = d.pick(nouns("job")[_TEACHER : _TEACHER + 1] if kind == "teacher" else options)
        person = Phrase(noun.korean, noun.english)
    first = d.vary("", "first") == "first"
    text = f"{person.korean}, {korean}" if first else f"{korean}, {person.korean}"
    mark = d.vary(*greeting_marks(korean))
    return Sentence(
        d.pattern, text + mark, exclaimed(f"{english}, {person.english}", mark),
        tuple(d.words), frozenset(d.pairings), tuple([*d.form, korean]),
    )  # fmt: skip


_TEACHER = next(place for place, noun in enumerate(nouns("job")) if noun.korean == "선생님")


@pattern
def introduction(d: Draw) -> Sentence:
    """Say "제 이름은 민수입니다." for "My name is Minsu."."""
    kind = d.deal(("am", "am", "name", "name", "question"))
    owner = d.deal((("", "my"), ("", "my"), ("그의", "his"), ("그녀의", "her"), ("friend", "")))
    if kind == "name" and owner[0] == "friend":
        friend = d.someone("kin")
        owner = (f"{friend.korean}의", f"{friend.english}'s")
    surname = d.term("surname") if d.deal((True, False)) else None
    name = d.term("name")
    korean = (surname.korean if surname else "") + name.korean
    english = f"{surname.english} {name.english}" if surname else name.english
    if kind == "name":
        return d.say(
            f"{owner[0] or d.mine} 이름은 {pt.copula(korean, d.style)}",
            f"{owner[1]} name is {english}",
        )
    if kind == "question":
        return d.say(
            f"{d.topic(d.you)} {pt.copula_question(korean, d.style)}", f"are you {english}", "?"
        )
    me = d.topic(d.first_person("i"))
    if d.vary("", "", "라고") == "":
        return d.say(f"{me} {pt.copula(korean, d.style)}", f"I am {english}")
    return d.say(f"{me} {pt.called(korean)} {d.present(DO)}", f"I am {english}")


@pattern
def nationality(d: Draw) -> Sentence:
    """Say "저는 한국 사람입니다." for "I am Korean."."""
    kind = d.deal(("is", "is", "not", "question"))
    s, country = d.asked() if kind == "question" else d.subject(), d.term("nationality")
    korean = country.korean + d.vary(" 사람", " 사람", "인")
    return _identified(d, kind, d.topic(s), s, korean, country.english)


def _identified(d: Draw, kind: str, topic: str, s: Phrase, korean: str, english: str) -> Sentence:
    """Say that a subject is something, is not or was, or ask."""
    verb = be(s.agreement, kind == "was")
    if kind == "question":
        return d.say(
            f"{topic} {pt.copula_question(korean, d.style)}", f"{verb} {s.english} {english}", "?"
        )
    end = {"is": pt.copula, "was": pt.copula_past, "not": pt.negative_copula}[kind]
    denied = " not" if kind == "not" else ""
    return d.say(f"{topic} {end(korean, d.style)}", f"{s.english} {verb}{denied} {english}")


@pattern
def age(d: Draw) -> Sentence:
    """Say "저는 스무 살입니다." for "I am twenty years old."."""
    kind = d.deal(("is", "is", "is", "not", "question"))
    s, years = d.asked() if kind == "question" else d.subject(), d.term("age")
    return _identified(d, kind, d.topic(s), s, f"{years.korean} 살", f"{years.english} years old")


@pattern
def fact_question(d: Draw) -> Sentence:
    """Ask "이름이 뭐예요?" for "What is your name?"."""
    kind, fact = d.deal(("you", "you", "name", "kin", "other")), d.term("fact")
    korean, english = "", "your"
    if kind == "you":
        korean = d.vary("", "", "당신의" if d.style in ("formal", "polite") else "네")
    elif kind == "other":
        korean, english = d.deal((("그의", "his"), ("그녀의", "her"), ("그들의", "their")))
    else:
        owner = d.someone(kind)
        korean, english = f"{owner.korean}의", f"{owner.english}'s"
    particle = pt.topic if d.vary("은", "이") == "은" else pt.subject
    what = "무엇" if d.style == "formal" else d.vary("뭐", "뭐", "무엇")
    return d.say(
        f"{korean} {particle(fact.korean)} {pt.copula_question(what, d.style)}",
        f"what is {english} {fact.english}",
        "?",
        asks=True,
    )


@pattern
def this_is(d: Draw) -> Sentence:
    """Say "이것은 책입니다." for "This is a book."."""
    kind = d.deal(("is", "is", "not", "question"))
    full, short, english = d.deal(_DEMONSTRATIVES)
    noun = d.pick(_IDENTIFIED)
    topic = d.vary(pt.topic(full), short) if d.style != "formal" else pt.topic(full)
    return _identified(
        d, kind, topic, Phrase(full, english), noun.korean, noun_phrase(noun).english
    )


@pattern
def person_is(d: Draw) -> Sentence:
    """Say "이 사람은 제 친구입니다." for "This person is my friend."."""
    kind = d.deal(("is", "is", "not", "question"))
    korean, english = d.deal((("이", "this"), ("저", "that"), ("그", "the")))
    who = d.deal(("kin", "kin", "job", "name"))
    if who == "job":
        noun = d.pick(nouns("job"))
        other = noun_phrase(noun)
    else:
        other = d.someone(who)
    s = Phrase(f"{korean} 사람", f"{english} person")
    return _identified(d, kind, pt.topic(s.korean), s, other.korean, other.english)


@pattern
def weather(d: Draw) -> Sentence:
    """Say "오늘 날씨가 좋네요." for "The weather is good today."."""
    kind, named = d.deal(("is", "is", "was", "question")), d.deal((True, True, False))
    adjective = d.pick(WEATHER_LIST if named else _FELT_WEATHER)
    korean, english = ("어제", " yesterday") if kind == "was" else ("오늘", " today")
    if kind != "was" and d.deal((True, True, False)) is False:
        korean, english = "", ""
    elif d.vary("", "", "은"):
        korean = pt.topic(korean)
    degree = d.deal(("", "", "", "정말", "너무"))
    word = {"": "", "정말": "really ", "너무": "too "}[degree]
    subject = "날씨" + d.vary("가", "가", "") if named else ""
    described = f"{word}{adjective.english}{english}"
    verb = "was" if kind == "was" else "is"
    what = "the weather" if named else "it"
    if kind == "question":
        text = f"{korean} {subject} {degree} {d.present_question(adjective)}"
        return d.say(text, f"is {what} {described}", "?")
    text = f"{korean} {subject} {degree} {_said(d, adjective, kind)}"
    return d.say(text, f"{what} {verb} {described}")


def _said(d: Draw, adjective: Adjective, kind: str) -> str:
    """Return an adjective in the past, in the present, or as one notices something."""
    if kind == "was":
        return d.past(adjective)
    if d.style != "formal" and d.vary("", "", "네요"):
        return ko.observation(adjective.korean, d.style)
    return d.present(adjective)


@pattern
def it_is(d: Draw) -> Sentence:
    """Say "맛있어요." for "It is delicious."."""
    adjective = d.pick(_OF_THINGS)
    kind = d.deal(("is", "is", "was", "not", "question"))
    degree, word = "", ""
    if kind != "not" and d.deal((True, False)):
        term = d.term("degree")
        degree, word = d.degree(term), f"{term.english} "
    if kind == "question":
        return d.say(
            f"{degree} {d.present_question(adjective)}", f"is it {word}{adjective.english}", "?"
        )
    if kind == "not":
        return d.say(d.denied(adjective, NOT_BE), f"it is not {adjective.english}")
    return d.say(
        f"{degree} {_said(d, adjective, kind)}",
        f"it {'was' if kind == 'was' else 'is'} {word}{adjective.english}",
    )


@pattern
def bare_quality(d: Draw) -> Sentence:
    """Say "고양이가 귀여워요." for "The cat is cute."; a bare subject is definite."""
    kind = d.deal(("is", "is", "was", "not", "question"))
    noun, adjective = d.described(bare=False)
    d.use(adjective)
    d.use(noun)
    d.join(adjective, noun)
    topic = (pt.subject if d.vary("이", "은") == "이" else pt.topic)(noun.korean)
    verb = be("plural" if noun.number == "plural" else "third", kind == "was")
    degree, word = "", ""
    if kind != "not" and d.deal((True, False, False)):
        term = d.term("degree")
        degree, word = d.degree(term), f"{term.english} "
    if kind == "question":
        return d.say(
            f"{topic} {degree} {d.present_question(adjective)}",
            f"{verb} the {noun.english} {word}{adjective.english}",
            "?",
        )
    said = d.denied(adjective, NOT_BE) if kind == "not" else _said(d, adjective, kind)
    denied = "not " if kind == "not" else ""
    return d.say(
        f"{topic} {degree} {said}",
        f"the {noun.english} {verb} {denied}{word}{adjective.english}",
    )


@pattern
def feeling(d: Draw) -> Sentence:
    """Say "저는 피곤해요." for "I am tired."."""
    kind = d.deal(("is", "is", "was", "not", "question"))
    s = d.you if kind == "question" else d.me()
    adjective = d.deal(_FEELINGS)  # so few that none is held out
    d.fixed(adjective)
    degree, word = "", ""
    if kind != "not" and d.deal((True, False)):
        term = d.term("degree")
        degree, word = d.degree(term), f"{term.english} "
    topic = d.topic(s)
    verb = be(s.agreement, kind == "was")
    if kind == "question":
        return d.say(
            f"{topic} {degree} {d.present_question(adjective)}",
            f"{verb} {s.english} {word}{adjective.english}",
            "?",
        )
    if kind == "not":
        return d.say(
            f"{topic} {d.denied(adjective, NOT_BE)}", f"{s.english} {verb} not {adjective.english}"
        )
    form = d.past(adjective) if kind == "was" else d.present(adjective)
    return d.say(f"{topic} {degree} {form}", f"{s.english} {verb} {word}{adjective.english}")


@pattern
def affection(d: Draw) -> Sentence:
    """Say "저는 당신을 사랑합니다." for "I love you."."""
    kind = d.deal(("is", "is", "was", "not", "question"))
    if kind == "question":
        s = d.asked()
    else:
        s = d.first_person("i") if d.deal((True, True, False)) else d.subject(first=False)
    verb = d.deal([v for v in STATIVE_LIST if v.english in ("like", "love", "dislike")])
    d.fixed(verb)
    o = _beloved(d, s)
    topic, object_ = d.topic(s), d.object_(o.korean)
    if kind == "question":
        return d.say(
            f"{topic} {object_} {d.present_question(verb)}",
            f"{verb_present(s.agreement, 'do')} {s.english} {verb.english} {o.english}",
            "?",
        )
    return _liked(d, kind, s, f"{topic} {object_}", verb, o.english)


def _liked(d: Draw, kind: str, s: Phrase, korean: str, verb: Verb, english: str) -> Sentence:
    """Say that a subject likes something, does not or did."""
    if kind == "not":
        return d.say(
            f"{korean} {d.denied(verb, NOT_DO)}",
            f"{s.english} {verb_present(s.agreement, 'do')} not {verb.english} {english}",
        )
    if kind == "was":
        return d.say(f"{korean} {d.past(verb)}", f"{s.english} {past(verb.english)} {english}")
    return d.say(
        f"{korean} {d.present(verb)}",
        f"{s.english} {verb_present(s.agreement, verb.english)} {english}",
    )


def _beloved(d: Draw, s: Phrase) -> Phrase:
    """Deal the object of a feeling: you, me, him, a name or a relative."""
    kind = d.deal(("you", "you", "other", "name", "kin"))
    if kind == "you" and s.english not in ("I", "we"):
        return Phrase(d.first_person("i").korean, "me")
    if kind == "you":
        return d.you
    return d.deal(_OBJECTS) if kind == "other" else d.someone(kind)


@pattern
def general_taste(d: Draw) -> Sentence:
    """Say "저는 고양이를 좋아해요." for "I like cats."."""
    kind = d.deal(("is", "is", "not", "question"))
    s = d.asked() if kind == "question" else d.subject()
    noun = d.pick(_LIKED)
    verb = d.deal([v for v in STATIVE_LIST if v.english in ("like", "dislike")])
    d.fixed(verb)
    d.join(verb, noun)
    korean, english = f"{d.topic(s)} {d.object_(noun.korean)}", plural(noun.english)
    if kind == "question":
        return d.say(
            f"{korean} {d.asks_present(verb, s)}",
            f"{verb_present(s.agreement, 'do')} {s.english} {verb.english} {english}",
            "?",
        )
    return _liked(d, kind, s, korean, verb, english)


@pattern
def language_skill(d: Draw) -> Sentence:
    """Say "저는 한국어를 잘 못해요." for "I do not speak Korean well."."""
    s, language = d.subject(), d.pick(nouns("language"))
    verb, english = d.deal(_SKILLS)
    first, _, others = english.format(language.english).partition(" ")
    first = first if first == "cannot" else verb_present(s.agreement, first)
    return d.say(
        f"{d.topic(s)} {d.object_(language.korean)} {d.present(verb)}",
        f"{s.english} {first} {others}",
    )


@pattern
def acquaintance(d: Draw) -> Sentence:
    """Say "저는 그 사람을 몰라요." for "I do not know the person."."""
    kind = d.deal(("know", "know", "not", "question"))
    s = d.asked() if kind == "question" else d.subject()
    who = d.deal(("name", "kin", "job", "person"))
    if who == "person":
        korean, english = d.deal((("이", "this"), ("저", "that"), ("그", "the")))
        o = Phrase(f"{korean} 사람", f"{english} person")
    else:
        o = d.someone(who)
    korean, do = f"{d.topic(s)} {d.object_(o.korean)}", verb_present(s.agreement, "do")
    if kind == "question":
        return d.say(
            f"{korean} {d.asks_present(_KNOW, s)}", f"{do} {s.english} know {o.english}", "?"
        )
    if kind == "not":
        return d.say(f"{korean} {d.present(_NOT_KNOW)}", f"{s.english} {do} not know {o.english}")
    return d.say(
        f"{korean} {d.present(_KNOW)}",
        f"{s.english} {verb_present(s.agreement, 'know')} {o.english}",
    )


_KNOW, _NOT_KNOW = Auxiliary("알다"), Auxiliary("모르다", irregular="르")


@pattern
def ambition(d: Draw) -> Sentence:
    """Say "저는 의사가 되고 싶어요." for "I want to become a doctor."."""
    kind = d.deal(("want", "want", "became", "will"))
    s = d.me() if kind == "want" else d.subject(first=True)
    noun = d.pick(nouns("job"))
    trade = plural(noun.english) if s.agreement == "plural" else noun_phrase(noun).english
    korean = f"{d.topic(s)} {pt.complement(noun.korean)}"
    if kind == "want":
        return d.say(f"{korean} 되고 {d.present(WISH)}", f"{s.english} want to become {trade}")
    if kind == "will":
        return d.say(f"{korean} {d.future(_BECOME)}", f"{s.english} will become {trade}")
    return d.say(f"{korean} {d.past(_BECOME)}", f"{s.english} became {trade}")


_ANSWERS = (trade, taste, ownership, nationality, age, person_is, feeling, general_taste)
_LOWERED = ("The", "This", "That", "He", "She", "They", "We", "My")


@pattern
def answer(d: Draw) -> Sentence:
    """Say "네, 저는 학생입니다." for "Yes, I am a student."."""
    build = d.deal(_ANSWERS)
    sentence = build(d)
    while sentence.english.endswith("?"):
        d.start()
        sentence = build(d)
    no = re.search(r"\bnot\b", sentence.english) is not None
    if d.style in ("formal", "polite"):
        korean = d.vary("아니요", "아니요", "아뇨") if no else d.vary("네", "네", "예")
    else:
        korean = "아니" if no else "응"
    first, space, others = sentence.english.partition(" ")
    first = first.lower() if first in _LOWERED else first
    return replace(
        sentence,
        korean=f"{korean}, {sentence.korean}",
        english=f"{'No' if no else 'Yes'}, {first}{space}{others}",
        form=tuple(d.form),
    )
