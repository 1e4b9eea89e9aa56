"""Sentence patterns about how things are: identity, qualities, places and owners."""

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus import english as en
from headway.sample_corpus import particles as pt
from headway.sample_corpus.grammar import (
    ABSENT,
    EXIST,
    NOT_BE,
    Draw,
    Phrase,
    Sentence,
    at,
    be,
    noun_phrase,
    verb_present,
)
from headway.sample_corpus.lexicon import (
    ADJECTIVE_LIST,
    PERSON,
    Adjective,
    Noun,
    nouns,
    term_of,
)
from headway.sample_corpus.pattern_registry import pattern

_SMALL_THINGS = nouns("belonging", "stationery", "book", "message")
_STANDING_THINGS = nouns("bike", "car", "pet", "adult", "child", "plant")
_BULKY = ("우산", "그림", "공")
# Qualities that speak against a thing and qualities that speak for it, for "but".
_AGAINST = (
    "비싸다", "무겁다", "느리다", "어렵다", "지루하다", "더럽다", "시끄럽다", "위험하다",
    "바쁘다", "피곤하다", "게으르다", "짜다", "맵다", "사납다", "작다", "길다",
)  # fmt: skip
_FOR = (
    "예쁘다", "아름답다", "좋다", "편하다", "튼튼하다", "재미있다", "중요하다", "유용하다",
    "빠르다", "안전하다", "영리하다", "귀엽다", "맛있다", "새롭다",
)  # fmt: skip

# The same for people.
_BUT_OF_PERSON = {
    "바쁘다": ("친절하다", "행복하다", "침착하다"),
    "피곤하다": ("친절하다", "행복하다", "침착하다"),
    "게으르다": ("똑똑하다", "친절하다", "정직하다", "현명하다"),
}
# Colors are not compared, and nothing is "too white".
_PLAIN = ("빨갛다", "파랗다", "노랗다", "하얗다", "까맣다")
_GRADED = tuple(a for a in ADJECTIVE_LIST if a.korean not in _PLAIN)
# The kinship words that suit an owner of any age and sex.
_OWNED_KIN = tuple(n for n in nouns("kin") if n.korean in ("남동생", "여동생", "사촌", "친구"))


@pattern
def trade(d: Draw) -> Sentence:
    """Say "제 누나는 의사입니다." for "My older sister is a doctor."."""
    s = d.me() if d.deal((True, False, False)) else d.one("name name kin adult")
    noun = d.pick(nouns("job"))
    trade = noun_phrase(noun).english if s.agreement != "plural" else en.plural(noun.english)
    kind = d.deal(("is", "is", "was", "not"))
    end = {"is": pt.copula, "was": pt.copula_past, "not": pt.negative_copula}[kind]
    korean = end(noun.korean, d.style)
    verb = be(s.agreement, kind == "was") + (" not" if kind == "not" else "")
    return d.say(f"{d.topic(s)} {korean}", f"{s.english} {verb} {trade}")


@pattern
def trade_question(d: Draw) -> Sentence:
    """Ask "그 남자는 의사입니까?" for "Is the man a doctor?"."""
    s = d.you if d.deal((True, False)) else d.one("name kin adult")
    noun = d.pick(nouns("job"))
    trade = (
        noun_phrase(noun).english
        if s.agreement == "third" or s.english == "you"
        else en.plural(noun.english)
    )
    return d.say(
        f"{d.topic(s)} {pt.copula_question(noun.korean, d.style)}",
        f"{be(s.agreement)} {s.english} {trade}",
        "?",
    )


@pattern
def quality(d: Draw) -> Sentence:
    """Say "그 가방은 아주 큽니다." for "The bag is very big."."""
    (s, adjective), degree = d.quality(_GRADED), d.term("degree")
    return d.say(
        f"{pt.topic(s.korean)} {d.degree(degree)} {d.present(adjective)}",
        f"{s.english} {be(s.agreement)} {degree.english} {adjective.english}",
    )


@pattern
def past_quality(d: Draw) -> Sentence:
    """Say "그 영화는 재미있었습니다." for "The movie was interesting."."""
    s, adjective = d.quality(bare=False)
    return d.say(
        f"{pt.topic(s.korean)} {d.past(adjective)}",
        f"{s.english} {be(s.agreement, True)} {adjective.english}",
    )


