"""Sentence patterns of every day: plain statements, going, asking the way, prices and the time."""

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import (
    ABSENT,
    COME,
    DO,
    EXIST,
    GO,
    NOT_DO,
    WISH,
    Draw,
    Sentence,
    at,
    to,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    PERSON,
    Auxiliary,
    intransitive,
    nouns,
    term_of,
    terms,
    transitive,
)
from headway.sample_corpus.pattern_registry import pattern

_PLACES = nouns("shop", "place", "outdoor", "own", "work")
_ASKED_PLACES = nouns("shop", "place", "utility")
_PRICED = nouns(
    "fruit", "vegetable", "snack", "book", "stationery", "bakery", "dessert", "garment", "belonging"
)
_WANTED = nouns(
    "fruit", "snack", "bakery", "dessert", "book", "stationery", "cutlery", "crockery", "belonging",
    "colddrink", "hotdrink", "meat",
)  # fmt: skip
_SOME = nouns("hotdrink", "colddrink", "rice", "dessert", "dish", "ingredient", "meat")
_DRINKS = nouns("hotdrink", "colddrink")
_GIVE = Auxiliary("주다")
_ACTORS = nouns(*PERSON, "pet")
# Where one does what: a verb, the groups of its objects and the places.
_ERRANDS = (
    ("buy", "fruit vegetable bakery meat hotdrink", "시장 마트"),
    ("buy", "garment footwear homeware", "시장 백화점"), ("buy", "book", "서점"),
    ("borrow", "book", "도서관"), ("read", "book document message", "도서관 카페 집 교실 공원 방"),
    ("write", "document message", "도서관 카페 집 교실"),
    ("eat", "meal dish staple rice meat", "집 식당 부엌"), ("drink", "hotdrink colddrink", "카페 집"),
    ("learn", "language field", "학교 대학교"), ("study", "language field", "도서관 교실 집 방"),
    ("teach", "language field", "학교 대학교"), ("watch", "show", "영화관 극장 집"),
    ("listen to", "song audio", "집 방 카페"), ("play", "ballgame", "공원 학교 놀이터"),
    ("play", "instrument", "집 방 교실"), ("meet", "friend", "카페 역 공원 학교 공항"),
)  # fmt: skip
_ERRAND_PLACES = nouns("shop", "place", "outdoor", "room", "own")


@pattern
def present_event(d: Draw) -> Sentence:
    """Say "저는 사과를 먹습니다." for "I eat an apple."."""
    kind = d.deal(("is", "is", "is", "not", "question"))
    s = d.asked() if kind == "question" else d.subject()
    a = d.action("p" if kind == "is" else "h", ("", "", "그") if kind == "is" else ("",))
    korean, do = f"{d.topic(s)} {d.object_(a.object.korean)}", verb_present(s.agreement, "do")
    if kind == "question":
        return d.say(
            f"{korean} {d.asks_present(a.verb, s)}",
            f"{do} {s.english} {a.verb.english} {a.object.english}",
            "?",
        )
    if kind == "not":
        return d.say(
            f"{korean} {d.denied(a.verb, NOT_DO)}",
            f"{s.english} {do} not {a.verb.english} {a.object.english}",
        )
    return d.say(
        f"{korean} {d.present(a.verb)}",
        f"{s.english} {verb_present(s.agreement, a.verb.english)} {a.object.english}",
    )


@pattern
def past_action(d: Draw) -> Sentence:
    """Say "저는 밥을 먹었어요." for "I ate rice."."""
    kind = d.deal(("was", "was", "was", "question"))
    s, a = d.asked() if kind == "question" else d.subject(), d.action()
    korean = f"{d.topic(s)} {d.object_(a.object.korean)}"
    if kind == "question":
        return d.say(
            f"{korean} {d.past_question(a.verb)}",
            f"did {s.english} {a.verb.english} {a.object.english}",
            "?",
        )
    return d.say(
        f"{korean} {d.past(a.verb)}", f"{s.english} {en.past(a.verb.english)} {a.object.english}"
    )


@pattern
def act(d: Draw) -> Sentence:
    """Say "아이가 웃습니다." for "The child laughs."."""
    kind = d.deal(("is", "is", "was", "was", "will", "not", "question"))
    s = d.asked() if kind == "question" else d.subject()
    verb = d.pick(intransitive("p" if kind in ("is", "question") else ""))
    topic, english = d.topic(s), verb.english
    if kind == "question":
        return d.say(f"{topic} {d.past_question(verb)}", f"did {s.english} {english}", "?")
    korean, said = {
        "is": (d.present(verb), verb_present(s.agreement, english)),
        "was": (d.past(verb), en.past(english)),
        "will": (d.future(verb), f"will {english}"),
        "not": (d.denied(verb, NOT_DO, past=True), f"did not {english}"),
    }[kind]
    return d.say(f"{topic} {korean}", f"{s.english} {said}")


