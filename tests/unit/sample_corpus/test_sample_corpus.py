"""The generated corpus: one translation each, disjoint splits, even use of words."""

import random
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import TypeVar

import pytest

from headway.sample_corpus import build_sample_corpus, patterns, words
from headway.sample_corpus.by_heart import PHRASE, by_heart
from headway.sample_corpus.corpus import (
    Splits,
    build_splits,
    is_held_out,
    sentences,
    word_forms,
)
from headway.sample_corpus.grammar import Draw, Sentence, label
from headway.sample_corpus.hangul import final_of, is_syllable
from headway.sample_corpus.lexicon import NOUN_LIST, Verb, all_words, pairs
from headway.sample_corpus.particles import object_
from headway.sample_corpus.pattern_registry import PATTERNS
from headway.sample_corpus.phrases import CASUAL_GREETINGS, POLITE_GREETINGS

T = TypeVar("T", bound=Hashable)


@pytest.fixture(scope="module")
def splits() -> Splits:
    return build_splits()


@pytest.fixture(scope="module")
def everything(splits: Splits) -> list[Sentence]:
    more = islice(sentences(2), 10_000)
    return [*splits.train, *splits.valid, *splits.test_unseen, *splits.test_compositional, *more]


def test_no_korean_sentence_has_two_translations(everything: list[Sentence]) -> None:
    english: dict[str, str] = {}
    assert all(english.setdefault(s.korean, s.english) == s.english for s in everything)


def test_pattern_form_and_english_determine_the_korean_but_for_synonyms(
    everything: list[Sentence],
) -> None:
    korean: dict[tuple[object, ...], str] = {}
    for s in everything:
        if s.pattern != PHRASE:
            key = (s.pattern, s.form, s.english, tuple(label(w) for w in s.words if w in _SYNONYMS))
            assert korean.setdefault(key, s.korean) == s.korean


_SYNONYMS = [word for word in all_words() if word.korean in ("누나", "언니", "형", "오빠")]


def test_splits_have_their_sizes(splits: Splits) -> None:
    assert len(splits.train) == 36_000
    assert len(splits.valid) == len(splits.test_unseen) == len(splits.test_compositional) == 500


def test_no_korean_sentence_occurs_twice(splits: Splits) -> None:
    together = [
        *splits.train, *splits.valid, *splits.test_unseen, *splits.test_compositional
    ]  # fmt: skip
    assert len({s.korean for s in together}) == len(together) == 37_500


def test_a_seed_fixes_the_corpus_and_another_seed_changes_it(splits: Splits) -> None:
    again = build_sample_corpus(1)
    assert [pair.korean for pair in again.train] == [s.korean for s in splits.train]
    assert [pair.english for pair in again.test_unseen] == [s.english for s in splits.test_unseen]
    assert list(islice(sentences(1), 99)) != list(islice(sentences(2), 99))


def test_compositional_sentences_each_have_a_pairing_that_training_never_shows(
    splits: Splits,
) -> None:
    shown = {p for s in (*splits.train, *splits.valid, *splits.test_unseen) for p in s.pairings}
    assert all(s.pairings - shown for s in splits.test_compositional)
    assert not any(map(is_held_out, shown))


def test_every_word_and_pattern_of_the_compositional_test_occurs_in_training(
    splits: Splits,
) -> None:
    known = {label(w) for s in splits.train for w in s.words}
    assert {label(w) for s in splits.test_compositional for w in s.words} <= known
    assert {s.pattern for s in splits.test_compositional} <= {s.pattern for s in splits.train}
    forms = {form for s in splits.train for form in word_forms(s.korean)}
    assert {form for s in splits.test_compositional for form in word_forms(s.korean)} <= forms


def test_held_out_verbs_and_objects_never_stand_together_in_training(splits: Splits) -> None:
    # Judged by the text alone: the noun with its particle directly before the verb.
    nouns = {f"{n.korean}={n.english}": n.korean for n in NOUN_LIST}
    verbs = {label(w) for w in all_words() if isinstance(w, Verb)}
    training = {" ".join(s.korean.split()[-2:])[:-1] for s in splits.train}
    checked = 0
    for s in splits.test_compositional:
        for first, second in filter(is_held_out, s.pairings):
            ends = " ".join(s.korean.split()[-2:])[:-1]
            if first in verbs and second in nouns and ends.startswith(object_(nouns[second])):
                assert ends not in training
                checked += 1
    assert checked > 20


def test_every_word_is_used_in_training_at_least_eight_times(splits: Splits) -> None:
    used = Counter(label(w) for s in splits.train for w in s.words)
    assert {label(w): used[label(w)] for w in all_words() if used[label(w)] < 8} == {}