@pattern
def missing_quality(d: Draw) -> Sentence:
    """Say "이 상자는 무겁지 않습니다." for "This box is not heavy."."""
    s, adjective = d.quality()
    return d.say(
        f"{pt.topic(s.korean)} {d.denied(adjective, NOT_BE)}",
        f"{s.english} {be(s.agreement)} not {adjective.english}",
    )


@pattern
def quality_question(d: Draw) -> Sentence:
    """Ask "그 책은 재미있습니까?" for "Is the book interesting?"."""
    s, adjective = d.quality(first=False)
    return d.say(
        f"{d.topic(s)} {d.present_question(adjective)}",
        f"{be(s.agreement)} {s.english} {adjective.english}",
        "?",
    )


@pattern
def but(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    이 책은 어렵지만 재미있습니다. = This book is difficult but interesting.
    """
    against = tuple(a for a in ADJECTIVE_LIST if a.korean in _AGAINST)
    for_ = tuple(a for a in ADJECTIVE_LIST if a.korean in _FOR)
    shared = {g for a in against for g in a.groups} & {
        *PERSON,
        *(g for a in for_ for g in a.groups),
    }
    noun = d.pick([n for n in nouns(*shared) if n.group != "field"])
    first = d.pick([a for a in against if noun.group in a.groups])
    if kinds := _BUT_OF_PERSON.get(first.korean):
        for_ = tuple(a for a in ADJECTIVE_LIST if a.korean in kinds)
    second = d.pick([a for a in for_ if noun.group in a.groups])
    d.join(first, noun)
    d.join(second, noun)
    s = d.thing(noun)
    return d.say(
        f"{d.topic(s)} {ko.stem(first.korean)}지만 {d.present(second)}",
        f"{s.english} {be(s.agreement)} {first.english} but {second.english}",
    )


def _compared(d: Draw) -> tuple[Phrase, Phrase, Adjective]:
    noun, adjective = d.described(_GRADED, bare=False)
    d.use(adjective)
    d.use(noun)
    d.join(adjective, noun)
    if noun.group in PERSON:
        person = d.someone("kin name")
        d.join(adjective, d.words[-1])
        return noun_phrase(noun, "그"), person, adjective
    # Heights are compared with their kind, because no hill is lower than a fence.
    second = noun if noun.group == "height" else d.pick(nouns(noun.group))
    d.join(adjective, second)
    return noun_phrase(noun, "이"), noun_phrase(second, "저"), adjective


@pattern
def comparison(d: Draw) -> Sentence:
    """Say a sentence like the one below.

    이 소파는 저 침대보다 비쌉니다. = This sofa is more expensive than that bed.
    """
    s, standard, adjective = _compared(d)
    return d.say(
        f"{d.topic(s)} {standard.korean}보다 {d.present(adjective)}",
        f"{s.english} {be(s.agreement)} {en.comparative(adjective.english)} than {standard.english}",
    )


@pattern
def superlative(d: Draw) -> Sentence:
    """Say "이 가방이 가장 큽니다." for "This bag is the biggest."."""
    s, adjective = d.quality(_GRADED, bare=False, first=False)
    return d.say(
        f"{pt.subject(s.korean)} 가장 {d.present(adjective)}",
        f"{s.english} {be(s.agreement)} the {en.superlative(adjective.english)}",
    )


@pattern
def possession(d: Draw) -> Sentence:
    """Say "이것은 민수의 가방입니다." for "This is Minsu's bag."."""
    korean, english = d.deal((("이것", "this"), ("저것", "that")))
    owner = d.someone("name name kin")
    noun = d.pick([
        n for n in nouns("belonging", "book", "garment", "stationery", "bike", "car", "homeware")
        if n.number == "count"
    ])  # fmt: skip
    return d.say(
        f"{pt.topic(korean)} {owner.korean}의 {pt.copula(noun.korean, d.style)}",
        f"{english} is {owner.english}'s {noun.english}",
    )


def _spot(d: Draw) -> tuple[str, str, Noun]:
    """Deal a thing and its place: on a table, in a box or in front of a shop."""
    kind = d.deal(("surface", "surface", "beside", "container", "shop"))
    options, things = {
        "surface": (("위", "위", "아래"), _SMALL_THINGS),
        "beside": (("옆", "뒤", "앞"), nouns("pet", "container")),
        "container": (("안",), _SMALL_THINGS),
        "shop": (("옆", "뒤", "앞"), _STANDING_THINGS),
    }[kind]
    relation = term_of(d.deal(options), "relation")
    landmarks = {"beside": ("surface",), "shop": ("shop", "building")}
    landmark = d.pick(nouns(*landmarks.get(kind, (kind,))))
    small = [n for n in things if n.korean not in _BULKY]
    thing = d.pick(small if kind == "container" else things)
    d.fixed(relation)
    return (
        f"{landmark.korean} {relation.korean}에",
        f"{relation.english} the {landmark.english}",
        thing,
    )


@pattern
def there_is(d: Draw) -> Sentence:
    """Say "책상 위에 열쇠가 있습니다." for "There is a key on the desk."."""
    korean, english, thing = _spot(d)
    phrase = noun_phrase(thing)
    return d.say(
        f"{korean} {pt.subject(phrase.korean)} {d.present(EXIST)}",
        f"there {be(phrase.agreement)} {phrase.english} {english}",
    )


@pattern
def lies_there(d: Draw) -> Sentence:
    """Say "그 열쇠는 책상 위에 있습니다." for "The key is on the desk."."""
    korean, english, thing = _spot(d)
    is_there = d.deal((True, True, False))
    s = d.thing(thing, ("그",) if thing.group in PERSON else ("그", "그", "제"))
    return d.say(
        f"{d.topic(s)} {korean} {d.present(EXIST if is_there else ABSENT)}",
        f"{s.english} {be(s.agreement)} {'' if is_there else 'not '}{english}",
    )


@pattern
def where_is(d: Draw) -> Sentence:
    """Ask "제 열쇠는 어디에 있습니까?" for "Where is my key?"."""
    options = nouns("belonging", "stationery", "book", "pet", "bike", "homeware", "crockery")
    noun, owner = d.pick(options), d.deal(("", "", "name"))
    s = d.thing(noun, ("그", "제"))
    if owner:
        name = d.term("name")
        english = f"{name.english}'s {noun.english}"
        s = Phrase(f"{name.korean}의 {noun.korean}", english, s.agreement)
    return d.say(
        f"{d.topic(s)} 어디에 {d.present_question(EXIST)}",
        f"where {be(s.agreement)} {s.english}",
        "?",
        asks=True,
    )


@pattern
def none_left(d: Draw) -> Sentence:
    """Say "부엌에 설탕이 없습니다." for "There is no sugar in the kitchen."."""
    room = d.pick(nouns("room", "utility", "shop", "outdoor"))
    noun = d.pick(_missing_things(room))
    return d.say(
        f"{room.korean}에 {pt.subject(noun.korean)} {d.present(ABSENT)}",
        f"there {'are' if noun.number == 'plural' else 'is'} no {noun.english} {at(room)}",
    )


def _missing_things(room: Noun) -> tuple[Noun, ...]:
    if room.korean in ("부엌", "식당", "카페"):
        return nouns("ingredient", "hotdrink")
    if room.group == "outdoor":
        return nouns("farm", "pet") if room.english == "farm" else nouns("pet", "small")
    return nouns("surface", "appliance")


@pattern
def ownership(d: Draw) -> Sentence:
    """Say "제 형은 고양이가 있습니다." for "My older brother has a cat."."""
    form = d.deal(("has", "has", "lacks", "question"))
    s = d.asked() if form == "question" else d.subject()
    noun = d.pick([*nouns("pet", "bike", "car", "instrument", "means", "means"), *_OWNED_KIN])
    phrase = noun_phrase(noun)
    if form == "question":
        return d.say(
            f"{d.topic(s)} {pt.subject(phrase.korean)} {d.present_question(EXIST)}",
            f"{verb_present(s.agreement, 'do')} {s.english} have {phrase.english}",
            "?",
        )
    has = form == "has"
    verb = (
        ("have" if s.agreement != "third" else "has")
        if has
        else ("does not have" if s.agreement == "third" else "do not have")
    )
    return d.say(
        f"{d.topic(s)} {pt.subject(phrase.korean)} {d.present(EXIST if has else ABSENT)}",
        f"{s.english} {verb} {phrase.english}",
    )
