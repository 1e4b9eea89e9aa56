"""Suspicious pairs are found, named by line, and unsuspicious text has none."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.sample import build_sample_corpus
from headway.data.survey import Finding, main_script, misalignments, overlap, survey


def problems(findings: list[Finding]) -> dict[str, tuple[int, ...]]:
    return {finding.problem: finding.lines for finding in findings}


def sentences(count: int, seed: int = 0) -> list[Pair]:
    """Return pairs of very different lengths, the target about as long as the source."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        words = rng.randint(2, 30)
        target = max(1, words + rng.randint(-2, 2))
        pairs.append(Pair(" ".join(["wort"] * words) + f" {number}", "word " * target))
    return pairs


def test_each_problem_is_found_and_named_by_its_line() -> None:
    pairs = [
        Pair("하나", "one"),
        Pair(" ", "two"),
        Pair("셋", ""),
        Pair("copied", "copied "),
        Pair("하나", "one"),
        Pair("하나", "a single one"),
        Pair("123", "123"),  # numbers are the same in every language
        *[Pair("다섯 여섯", f"five {n}") for n in range(20)],
    ]
    found = problems(survey(pairs))
    assert found["empty source"] == (2,)
    assert found["empty target"] == (3,)
    assert found["both sides the same"] == (4,)
    assert found["pair seen before"] == (5,)
    assert found["other translation of a source seen before"] == (6, 9, 10, 11, 12)
    assert found["source in Latin letters"] == (4,)
    assert len(found) == 6


def test_the_built_in_corpus_is_not_suspicious() -> None:
    corpus = build_sample_corpus()
    pairs = [Pair(pair.korean, pair.english) for pair in corpus.train]
    held_out = [Pair(pair.korean, pair.english) for pair in corpus.test_unseen]
    assert survey(pairs) == []
    assert overlap(pairs, held_out) == []


def test_held_out_text_that_was_trained_on_is_found() -> None:
    train = [Pair("하나", "one"), Pair("둘", "two")]
    held_out = [Pair("둘", "two"), Pair("셋", "three"), Pair("하나", "a one")]
    assert problems(overlap(train, held_out)) == {
        "pair is in the training text too": (1,),
        "source is in the training text, with another translation": (3,),
    }


@pytest.mark.parametrize(("missing", "side"), [(1, "target"), (2, "target"), (1, "source")])
def test_a_missing_line_moves_all_that_follow(missing: int, side: str) -> None:
    pairs = sentences(1000)
    sources, targets = (list(texts) for texts in zip(*pairs, strict=True))
    del (targets if side == "target" else sources)[400 : 400 + missing]
    moved = [Pair(*both) for both in zip(sources, targets, strict=False)]

    (found,) = misalignments(moved)

    lines = "1 line" if missing == 1 else f"{missing} lines"
    direction = "early" if side == "target" else "late"
    assert (
        found.problem
        == f"targets seem to stand {lines} too {direction} from line 401 to {1000 - missing}"
    )
    assert found.lines == (401,)


def test_a_stretch_goes_on_beyond_any_number_of_lines_that_say_nothing() -> None:
    pairs = sentences(1000)
    moved = [Pair(a.source, b.target) for a, b in itertools.pairwise(pairs)]
    moved[300:700] = [Pair("same", "same length")] * 400
    (found,) = misalignments(moved)
    assert found.problem == "targets seem to stand 1 line too early from line 1 to 999"
    moved[400:500] = pairs[400:500]  # these are right, and end it
    first, second = misalignments(moved)
    assert first.problem.endswith("from line 1 to 300")
    assert second.problem.endswith("from line 701 to 999")


def test_two_lines_of_a_length_of_their_own_do_not_decide_for_a_hundred() -> None:
    pairs = [Pair("gleich " * 5 + f"{n}", "as long " * 4 + f"{n}") for n in range(500)]
    pairs[400] = Pair("wort " * 3000, pairs[400].target)
    pairs[401] = Pair(pairs[401].source, "word " * 3000)
    assert list(misalignments(pairs)) == []


def test_sides_that_are_exchanged_in_held_out_text_are_found() -> None:
    train = [Pair("하나 둘", "one two")] * 30 + [Pair("New York", "New York")] * 2
    held_out = [Pair("three", "셋"), Pair("4", "4"), Pair("five", "다섯")]
    assert problems(overlap(train, held_out)) == {
        "source in Latin letters, in training text Hangul": (1, 3),
        "target in Hangul letters, in training text Latin": (1, 3),
    }
    assert overlap(train, [Pair(pair.target, pair.source) for pair in held_out]) == []
    assert overlap(train, [Pair("1", "2")]) == overlap([], held_out) == []


def test_a_pair_of_another_kind_of_text_is_a_leak_but_its_source_is_none() -> None:
    others = [Pair("하나", "ein"), Pair("둘", "zwei")]
    held_out = [Pair("하나", "one"), Pair("둘", "zwei"), Pair("셋", "three")]
    assert problems(overlap([Pair("넷", "four")], held_out, others)) == {
        "pair is in the training text too": (2,)
    }


def test_a_column_of_numbers_is_no_language() -> None:
    pairs = [Pair(f"{n}", f"{n} 마리") for n in range(30)]
    assert problems(survey(pairs)) == {"source without letters": (1, 2, 3, 4, 5)}
    pairs[:15] = [Pair("둘", f"{n} 마리") for n in range(15)]
    assert "source without letters" not in problems(survey(pairs))