def test_every_pattern_is_used_in_training_evenly(splits: Splits) -> None:
    used = Counter(s.pattern for s in splits.train)
    assert set(used) == set(patterns())
    assert min(used.values()) >= 150
    assert max(count for name, count in used.items() if name != PHRASE) <= 3 * min(used.values())


def test_every_style_is_common_in_every_pattern(splits: Splits) -> None:
    used = Counter((s.pattern, s.form[0]) for s in splits.train if s.pattern != PHRASE)
    assert {style for _, style in used} == {"formal", "polite", "plain", "casual"}
    assert len(used) == 4 * (len(patterns()) - 1)
    assert min(used.values()) >= 8


def test_phrases_are_all_in_training_and_in_no_test(splits: Splits) -> None:
    phrases = {s.korean: s.english for s in by_heart()}
    training = {s.korean: s.english for s in splits.train}
    assert phrases.items() <= training.items()
    for split in (splits.valid, splits.test_unseen, splits.test_compositional):
        assert not [s for s in split if s.pattern == PHRASE or s.korean in phrases]


def test_no_phrase_has_two_translations_and_each_has_its_marks() -> None:
    phrases = list(by_heart())
    assert len({s.korean for s in phrases}) == len(phrases)
    for s in phrases:
        asked = s.english.endswith("?")
        assert s.korean[-1] != "!" or s.english.endswith("!")
        assert s.korean[-1] != "?" or asked or s.english == "Hello."
    for korean, _ in pairs(POLITE_GREETINGS + "," + CASUAL_GREETINGS):
        assert {f"{korean}.", f"{korean}!", korean} <= {s.korean for s in phrases}


class Wishes(Draw):
    """Deals the first option that is wished for, or else the first option."""

    wishes: tuple[str, ...]

    def deal(self, options: Sequence[T]) -> T:
        """Return an option by its name, or the Korean of a word."""
        names = [getattr(option, "korean", str(option)) for option in options]
        wished = [wish for wish in self.wishes if wish in names]
        return options[names.index(wished[0])] if wished else options[0]


def said(pattern: str, *wishes: str) -> tuple[str, str]:
    """Return the sentence of a pattern that is made of the words and forms in `wishes`."""
    draw = Wishes(pattern, random.Random(1))
    draw.wishes = wishes
    draw.start()
    sentence = PATTERNS[pattern](draw)
    return sentence.korean, sentence.english


@pytest.mark.parametrize(
    ("pattern", "wishes", "korean", "english"),
    [
        ("trade", "formal 학생", "저는 학생입니다.", "I am a student."),
        ("trade", "plain 학생", "나는 학생이다.", "I am a student."),
        ("trade", "polite 학생", "저는 학생이에요.", "I am a student."),
        ("trade", "casual 의사 dropped", "의사야.", "I am a doctor."),
        ("trade_question", "formal 학생 dropped", "학생입니까?", "Are you a student?"),
        ("trade_question", "plain 의사", "너는 의사니?", "Are you a doctor?"),
        ("nationality", "formal i 한국", "저는 한국 사람입니다.", "I am Korean."),
        ("introduction", "formal name 김 민수", "제 이름은 김민수입니다.", "My name is Kim Minsu."),
        ("present_event", "plain i 먹다 사과", "나는 사과를 먹는다.", "I eat an apple."),
        ("past_action", "polite question you dropped 읽다 책", "책을 읽었어요?",
         "Did you read a book?"),
        ("go", "formal i 학교", "저는 학교에 갑니다.", "I go to school."),
        ("go", "polite i will 집 오늘", "저는 오늘 집에 갈 거예요.", "I will go home today."),
        ("went", "polite i 어제 학교", "저는 어제 학교에 갔어요.", "I went to school yesterday."),
        ("go_or_not", "polite i dropped 집", "집에 가고 싶어요.", "I want to go home."),
        ("proposal", "plain False 집", "집에 가자.", "Let's go home."),
        ("proposal", "polite 마시다 커피", "커피를 마실까요?", "Shall we drink coffee?"),
        ("affection", "plain i 사랑하다 you", "나는 너를 사랑한다.", "I love you."),
        ("affection", "polite question you dropped", "저를 좋아해요?", "Do you like me?"),
        ("weather", "polite 네요 좋다", "오늘 날씨가 좋네요.", "The weather is good today."),
        ("it_is", "polite 맛있다 False", "맛있어요.", "It is delicious."),
        ("where_place", "polite 화장실", "화장실이 어디예요?", "Where is the restroom?"),
        ("fact_question", "polite 이", "이름이 뭐예요?", "What is your name?"),
        ("greeting", "polite !", "안녕하세요, 민수 씨!", "Hello, Minsu!"),
        ("bare_quality", "polite 고양이 귀엽다 False", "고양이가 귀여워요.", "The cat is cute."),
        ("bare_act", "formal 강아지 자다", "강아지가 잡니다.", "The puppy sleeps."),
        ("did_together", "polite i friend 랑 영화 보다 False", "저는 친구랑 함께 영화를 봤어요.",
         "I watched a movie with a friend."),
        ("answer", "formal 학생", "네, 저는 학생입니다.", "Yes, I am a student."),
        ("feeling", "casual 피곤하다 dropped False !", "피곤해!", "I am tired!"),
        ("clock_now", "polite 세", "지금 세 시예요.", "It is three o'clock now."),
    ],
)  # fmt: skip
def test_the_grammar_says_first_sentences(
    pattern: str, wishes: str, korean: str, english: str
) -> None:
    assert said(pattern, *wishes.split()) == (korean, english)


