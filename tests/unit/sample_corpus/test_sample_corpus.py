"""The generated corpus: one translation each, disjoint splits, even use of words."""

import re
from collections import Counter
from itertools import islice

import pytest

from headway.sample_corpus import build_sample_corpus, patterns, words
from headway.sample_corpus.corpus import Splits, build_splits, is_held_out, sentences
from headway.sample_corpus.grammar import Sentence, label
from headway.sample_corpus.hangul import final_of, is_syllable
from headway.sample_corpus.lexicon import NOUN_LIST, Verb, all_words
from headway.sample_corpus.particles import object_


@pytest.fixture(scope="module")
def splits() -> Splits:
    return build_splits()


@pytest.fixture(scope="module")
def everything(splits: Splits) -> list[Sentence]:
    more = islice(sentences(2), 30_000)
    return [*splits.train, *splits.valid, *splits.test_unseen, *splits.test_compositional, *more]


def test_no_korean_sentence_has_two_translations(everything: list[Sentence]) -> None:
    english: dict[str, str] = {}
    assert all(english.setdefault(s.korean, s.english) == s.english for s in everything)


def test_no_english_sentence_has_two_translations(everything: list[Sentence]) -> None:
    korean: dict[str, str] = {}
    assert all(korean.setdefault(s.english, s.korean) == s.korean for s in everything)


def test_splits_have_their_sizes(splits: Splits) -> None:
    assert len(splits.train) == 24_000
    assert len(splits.valid) == len(splits.test_unseen) == len(splits.test_compositional) == 500


def test_no_sentence_of_either_language_occurs_twice(splits: Splits) -> None:
    together = [
        *splits.train, *splits.valid, *splits.test_unseen, *splits.test_compositional
    ]  # fmt: skip
    assert len({s.korean for s in together}) == len({s.english for s in together}) == 25_500


def test_a_seed_fixes_the_corpus_and_another_seed_changes_it() -> None:
    one, again, other = build_sample_corpus(1), build_sample_corpus(1), build_sample_corpus(2)
    assert one == again
    assert one.train != other.train


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
    assert max(used.values()) <= 3 * min(used.values())


def test_there_are_enough_patterns_and_words() -> None:
    assert len(patterns()) >= 36
    entries = words()
    assert len(set(entries)) == len(entries) >= 600


def test_sentences_are_short(splits: Splits) -> None:
    lengths = [len(s.english.split()) for s in splits.train]
    assert sum(lengths) / len(lengths) <= 8
    assert sum(length > 11 for length in lengths) / len(lengths) < 0.05


def test_sentences_are_well_formed(everything: list[Sentence]) -> None:
    for s in everything:
        assert re.fullmatch(r"[A-Z][A-Za-z' ,-]*[.?]", s.english), s
        assert re.fullmatch(r"[가-힣 ]+[.?]", s.korean), s
        assert "  " not in s.korean + s.english, s
        assert s.korean[-1] == s.english[-1], s


def test_every_korean_sentence_has_the_polite_level(everything: list[Sentence]) -> None:
    ends = {s.korean[-3:-1] if s.korean[-1] == "?" else s.korean[-3:] for s in everything}
    assert ends == {"니까", "니다.", "시오."}


def test_articles_agree_with_the_next_sound(everything: list[Sentence]) -> None:
    for s in everything:
        for article, following in re.findall(r"\b([Aa]n?) (\w+)", s.english):
            vowel = following[0] in "aeiouAEIOU" and following not in ("useful", "uniform")
            assert (article.lower() == "an") == (vowel or following == "honest"), s


def test_object_particles_agree_with_the_syllable_before(everything: list[Sentence]) -> None:
    for s in everything:
        for word in s.korean[:-1].split():
            if word.endswith("를"):
                assert is_syllable(word[-2]), s
                assert not final_of(word[:-1]), s


def test_both_sides_deny_together(everything: list[Sentence]) -> None:
    for s in everything:
        korean = re.search(r"지 (않|못|마십)|없습|아닙", s.korean)
        english = re.search(r"\b(not|no|cannot)\b", s.english)
        assert bool(korean) == bool(english), s


@pytest.mark.parametrize(
    ("korean", "english"),
    [
        (r"(^| )어제 ", r"(?<!before )yesterday"), (r"그저께", r"the day before yesterday"),
        (r"(^| )내일 ", r"tomorrow"), (r" 세 (개|명|권)", r"[Tt]here are three|three (?!pairs)"),
        (r"니까\?$", r"\?$"), (r"보다 ", r" than "),
        (r" 가장 ", r" the (best|worst|most|\w+est)\b"),
        (r"^누가", r"^Who "), (r"어디에서", r"^Where did"), (r"^제가|^저는 ", r"\bI\b"),
    ],
)  # fmt: skip
def test_marks_of_meaning_reach_the_english_side(
    everything: list[Sentence], korean: str, english: str
) -> None:
    marked = [s for s in everything if re.search(korean, s.korean)]
    assert marked
    assert [s for s in marked if not re.search(english, s.english)] == []