def test_questions_show_what_lengths_do_not_in_text_sorted_by_length() -> None:
    rng = random.Random(1)
    marks = [rng.choice("?.") for _ in range(800)]
    pairs = [Pair("a" * (n // 8) + m, "b" * (n // 8) + m) for n, m in enumerate(marks)]
    assert list(misalignments(pairs)) == []
    moved = [Pair(a.source, b.target) for a, b in itertools.pairwise(pairs)]
    (found,) = misalignments(moved)
    assert found.problem == "targets seem to stand 1 line too early from line 1 to 799"


@pytest.mark.parametrize("side", [0, 1])
def test_spaces_around_a_sentence_do_not_hide_a_leak(side: int) -> None:
    pair = ["one", "eins"]
    spaced = [text + " \r" if index == side else text for index, text in enumerate(pair)]
    (found,) = overlap([Pair(*pair)], [Pair(*spaced)])
    assert found.problem == "pair is in the training text too"


def test_the_most_frequent_foreign_script_comes_first() -> None:
    pairs = [Pair("하나", "one")] * 60 + [Pair("Привет", "hello")] * 2 + [Pair("ＡＢＣ", "abc")] * 3
    found = [finding.problem for finding in survey(pairs) if "letters" in finding.problem]
    assert found == ["source in Latin letters", "source in Cyrillic letters"]


def test_a_stretch_goes_on_beyond_lines_that_say_nothing() -> None:
    pairs = sentences(1000)
    moved = [Pair(a.source, b.target) for a, b in itertools.pairwise(pairs)]
    moved[400:500] = [Pair("same", "same length")] * 100
    (found,) = misalignments(moved)
    assert found.problem == "targets seem to stand 1 line too early from line 1 to 999"


@pytest.mark.parametrize("seed", range(20))
def test_aligned_text_is_not_called_moved(seed: int) -> None:
    assert list(misalignments(sentences(1000, seed))) == []


def test_lengths_that_mean_nothing_are_not_called_moved() -> None:
    rng = random.Random(3)
    pairs = [Pair("a" * rng.randint(1, 90), "b" * rng.randint(1, 90)) for _ in range(5000)]
    assert list(misalignments(pairs)) == []
    assert list(misalignments([Pair("aa", "bb")] * 300)) == []
    assert list(misalignments(sentences(99))) == []


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=12))
def test_any_text_can_be_surveyed(sides: list[tuple[str, str]]) -> None:
    pairs = [Pair(*both) for both in sides]
    for finding in survey(pairs) + overlap(pairs, pairs):
        assert 1 <= len(finding.lines) <= min(finding.count, 5)
        assert all(1 <= line <= len(pairs) for line in finding.lines)
        assert finding.problem in str(finding)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("나는 a 학생", "HANGUL"),
        ("Straße", "LATIN"),
        ("カタカナ", "CJK"),
        ("日本語", "CJK"),
        ("Привет", "CYRILLIC"),
        ("12, 3!", ""),
        ("", ""),
    ],
)
def test_the_script_of_most_letters_counts(text: str, script: str) -> None:
    assert main_script(text) == script


GOOD = [
    "Straße „Maß“ – über",
    "«café» naïve… «aquí…»",
    "가나다 AT&T; R&D",
    "à la carte, Ângela",
    "5 < 6 & 7",
]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize(
    "text",
    ["über den Fluß", "나는 학생이다", "it’s “good”", "привет", "καλημέρα", "שלום", "ok 😀"],
)
def test_utf_8_that_was_read_as_something_else_is_found(text: str, encoding: str) -> None:
    # Windows-1252 leaves five bytes open, which become control characters.
    read = [bytes([byte]).decode(encoding, errors="replace") for byte in text.encode()]
    misread = "".join(
        chr(byte) if character == "\ufffd" else character
        for byte, character in zip(text.encode(), read, strict=True)
    )
    pairs = [*(Pair(good, "x") for good in GOOD), Pair(misread, "x")]

    (found,) = [finding for finding in survey(pairs) if "UTF-8" in finding.problem]

    assert found.lines == (len(pairs),)
    assert found.problem.startswith("source in UTF-8")


@pytest.mark.parametrize("code", ["&amp;", "&quot;", "&frac12;", "&#39;", "&#x27;", "&#128512;"])
def test_codes_of_html_are_found(code: str) -> None:
    pairs = [*(Pair("x", good) for good in GOOD), Pair("x", f"Tom{code}Jerry")]
    (found,) = [finding for finding in survey(pairs) if "HTML" in finding.problem]
    assert found.lines == (len(pairs),)
    assert found.problem.startswith("target with")


def test_characters_that_were_lost_are_found() -> None:
    found = survey([Pair("good", "gut"), Pair("f\ufffdr", "for")])
    assert [(f.problem, f.lines) for f in found] == [
        ("source with characters that were lost in reading (\ufffd)", (2,))
    ]


def test_a_finding_reads_as_a_line() -> None:
    assert str(Finding("empty source", 1, (7,))) == "empty source: 1 (line 7)"
    text = "empty source: 1,200 (lines 7, 8, 9, 10, 1,100, …)"
    assert str(Finding("empty source", 1200, (7, 8, 9, 10, 1100))) == text