def test_there_are_enough_patterns_and_words() -> None:
    assert len(patterns()) >= 90
    entries = words()
    assert len(set(entries)) == len(entries) >= 850


def test_sentences_are_short(splits: Splits) -> None:
    lengths = [len(s.english.split()) for s in splits.train]
    assert sum(lengths) / len(lengths) <= 8
    assert sum(length > 11 for length in lengths) / len(lengths) < 0.05


def test_sentences_are_well_formed(everything: list[Sentence]) -> None:
    for s in everything:
        assert re.fullmatch(r"[A-Z][A-Za-z' ,-]*[.?!]", s.english), s
        assert re.fullmatch(r"[가-힣][가-힣, ]*[가-힣][.?!]?|[가-힣][.?!]?", s.korean), s
        assert "  " not in s.korean + s.english, s
        if s.korean[-1] in ".?!" and not s.english.startswith("Hello"):
            assert s.korean[-1] == s.english[-1], s


def test_every_sentence_ends_as_its_style_does(everything: list[Sentence]) -> None:
    ends = {
        "formal": ("니다", "니까", "십시오", "시다"), "polite": ("요",),
        "plain": ("다", "니", "라", "자", "네"),
    }  # fmt: skip
    for s in everything:
        if s.pattern not in (PHRASE, "greeting"):
            style, sentence = s.form[0], s.korean.rstrip(".?!")
            if style == "casual":
                assert not sentence.endswith(("습니다", "입니다", "요", "십시오")), s
            else:
                assert sentence.endswith(ends[style]), s


def test_articles_agree_with_the_next_sound(everything: list[Sentence]) -> None:
    for s in everything:
        for article, following in re.findall(r"\b([Aa]n?) (\w+)", s.english):
            vowel = following[0] in "aeiouAEIOU" and following not in ("useful", "uniform")
            assert (article.lower() == "an") == (vowel or following == "honest"), s


def test_object_particles_agree_with_the_syllable_before(everything: list[Sentence]) -> None:
    for s in everything:
        for word in re.findall("[가-힣]+", s.korean):
            if word.endswith("를"):
                assert is_syllable(word[-2]), s
                assert not final_of(word[:-1]), s


def test_both_sides_deny_together(everything: list[Sentence]) -> None:
    for s in everything:
        if s.pattern in (PHRASE, "greeting"):
            continue
        korean = re.search(
            r"지 (않|못|마)|없|아닙|아니[에다야]|(^| )(안|못) |못[합해한]|몰라|모릅|모른", s.korean
        )
        english = re.search(r"\b(not|no|cannot)\b", s.english)
        assert bool(korean) == bool(english), s


@pytest.mark.parametrize(
    ("korean", "english"),
    [
        (r"(^| )어제 ", r"(?<!before )yesterday"), (r"그저께", r"the day before yesterday"),
        (r"(^| )내일 ", r"tomorrow"), (r" 세 (개|명|권)", r"[Tt]here are three|three (?!pairs)"),
        (r"(?<!안녕하십)니까\?$", r"\?$"), (r"보다 ", r" than "),
        (r" 가장 ", r" the (best|worst|most|\w+est)\b"),
        (r"^누가", r"^Who "), (r"어디에서", r"^Where (did|are)"),
        (r"^[제내]가|^[저나]는 ", r"\bI\b"),
        (r"(^| )오늘은? ", r"[Tt]oday|[Tt]onight|this (morning|evening)"),
        (r"^당신은|^너는", r"\byou\b"), (r"사랑[하했해합한]", r"\bloved?|loves\b"),
        (r"[을갈실할]까요", r"^Shall we "),
        (r" ([하사가]|마시|만들)자\.?$|[합읍갑]시다", r"^Let's "),
    ],
)  # fmt: skip
def test_marks_of_meaning_reach_the_english_side(
    everything: list[Sentence], korean: str, english: str
) -> None:
    marked = [s for s in everything if re.search(korean, s.korean)]
    assert marked
    assert [s for s in marked if not re.search(english, s.english)] == []