@pattern
def bare_act(d: Draw) -> Sentence:
    """Say "고양이가 자고 있어요." for "The cat is sleeping."; a bare subject is definite."""
    kind = d.deal(("is", "was", "now", "now"))
    noun, verb = d.pick(_ACTORS), d.pick(intransitive("p"))
    topic = (pt.subject if d.vary("이", "은") == "이" else pt.topic)(noun.korean)
    korean, said = {
        "is": (d.present(verb), en.third_person(verb.english)),
        "was": (d.past(verb), en.past(verb.english)),
        "now": (f"{ko.stem(verb.korean)}고 {d.present(EXIST)}", f"is {en.ing(verb.english)}"),
    }[kind]
    return d.say(f"{topic} {korean}", f"the {noun.english} {said}")


@pattern
def did_together(d: Draw) -> Sentence:
    """Say "저는 친구와 영화를 봤어요." for "I watched a movie with a friend."."""
    s, friend, a = d.subject(), d.someone("name name kin friend"), d.action("p")
    together = d.vary("함께", "같이", "")
    time, english = "", ""
    if d.deal((True, False)) and "l" not in a.verb.tags:
        term = d.pick([*(t for t in terms("past") if " " not in t.korean), *terms("weekday")])
        time, english = term.korean, f" {term.english}"
    korean = d.timed(s, time) if time else d.topic(s)
    return d.say(
        f"{korean} {d.with_(friend.korean)} {together} {d.object_(a.object.korean)} "
        f"{d.past(a.verb)}",
        f"{s.english} {en.past(a.verb.english)} {a.object.english} with {friend.english}{english}",
    )


@pattern
def act_wished(d: Draw) -> Sentence:
    """Say "저는 쉬고 싶어요." for "I want to rest."."""
    kind = d.deal(("want", "want", "can", "cannot", "must"))
    s = d.me() if kind == "want" else d.subject()
    verb = d.pick(intransitive("v"))
    if kind == "want":
        korean, english = f"{ko.stem(verb.korean)}고 {d.present(WISH)}", "want to"
    elif kind == "must":
        korean = f"{ko.obligation(verb.korean, verb.irregular)} {d.present(DO)}"
        english = "must"
    else:
        able = d.present(EXIST if kind == "can" else ABSENT)
        korean, english = f"{ko.prospective(verb.korean, verb.irregular)} 수 {able}", kind
    return d.say(f"{d.topic(s)} {korean}", f"{s.english} {english} {verb.english}")


@pattern
def go(d: Draw) -> Sentence:
    """Say "저는 학교에 갑니다." for "I go to school."."""
    kind = d.deal(("is", "is", "was", "will", "daily"))
    s, place, verb = d.subject(), d.pick(_PLACES), d.deal(("go", "go", "go", "come"))
    word, where = GO if verb == "go" else COME, f"{place.korean}에"
    if kind == "was":
        return d.say(
            f"{d.topic(s)} {where} {d.past(word)}", f"{s.english} {en.past(verb)} {to(place)}"
        )
    if kind == "will":
        near = [t for t in terms("future") if not t.korean.startswith(("다음", "내년"))]
        time = d.pick(near)
        return d.say(
            f"{d.timed(s, time.korean)} {where} {d.future(word)}",
            f"{s.english} will {verb} {to(place)} {time.english}",
        )
    present = verb_present(s.agreement, verb)
    if kind == "daily":
        time = d.term("habit")
        return d.say(
            f"{d.timed(s, time.korean)} {where} {d.present(word)}",
            f"{s.english} {present} {to(place)} {time.english}",
        )
    return d.say(f"{d.topic(s)} {where} {d.present(word)}", f"{s.english} {present} {to(place)}")


@pattern
def go_or_not(d: Draw) -> Sentence:
    """Say "집에 가고 싶어요." for "I want to go home."."""
    kind = d.deal(("want", "want", "must", "not", "did", "do", "will"))
    place = d.pick(_PLACES)
    where, english = f"{place.korean}에", f"go {to(place)}"
    if kind in ("did", "do", "will"):
        s = d.asked()
        korean = {"did": d.past_question, "will": d.future_question}.get(kind)
        asked = korean(GO) if korean else d.asks_present(GO, s)
        verb = verb_present(s.agreement, "do") if kind == "do" else kind
        return d.say(f"{d.topic(s)} {where} {asked}", f"{verb} {s.english} {english}", "?")
    if kind == "want":
        s = d.me()
        return d.say(
            f"{d.topic(s)} {where} 가고 {d.present(WISH)}", f"{s.english} want to {english}"
        )
    s = d.subject()
    if kind == "must":
        return d.say(f"{d.topic(s)} {where} 가야 {d.present(DO)}", f"{s.english} must {english}")
    return d.say(
        f"{d.topic(s)} {where} {d.denied(GO, NOT_DO, past=True)}",
        f"{s.english} did not {english}",
    )


