"""Sentence patterns about doing things: tense, negation, wishes, duties and questions."""

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import (
    ABSENT,
    DO,
    EXIST,
    LIKE,
    NOT_BE,
    NOT_DO,
    UNABLE,
    WISH,
    Draw,
    Sentence,
    be,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    STATIVE_LIST,
    Noun,
    Term,
    Verb,
    intransitive,
    terms,
    transitive,
)
from headway.sample_corpus.pattern_registry import pattern

_DEFINITE = ("그", "이", "저")
_PERISHABLE = ("fruit", "vegetable", "snack", "bakery", "dessert", "meat", "hotdrink", "plant")
# Times some days away; the others are weeks, months or years away.
_NEAR_PAST = tuple(t for t in terms("past") if not t.korean.startswith(("지난", "작년")))
_NEAR_FUTURE = tuple(t for t in terms("future") if not t.korean.startswith(("다음", "내년")))
# One asks for these politely with the plain verb (eating and drinking have verbs of their own).
_REQUESTS = (
    "open", "close", "lock", "turn on", "turn off", "clean", "fix", "wipe", "move", "carry",
    "read", "write", "use", "throw away", "pick up", "choose", "review", "copy", "print",
    "wrap", "translate", "paint", "wait for", "push", "recommend",
)  # fmt: skip
_PROHIBITED = (
    "open", "close", "lock", "turn on", "turn off", "move", "throw away", "touch", "use",
    "push", "hide", "sell", "buy", "take off", "print", "copy", "paint", "carry", "wait for",
)  # fmt: skip


def _named(names: tuple[str, ...]) -> tuple[Verb, ...]:
    return tuple(verb for verb in transitive("v") if verb.english in names)


def _time(d: Draw, verb: Verb, group: str, noun: Noun | None = None) -> Term:
    lasting = noun is None or noun.group not in _PERISHABLE
    near = _NEAR_PAST if group == "past" else _NEAR_FUTURE
    if "l" in verb.tags:
        return d.pick([t for t in terms(group) if t not in near])
    return d.pick(terms(group) if "a" in verb.tags and lasting else near)


@pattern
def past_event(d: Draw) -> Sentence:
    """Say "민수는 어제 편지를 썼습니다." for "Minsu wrote a letter yesterday."."""
    s, a = d.subject(), d.action()
    time = _time(d, a.verb, "past", a.noun)
    verb = d.past(a.verb)
    return d.say(
        f"{d.timed(s, time.korean)} {d.object_(a.object.korean)} {verb}",
        f"{s.english} {en.past(a.verb.english)} {a.object.english} {time.english}",
    )


@pattern
def future_event(d: Draw) -> Sentence:
    """Say "민수는 내일 그 책을 살 것입니다." for "Minsu will buy the book tomorrow."."""
    s, a = d.subject(), d.action("v")
    time = _time(d, a.verb, "future", a.noun)
    return d.say(
        f"{d.timed(s, time.korean)} {d.object_(a.object.korean)} {d.future(a.verb)}",
        f"{s.english} will {a.verb.english} {a.object.english} {time.english}",
    )


@pattern
def daily_habit(d: Draw) -> Sentence:
    """Say "민수는 매일 커피를 마십니다." for "Minsu drinks coffee every day."."""
    s, time, a = d.subject(), d.term("habit"), d.action("h", ("",))
    return d.say(
        f"{d.timed(s, time.korean)} {d.object_(a.object.korean)} {d.present(a.verb)}",
        f"{s.english} {verb_present(s.agreement, a.verb.english)} {a.object.english} "
        f"{time.english}",
    )


@pattern
def frequent_habit(d: Draw) -> Sentence:
    """Say "저는 자주 피아노를 연주합니다." for "I often play the piano."."""
    s, often, a = d.subject(), d.term("frequency"), d.action("h", ("",))
    object_ = d.object_(a.object.korean)
    after = d.vary("", "", "after") == "after"
    phrase = f"{object_} {often.korean}" if after else f"{often.korean} {object_}"
    return d.say(
        f"{d.topic(s)} {phrase} {d.present(a.verb)}",
        f"{s.english} {often.english} {verb_present(s.agreement, a.verb.english)} "
        f"{a.object.english}",
    )


