"""Suspicious pairs are found, named by line, and unsuspicious text has none."""

import itertools
import random
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.finding import Finding
from headway.data.scripts import main_script
from headway.data.survey import other_languages, overlap, survey
from headway.sample_corpus import build_sample_corpus

from .parallel_text import sentences
from .test_repeats import of_corpora


def problems(findings: list[Finding]) -> dict[str, tuple[int, ...]]:
    return {finding.problem: finding.lines for finding in findings}


def test_each_problem_is_found_and_named_by_its_line() -> None:
    pairs = [
        Pair("하나", "one"),
        Pair(" ", "two"),
        Pair("셋", ""),
        Pair("copied", "copied "),
        Pair("하나", "one"),
        Pair("하나", "a single one"),
        Pair("123", "123"),  # numbers are the same in every language
        *[Pair("다섯 여섯", f"five {n}") for n in range(19)],
        Pair("“Copied, TOO!”", "copied too"),
    ]
    found = problems(survey(pairs))
    assert found["empty source"] == (2,)
    assert found["empty target"] == (3,)
    assert found["both sides the same"] == (4,)
    assert found["pair seen before"] == (5,)
    assert found["other translation of a source seen before"] == (6, *range(9, 27))
    assert found["source in Latin letters"] == (4, 27)
    assert found["both sides the same but for case, spaces and punctuation"] == (27,)
    assert len(found) == 7


def test_an_empty_line_is_empty_and_nothing_else() -> None:
    pairs = [Pair("", "one"), Pair(" ", "two"), Pair("", ""), Pair("", ""), Pair("셋", "three")]
    assert problems(survey([*pairs, Pair("셋", "")])) == {
        "empty source": (1, 2, 3, 4),
        "empty target": (3, 4, 6),
    }