@pattern
def errand(d: Draw) -> Sentence:
    """Say "저는 도서관에서 책을 읽었어요." for "I read a book in the library."."""
    s = d.subject()
    name, groups, places = d.deal(_ERRANDS)
    place = d.pick([n for n in _ERRAND_PLACES if n.korean in places.split()])
    noun = d.pick(nouns(*groups.split()))
    verb = next(v for v in transitive(group=noun.group) if v.english == name)
    d.use(verb)
    d.join(verb, noun)
    phrase = d.thing(noun, ("", "", "그"))
    english = f"the {noun.english}" if "t" in verb.tags else phrase.english
    return d.say(
        f"{d.topic(s)} {place.korean}에서 {d.object_(phrase.korean)} {d.past(verb)}",
        f"{s.english} {en.past(verb.english)} {english} {at(place)}",
    )


@pattern
def proposal(d: Draw) -> Sentence:
    """Say "커피를 마십시다." for "Let's drink coffee."."""
    if d.deal((True, True, False)):
        a = d.action("v", ("", "", "그"))
        verb, korean = a.verb, d.object_(a.object.korean)
        english = f"{verb.english} {a.object.english}"
    else:
        place = d.pick(_PLACES)
        verb, korean, english = GO, f"{place.korean}에", f"go {to(place)}"
    together = d.vary("", "", "같이")
    if d.style == "polite":
        asked = ko.prospective(verb.korean, verb.irregular) + "까요"
        return d.say(f"{together} {korean} {asked}", f"shall we {english}", "?", asks=True)
    proposed = ko.proposal(verb.korean, verb.irregular, d.style)
    return d.say(f"{together} {korean} {proposed}", f"let's {english}")


@pattern
def where_place(d: Draw) -> Sentence:
    """Ask "화장실이 어디예요?" for "Where is the restroom?"."""
    place = d.pick(_ASKED_PLACES)
    form = d.vary("어디", "어디", "은 있다", "이 있다")
    asked = (
        pt.copula_question("어디", d.style)
        if form == "어디"
        else f"어디에 {d.present_question(EXIST)}"
    )
    particle = pt.topic if form == "은 있다" else pt.subject
    return d.say(
        f"{particle(place.korean)} {asked}", f"where is the {place.english}", "?", asks=True
    )


@pattern
def price_question(d: Draw) -> Sentence:
    """Ask "이 사과는 얼마예요?" for "How much is this apple?"."""
    s = d.thing(d.pick(_PRICED))
    verb = "are" if s.agreement == "plural" else "is"
    return d.say(
        f"{pt.topic(s.korean)} {pt.copula_question('얼마', d.style)}",
        f"how much {verb} {s.english}",
        "?",
        asks=True,
    )


@pattern
def clock_now(d: Draw) -> Sentence:
    """Say "지금 세 시입니다." for "It is three o'clock now."."""
    hour, half, now = d.pick(terms("count")[:12]), d.deal((False, True)), d.deal((True, False))
    kind = d.deal(("is", "is", "not", "question"))
    korean = f"{hour.korean} 시" + (" 반" if half else "")
    english = f"half past {hour.english}" if half else f"{hour.english} o'clock"
    here, end = ("지금" + d.vary("", "", "은"), " now") if now else ("", "")
    if kind == "question":
        return d.say(f"{here} {pt.copula_question(korean, d.style)}", f"is it {english}{end}", "?")
    form = pt.copula if kind == "is" else pt.negative_copula
    denied = "" if kind == "is" else "not "
    return d.say(f"{here} {form(korean, d.style)}", f"it is {denied}{english}{end}")


@pattern
def day(d: Draw) -> Sentence:
    """Say "오늘은 월요일입니다." for "Today is Monday."."""
    kind, day = d.deal(("is", "is", "not", "question")), d.term("day")
    korean, english = d.deal(
        (("오늘", "today"), ("오늘", "today"), ("내일", "tomorrow"), ("어제", "yesterday"))
    )
    topic = pt.topic(korean)
    past = korean == "어제"
    if kind == "question" and not past:
        return d.say(
            f"{topic} {pt.copula_question(day.korean, d.style)}", f"is {english} {day.english}", "?"
        )
    if kind == "not" and not past:
        return d.say(
            f"{topic} {pt.negative_copula(day.korean, d.style)}", f"{english} is not {day.english}"
        )
    end, verb = (pt.copula_past, "was") if past else (pt.copula, "is")
    return d.say(f"{topic} {end(day.korean, d.style)}", f"{english} {verb} {day.english}")


@pattern
def give_me(d: Draw) -> Sentence:
    """Say "물 좀 주세요." for "Please give me some water."."""
    kind = d.deal(("thing", "thing", "some", "cups"))
    please = d.request(_GIVE)
    if kind == "thing":
        thing = d.thing(d.pick(_WANTED), ("", "이", "저", "그"))
        return d.say(f"{d.object_(thing.korean)} {please}", f"please give me {thing.english}")
    if kind == "some":
        noun = d.pick([n for n in _SOME if n.number == "mass"])
        return d.say(f"{noun.korean} 좀 {please}", f"please give me some {noun.english}")
    noun, number = d.pick(_DRINKS), d.pick(terms("count")[:6])
    d.fixed(term_of("잔", "counter"))
    cups = "cup" if number.english == "one" else "cups"
    return d.say(
        f"{noun.korean} {number.korean} 잔{d.vary('', '을')} {please}",
        f"please give me {number.english} {cups} of {noun.english}",
    )
