"""Two languages are told apart by text in them alone, and what is not two languages is not."""

import pickle
import random
from collections.abc import Callable

import numpy as np
import pytest

from headway.data.corpus import Pair
from headway.data.two_languages import TwoLanguages, _runs
from headway.sample_corpus import build_sample_corpus

from .made_languages import exchanged, translations


def sample() -> list[Pair]:
    return [Pair(pair.english, pair.korean) for pair in build_sample_corpus().train[:800]]


def learned(pairs: list[Pair]) -> TwoLanguages:
    languages = TwoLanguages.of(pairs)
    assert languages is not None
    return languages


@pytest.mark.parametrize("pairs", [translations(800), sample()], ids=["Latin letters", "Korean"])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_exchanged_pairs_are_those_that_were_exchanged(pairs: list[Pair], share: float) -> None:
    planted = sorted(random.Random(3).sample(range(800), int(share * 800)))
    mixed = [exchanged(pair) if row in set(planted) else pair for row, pair in enumerate(pairs)]

    judged = learned(mixed).judge(mixed)

    rows = np.flatnonzero(judged.exchanged)
    assert len(set(planted) & set(rows)) >= 0.95 * len(planted)
    assert len(set(rows) - set(planted)) <= 0.003 * 800
    for side in (0, 1):  # which one pair in some hundred may seem to be
        assert judged.wrong(side).sum() <= 0.003 * 800


def test_of_text_that_is_right_nothing_is_exchanged() -> None:
    pairs = translations(600)
    judged = learned(pairs).judge(pairs)
    assert not judged.exchanged.any()
    assert judged.tells.mean() > 0.95


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_in_the_language_of_the_other_is_found(side: int) -> None:
    pairs, others = translations(400), translations(5, seed=9, least=6)
    for row, other in enumerate(others):
        wrong = list(pairs[row])
        wrong[side] = other[1 - side]
        pairs[row] = Pair(*wrong)

    judged = learned(pairs).judge(pairs)

    assert np.flatnonzero(judged.wrong(side)).tolist() == [0, 1, 2, 3, 4]
    assert not judged.wrong(1 - side).any()
    assert not judged.exchanged.any()


@pytest.mark.parametrize(
    "odd",
    [
        Pair("Zofia Brandt", "Zofia Brandt"),
        Pair("12 345 6789", "6789 12 345"),
        Pair("", "ok"),
        Pair("ab", "a"),
        Pair("Braunig. Zofia!", "Zofia: braunig."),  # near copies, in the sources' language
        Pair("Xylyx zyzyx", "Jjoj kjjk"),  # of neither
        Pair("\udcff\x00", "\U0010ffff"),
    ],
    ids=repr,
)
def test_what_tells_no_language_is_not_accused(odd: Pair) -> None:
    pairs = [*translations(400), odd, exchanged(odd)]
    judged = learned(pairs).judge(pairs)
    assert not (judged.exchanged | judged.wrong(0) | judged.wrong(1))[-2:].any()


def test_a_line_and_its_translation_do_not_vouch_for_themselves() -> None:
    # A name in one pair only would otherwise be a word of the side in which it stands.
    pairs = translations(300)
    stranger = Pair("ψωξζ", "жщэю")
    judged = learned([*pairs, stranger]).judge([stranger, exchanged(stranger)])
    assert judged.whole.tolist() == [[0, 0], [0, 0]]
    twice = learned([*pairs, stranger, exchanged(stranger)]).judge([stranger])
    assert twice.whole.tolist() == [[0], [0]]


def _of_one_language(change: Callable[[str, random.Random], str]) -> list[Pair]:
    rng = random.Random(5)
    return [Pair(source, change(source, rng)) for source, _ in translations(500)]


@pytest.mark.parametrize(
    "pairs",
    [
        _of_one_language(lambda text, _: text),
        _of_one_language(lambda text, _: text.upper()),
        _of_one_language(lambda text, _: " ".join(text.split()[:2])),
        _of_one_language(lambda text, rng: "".join(c for c in text if rng.random() > 0.05)),
        _of_one_language(lambda text, rng: " ".join(rng.sample(text.split(), text.count(" ") + 1))),
        [
            Pair(a.source, b.source)
            for a, b in zip(translations(500), translations(500, 1), strict=True)
        ],
        [Pair(str(n), str(n * n)) for n in range(500)],
        translations(250) + [exchanged(pair) for pair in translations(250, 1)],
        translations(49),
        [],
    ],
    ids=["copies", "case", "cut", "typos", "order", "unrelated", "numbers", "both ways", "few", ""],
)
def test_text_that_is_not_in_two_languages_has_nobody_accused(pairs: list[Pair]) -> None:
    languages = TwoLanguages.of(pairs)
    if languages is not None:  # as for typos, of which one side has none
        judged = languages.judge(pairs)
        assert not (judged.exchanged | judged.wrong(0) | judged.wrong(1)).any()


def test_codes_and_letters_that_are_spelled_out_are_languages_of_their_own() -> None:
    words = [pair.source.split()[0].lower() for pair in translations(2000)]
    spelled = [Pair(word, " ".join(word.upper())) for word in words]
    judged = learned(spelled).judge(spelled)
    assert not (judged.exchanged | judged.wrong(0) | judged.wrong(1)).any()


def test_runs_are_of_letters_within_a_text_each_once() -> None:
    def number(text: str) -> set[int]:
        return set((_runs([text]) & 0xFFFFF).tolist())

    assert number("ab") == number("AB") == number(" ab, ") == number("7 ab 7")
    between = number("ab ab") - number("ab")
    assert len(between) == 2  # of four letters, with the space between the words
    assert between < number("xab aby")
    assert number("a\nb") == number("a b")  # no line ends within a text
    lines = (_runs(["ab", "", "ab"]) >> 20).tolist()
    assert sorted(set(lines)) == [0, 2]
    assert lines.count(0) == lines.count(2) == len(number("ab"))


def test_blocks_are_judged_as_if_they_were_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = translations(500)
    whole = learned(pairs).judge(pairs)
    monkeypatch.setattr("headway.data.two_languages._BLOCK", 120)
    parts = learned(pairs).judge(pairs)
    assert np.allclose(whole.whole, parts.whole)
    assert np.allclose(whole.unshared, parts.unshared)
    assert learned(pairs).judge([]).exchanged.tolist() == []


def test_of_much_text_a_part_is_learned_from_and_all_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = translations(900)
    pairs[451] = exchanged(pairs[451])
    monkeypatch.setattr("headway.data.two_languages._MOST", 300)
    languages = learned(pairs)
    assert np.flatnonzero(languages.judge(pairs).exchanged).tolist() == [451]
    again = pickle.loads(pickle.dumps(languages))
    assert np.array_equal(again.judge(pairs).whole, languages.judge(pairs).whole)