def test_a_target_of_another_length_than_usual_is_found() -> None:
    # Twice as long, more or less, and never the same.
    pairs = [Pair("가" * n, "word " * (n // 5) + "b" * n) for n in range(20, 120)]
    pairs[7] = Pair(pairs[7].source, "b")
    pairs[9] = Pair("", "c" * 900)  # empty, and that says all
    pairs[60] = Pair(pairs[60].source, "word " * 300)
    assert problems(survey(pairs)) == {
        "empty source": (10,),
        "target unusually short for its source": (8,),
        "target unusually long for its source": (61,),
    }
    few = [*pairs[:7], *pairs[10:60], pairs[7]]  # the last is the short one
    assert [f.lines for f in survey(few[-50:]) if "unusually" in f.problem] == [(50,)]
    assert not [f for f in survey(few[-49:]) if "unusually" in f.problem]  # nothing is usual yet


@pytest.mark.parametrize(
    ("source", "target"),
    [("가", "translation"), ("예.", "Yes, it is."), ("a" * 300, "b" * 140), ("a" * 100, "b" * 210)],
)
def test_a_word_may_have_a_longer_translation(source: str, target: str) -> None:
    pairs = [Pair("a" * n, "b" * n) for n in range(1, 100)]
    found = survey([*pairs, Pair(source, target)])
    assert not [finding for finding in found if "unusually" in finding.problem]


def test_where_lengths_differ_widely_none_is_unusual() -> None:
    rng = random.Random(3)
    sizes = [rng.randint(20, 200) for _ in range(400)]
    wide = [Pair("a" * size, "b" * size * rng.choice([1, 2, 3, 5, 8])) for size in sizes]
    narrow = [Pair("a" * size, "b" * size) for size in sizes]
    odd = Pair("a" * 90, "b" * 900)
    expected: list[tuple[list[Pair], list[tuple[int, ...]]]] = [(wide, []), (narrow, [(401,)])]
    for pairs, lines in expected:
        found = [f for f in survey([*pairs, odd]) if f.problem.startswith("target")]
        assert [finding.lines for finding in found] == lines  # and none is of other sources


def test_empty_lines_do_not_count_among_the_usual_lengths() -> None:
    pairs = [Pair("a" * n, "b" * (n + n % 3)) for n in range(20, 80)]
    empty = [Pair("a" * n, "") for n in range(20, 80)]
    (unusual,) = [f for f in survey([*empty, *pairs, Pair("a" * 50, "b")]) if "unusu" in f.problem]
    assert unusual.lines == (121,)


@pytest.mark.parametrize(("missing", "side"), [(1, "target"), (2, "target"), (1, "source")])
def test_a_missing_line_moves_all_that_follow(missing: int, side: str) -> None:
    pairs = sentences(1000)
    sources, targets = (list(texts) for texts in zip(*pairs, strict=True))
    del (targets if side == "target" else sources)[400 : 400 + missing]
    moved = [Pair(*both) for both in zip(sources, targets, strict=False)]

    # At the ends of the stretch numbers may be others, too.
    (found,) = [finding for finding in survey(moved) if finding.id == "misaligned"]

    lines = "1 line" if missing == 1 else f"{missing} lines"
    direction = "early" if side == "target" else "late"
    start = found.lines[0]
    assert abs(start - 401) <= 3
    end = 1000 - missing
    assert found.problem == f"targets seem to stand {lines} too {direction}"
    assert found.count == end - start + 1
    assert str(found) == f"{found.problem}: {found.count} (about lines {start} to {end})"
    assert found.as_dict() == {
        "id": "misaligned",
        "problem": found.problem,
        "count": found.count,
        "lines": [start],
        "through": end,
    }


def test_moved_targets_are_no_other_translations() -> None:
    right = sentences(1000)
    block = right[400:460]
    moved = [
        Pair(pair.source, other.target)
        for pair, other in zip(block, block[-1:] + block[:-1], strict=True)
    ]
    other_translation = Pair(right[10].source, right[13].target)
    # Each source of the moved block has its own target in a line before it.
    pairs = [*block, *right[:400], *moved, *right[460:], other_translation]
    found = {finding.id: finding for finding in survey(pairs)}

    assert (found["misaligned"].lines, found["misaligned"].through) == ((461,), 520)
    assert found["other-translation"].lines == (len(pairs),)


def test_targets_of_other_sources_are_found() -> None:
    pairs = sentences(1000)
    wrong = zip(pairs[300:500], pairs[700:900], strict=True)
    pairs[300:500] = [Pair(own.source, other.target) for own, other in wrong]
    (found,) = [finding for finding in survey(pairs) if finding.id == "unrelated"]
    assert found.problem == "targets seem to be of other sources"
    assert abs(found.lines[0] - 301) <= 5
    assert abs(found.count - 200) <= 8


def test_the_built_in_corpus_is_not_suspicious() -> None:
    corpus = build_sample_corpus()
    pairs = [Pair(pair.korean, pair.english) for pair in corpus.train]
    held_out = [Pair(pair.korean, pair.english) for pair in corpus.test_unseen]
    assert survey(pairs[:12_000]) == []
    assert overlap(pairs, held_out) == []


def test_held_out_text_that_was_trained_on_is_found() -> None:
    train = [Pair("하나", "one"), Pair("둘", "two")]
    held_out = [Pair("둘", "two"), Pair("셋", "three"), Pair("하나", "a one")]
    assert problems(overlap(train, held_out)) == {
        "pair is in the training text too": (1,),
        "source is in the training text, with another translation": (3,),
    }


def test_an_empty_line_is_no_leak() -> None:
    train = [Pair("", ""), Pair("", "one"), Pair("둘", ""), Pair("셋", "three")]
    held_out = [Pair(" ", ""), Pair("", "one"), Pair("", "two"), Pair("둘", ""), Pair("셋", "")]
    assert overlap(train, [*held_out, Pair("둘", "two")]) == []
    assert problems(overlap(train, [Pair("셋", "3")])) == {
        "source is in the training text, with another translation": (1,)
    }


def test_sides_that_are_exchanged_in_held_out_text_are_found() -> None:
    train = [Pair("하나 둘", "one two")] * 30 + [Pair("New York", "New York")] * 2
    held_out = [Pair("three", "셋"), Pair("4", "4"), Pair("five", "다섯")]
    assert problems(overlap(train, held_out)) == {
        "source in Latin letters, in training text Hangul": (1, 3),
        "target in Hangul letters, in training text Latin": (1, 3),
    }
    assert overlap(train, [Pair(pair.target, pair.source) for pair in held_out]) == []
    assert overlap(train, [Pair("1", "2")]) == overlap([], held_out) == []


def test_exchanged_sides_are_found_where_one_language_has_some_of_the_other_letters() -> None:
    train = [Pair("하나 둘", "one two")] * 80 + [Pair("New York", "New York")] * 20
    held_out = [Pair("three", "셋")] * 8 + [Pair("넷", "four")] * 2
    assert set(problems(overlap(train, held_out))) == {
        "source in Latin letters, in training text Hangul",
        "target in Hangul letters, in training text Latin",
    }
    assert overlap(train, [*held_out[:6], *held_out[8:], *held_out[8:]]) == []  # six of ten


def test_a_pair_of_another_kind_of_text_is_a_leak_but_its_source_is_none() -> None:
    others = [Pair("하나", "ein"), Pair("둘", "zwei")]
    held_out = [Pair("하나", "one"), Pair("둘", "zwei"), Pair("셋", "three")]
    assert problems(overlap([Pair("넷", "four")], held_out, others)) == {
        "pair is in the training text too": (2,)
    }


def test_a_side_in_another_script_than_its_language_is_found() -> None:
    pairs = [Pair("하나 둘", "one two"), Pair("셋", "three"), Pair("2", "2"), Pair("YES", "예")]
    assert other_languages(("ko", "en"), pairs) == []
    assert other_languages(("source", "target"), pairs) == []
    assert other_languages(("de", "sr"), pairs[3:]) == []
    source, target = other_languages(("en", "kor"), pairs[:3])
    assert (source.id, source.lines) == ("other-language-source", (1, 2))
    assert source.problem == "source in Hangul letters, but en is written in Latin"
    assert (target.id, target.lines) == ("other-language-target", (1, 2))
    assert target.problem == "target in Latin letters, but kor is written in Hangul"


def test_a_column_of_numbers_is_no_language() -> None:
    pairs = [Pair(f"{n}", f"{n} 마리") for n in range(30)]
    assert problems(survey(pairs)) == {"source without letters": tuple(range(1, 31))}
    pairs[:15] = [Pair("둘", f"{n} 마리") for n in range(15)]
    assert "source without letters" not in problems(survey(pairs))


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


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=12))
def test_any_text_can_be_surveyed(sides: list[tuple[str, str]]) -> None:
    pairs = [Pair(*both) for both in sides]
    for finding in survey(pairs) + overlap(pairs, pairs):
        assert 1 <= len(finding.lines) == finding.count
        assert all(1 <= line <= len(pairs) for line in finding.lines)
        assert finding.problem in str(finding)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("나는 a 학생", "HANGUL"),
        ("Straße", "LATIN"),
        ("NATO", "LATIN"),
        ("so", "LATIN"),
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
    assert found.problem.startswith("source with UTF-8")


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


def test_every_finding_is_explained_in_the_documents() -> None:
    pairs = [*sentences(400), Pair("", "x"), Pair("x", ""), Pair("Ä.", "Ä."), Pair("Ä!", "ä")]
    pairs += [Pair("wort " * 20, "x"), Pair("나는 학생이다", "x"), Pair("A &amp; B", "x"), pairs[7]]
    pairs += [Pair("f\ufffdr", "for"), Pair("Ã©tÃ©", "x"), Pair(pairs[7].source, "x")]
    pairs += [Pair("in 1998", "1989"), Pair("at www.a.org", "at b"), Pair("two  spaces", "2")]
    moved = [*pairs, *(Pair(a.source, b.target) for a, b in itertools.pairwise(sentences(200, 1)))]
    others = [
        Pair(a.source, b.target) for a, b in zip(sentences(90, 2), sentences(90, 3), strict=True)
    ]
    found = [
        *survey(moved),
        *survey([*pairs, *others]),
        *survey([*pairs, Pair("w", "word " * 20)]),
        *survey([Pair("1", "one")]),
        *overlap(
            [Pair("one", "eins"), Pair("two", "zwei")], [Pair("one", "eins"), Pair("two", "2")]
        ),
        *overlap([Pair("one", "eins")], [Pair("하나", "eins")]),
        *other_languages(("Korean", "en"), [Pair("one", "eins")]),
        *survey([*pairs, *(Pair(f"{n}", "the same") for n in range(1000, 1020))]),
        *of_corpora((pairs[:5], ""), (pairs[5:9], "<2ko>"), (pairs[4:], ""), (pairs, "<2b>")),
    ]

    def plain(text: str) -> str:
        text = re.sub(r"\d+(?: lines?)?", "1", text.replace("`", "").replace("late", "early"))
        return re.sub("Latin|Hangul", "Latin", text.replace("target", "source"))

    docs = Path(__file__).parents[3] / "docs"
    page = plain((docs / "en" / "reference" / "findings.md").read_text(encoding="utf-8"))
    problems = {plain(finding.problem.replace("\ufffd", "")) for finding in found}
    assert len(problems) == 26
    for problem in problems:
        assert problem.removesuffix(" ()") in page


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Stra\xc3\x9fe", {"mojibake-source"}),  # the repair of mojibake removes U+009F
        ("caf\xe9 \x96 th\xe9", {"mojibake-source"}),
        ("â€", {"broken-mojibake-source"}),  # its third byte was lost
        ("\u00e2\u20ac\u0153so\u00e2\u20ac\u2122", {"mojibake-source"}),
        ("a\x1cb", {"spaces-source"}),
        ("a\x07b", {"control-characters-source"}),
        ("a\x81b", {"control-characters-source"}),
        ("\x1b[31mred", {"control-characters-source"}),
        ("a\tb", {"spaces-source"}),
        ("Jeans & amp", {"broken-codes-source"}),
        ("H&amp;amp, R", {"html-codes-source"}),
    ],
)
def test_damage_that_a_repair_undoes_is_told_from_damage_that_stays(
    text: str, ids: set[str]
) -> None:
    pairs = [*(Pair(good, "x") for good in GOOD), Pair(text, "x")]
    damages = [finding for finding in survey(pairs) if finding.lines == (len(pairs),)]
    assert {finding.id for finding in damages} == ids


def test_decomposed_text_is_found_and_otherwise_like_composed_text() -> None:
    right = [Pair(f"{'word ' * (n % 7)}{n}", f"{'한국말 ' * (n % 7)}{n}") for n in range(60)]
    pairs = [*right, Pair(*(unicodedata.normalize("NFD", side) for side in right[6]))]
    found = {finding.id: (finding.lines, finding.earlier) for finding in survey(pairs)}
    assert found.pop("decomposed-target") == ((61,), ())
    assert found.pop("duplicate-pairs") == ((61,), (7,))
    assert found == {finding.id: (finding.lines, finding.earlier) for finding in survey(right)}


def test_the_unicode_form_does_not_hide_a_leak() -> None:
    train, held_out = [Pair("eins", "\u1112\u1161\u11ab")], [Pair("eins", "한"), Pair("ü", "한")]
    assert [finding.lines for finding in overlap(train, held_out)] == [(1,)]
    assert [finding.id for finding in of_corpora((train, ""), (held_out, ""))] == ["in-corpus"]