@pattern
def going_on_now(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    그 의사는 지금 편지를 쓰고 있습니다. = The doctor is writing a letter now.
    """
    s, a, now = d.subject(), d.action("p"), d.deal((True, True, False))
    return d.say(
        f"{d.topic(s)} {'지금' if now else ''} {d.object_(a.object.korean)} {ko.stem(a.verb.korean)}고 "
        f"{d.present(EXIST)}",
        f"{s.english} {be(s.agreement)} {en.ing(a.verb.english)} {a.object.english}{' now' if now else ''}",
    )


@pattern
def not_done(d: Draw) -> Sentence:
    """Say "민수는 그 책을 읽지 않았습니다." for "Minsu did not read the book."."""
    s, a = d.subject(), d.action(determiners=_DEFINITE)
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {d.denied(a.verb, NOT_DO, past=True)}",
        f"{s.english} did not {a.verb.english} {a.object.english}",
    )


@pattern
def could_not(d: Draw) -> Sentence:
    """Say "저는 그 책을 읽지 못했습니다." for "I could not read the book."."""
    s, a = d.subject(), d.action("v", determiners=_DEFINITE)
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {d.denied(a.verb, UNABLE, past=True)}",
        f"{s.english} could not {a.verb.english} {a.object.english}",
    )


@pattern
def ability(d: Draw) -> Sentence:
    """Say "민수는 그 문을 열 수 있습니다." for "Minsu can open the door."."""
    s, a, able = d.subject(), d.action("v", determiners=_DEFINITE), d.deal((True, True, False))
    verb = ko.prospective(a.verb.korean, a.verb.irregular)
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {verb} 수 "
        f"{d.present(EXIST if able else ABSENT)}",
        f"{s.english} {'can' if able else 'cannot'} {a.verb.english} {a.object.english}",
    )


@pattern
def own_wish(d: Draw) -> Sentence:
    """Say "저는 그 모자를 사고 싶습니다." for "I want to buy the hat."."""
    s, a, wish = d.me(), d.action("v", ("", *_DEFINITE)), d.deal((True, True, False))
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {ko.stem(a.verb.korean)}고 "
        f"{d.present(WISH) if wish else d.denied(WISH, NOT_BE)}",
        f"{s.english} {'want' if wish else 'do not want'} to {a.verb.english} {a.object.english}",
    )


@pattern
def other_wish(d: Draw) -> Sentence:
    """Say "민수는 그 모자를 사고 싶어 합니다." for "Minsu wants to buy the hat."."""
    s, a = d.subject(first=False), d.action("v", ("", *_DEFINITE))
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {ko.stem(a.verb.korean)}고 "
        f"싶어 {d.present(DO)}",
        f"{s.english} {verb_present(s.agreement, 'want')} to {a.verb.english} {a.object.english}",
    )


@pattern
def duty(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    우리는 내일 그 기사를 읽어야 합니다. = We must read the article tomorrow.
    """
    s, a = d.subject(), d.action("v", ("", *_DEFINITE))
    time = _time(d, a.verb, "future", a.noun)
    verb = ko.obligation(a.verb.korean, a.verb.irregular)
    return d.say(
        f"{d.timed(s, time.korean)} {d.object_(a.object.korean)} {verb} {d.present(DO)}",
        f"{s.english} must {a.verb.english} {a.object.english} {time.english}",
    )


@pattern
def request(d: Draw) -> Sentence:
    """Say "그 창문을 여십시오." for "Please open the window."."""
    if d.deal((True, False)):
        a = d.action("v", _DEFINITE, _named(_PROHIBITED))
        stop = {"formal": "마십시오", "polite": "마세요", "plain": "마라", "casual": "마"}[d.style]
        return d.say(
            f"{d.object_(a.object.korean)} {ko.stem(a.verb.korean)}지 {stop}",
            f"please do not {a.verb.english} {a.object.english}",
        )
    a = d.action("v", _DEFINITE, _named(_REQUESTS))
    return d.say(
        f"{d.object_(a.object.korean)} {d.request(a.verb)}",
        f"please {a.verb.english} {a.object.english}",
    )


@pattern
def did_question(d: Draw) -> Sentence:
    """Ask "민수는 어제 그 책을 읽었습니까?" for "Did Minsu read the book yesterday?"."""
    s, a = d.asked(), d.action(determiners=_DEFINITE)
    time = _time(d, a.verb, "past", a.noun)
    verb = d.past_question(a.verb)
    return d.say(
        f"{d.timed(s, time.korean)} {d.object_(a.object.korean)} {verb}",
        f"did {s.english} {a.verb.english} {a.object.english} {time.english}",
        "?",
    )


@pattern
def what_question(d: Draw) -> Sentence:
    """Ask "민수는 어제 무엇을 읽었습니까?" for "What did Minsu read yesterday?"."""
    s, verb = d.asked(), d.pick(transitive("q"))
    time = _time(d, verb, "past")
    return d.say(
        f"{d.timed(s, time.korean)} 무엇을 {d.past_question(verb)}",
        f"what did {s.english} {verb.english} {time.english}",
        "?",
        asks=True,
    )


@pattern
def who_question(d: Draw) -> Sentence:
    """Ask "누가 그 창문을 열었습니까?" for "Who opened the window?"."""
    a = d.action(determiners=_DEFINITE)
    return d.say(
        f"{pt.subject('누구')} {d.object_(a.object.korean)} {d.past_question(a.verb)}",
        f"who {en.past(a.verb.english)} {a.object.english}",
        "?",
        asks=True,
    )


@pattern
def where_question(d: Draw) -> Sentence:
    """Ask a sentence like the one below.

    그 의사는 어디에서 그 모자를 샀습니까? = Where did the doctor buy the hat?
    """
    verbs = tuple(v for v in transitive() if not {"room", "city"} & {*v.groups})
    s, a = d.asked(), d.action(determiners=_DEFINITE, only=verbs)
    return d.say(
        f"{d.topic(s)} 어디에서 {d.object_(a.object.korean)} {d.past_question(a.verb)}",
        f"where did {s.english} {a.verb.english} {a.object.english}",
        "?",
        asks=True,
    )


@pattern
def when_question(d: Draw) -> Sentence:
    """Ask a sentence like the one below.

    민수는 언제 그 집을 지을 것입니까? = When will Minsu build the house?
    """
    s, a = d.asked(), d.action("v", _DEFINITE)
    return d.say(
        f"{d.topic(s)} 언제 {d.object_(a.object.korean)} {d.future_question(a.verb)}",
        f"when will {s.english} {a.verb.english} {a.object.english}",
        "?",
        asks=True,
    )


@pattern
def why_question(d: Draw) -> Sentence:
    """Ask "그 아이는 왜 울었습니까?" for "Why did the child cry?"."""
    s, verb = d.asked(), d.pick(intransitive())
    return d.say(
        f"{d.topic(s)} 왜 {d.past_question(verb)}",
        f"why did {s.english} {verb.english}",
        "?",
        asks=True,
    )


@pattern
def taste(d: Draw) -> Sentence:
    """Say "민수는 테니스를 좋아합니다." for "Minsu likes tennis."."""
    # Only things that are liked in general: a bare countable noun would be one single thing.
    verbs = STATIVE_LIST
    s, a, yes = d.subject(), d.action(determiners=("",), only=verbs), d.deal((True, True, False))
    if yes:
        korean, verb = d.present(a.verb), verb_present(s.agreement, a.verb.english)
    else:
        korean = d.denied(a.verb, NOT_DO)
        verb = f"{verb_present(s.agreement, 'do')} not {a.verb.english}"
    return d.say(
        f"{d.topic(s)} {d.object_(a.object.korean)} {korean}",
        f"{s.english} {verb} {a.object.english}",
    )


@pattern
def hobby(d: Draw) -> Sentence:
    """Say "저는 수영하는 것을 좋아합니다." for "I like swimming."."""
    s, verb = d.subject(), d.pick(intransitive("v"))
    return d.say(
        f"{d.topic(s)} {ko.ongoing(verb.korean)} 것을 {d.present(LIKE)}",
        f"{s.english} {verb_present(s.agreement, 'like')} {en.ing(verb.english)}",
    )
