"""No pair disappears uncounted, and each reason names lines."""

import json
import random
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict

import pytest

from headway.data.cleaning import Cleaning, CleaningReport, clean
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.pair_rules import DECOMPOSED_NOTE, CleaningRules, Examiner
from headway.errors import ConfigError, DataError

CONTROL = "control characters, pair kept (headway clean repairs or reports them)"


def encode(texts: list[str]) -> list[list[int]]:
    """Let each word be a piece, numbered by its length."""
    return [[len(word) for word in text.split()] for text in texts]


def run(
    pairs: Sequence[tuple[str, str]], rules: CleaningRules
) -> tuple[list[EncodedPair], CleaningReport]:
    return clean([Pair(*pair) for pair in pairs], encode, encode, rules=rules)


def test_a_kept_pair_has_its_ids_and_its_line() -> None:
    kept, report = run([("a bb", "ccc"), ("dddd", "ee f")], CleaningRules())
    assert kept == [EncodedPair([1, 2], [3], 1), EncodedPair([4], [2, 1], 2)]
    assert report.summary() == "2 pairs read, 2 kept"


def test_each_side_has_its_own_encoder() -> None:
    kept, _ = clean(
        [Pair("a bb", "a bb")],
        encode,
        lambda texts: [[9] for _ in texts],
        rules=CleaningRules(),
    )
    assert kept == [EncodedPair([1, 2], [9], 1)]


def test_an_encoder_that_loses_a_text_is_noticed() -> None:
    for encoders in ([encode, lambda texts: [[9]]], [lambda texts: [[9]] * 3, encode]):
        with pytest.raises(ValueError, match="more or fewer than 2"):
            clean([Pair("a", "b"), Pair("c", "d")], *encoders, rules=CleaningRules())


def test_a_pair_with_a_side_that_has_no_pieces_is_dropped() -> None:
    pairs = [("a", "b"), ("", "b"), (" \t", "b"), ("a", " "), ("", "")]
    kept, report = run(pairs, CleaningRules())
    assert [pair.line for pair in kept] == [1]
    assert report.dropped == {"empty source": 2, "empty target": 1, "empty source and target": 1}
    assert report.examples["empty source"] == [2, 3]


def test_empty_sides_stay_on_request() -> None:
    kept, report = run([("", "b"), ("", "")], CleaningRules(drop_empty=False, max_ratio=2.0))
    assert len(kept) == 2
    assert report.dropped == {}


def test_the_longest_length_allowed_is_kept_and_one_more_is_dropped() -> None:
    pairs = [("a b c", "a"), ("a b c d", "a"), ("a", "a b c"), ("a", "a b c d")]
    kept, report = run(pairs, CleaningRules(max_pieces=3))
    assert [pair.line for pair in kept] == [1, 3]
    assert report.dropped == {"longer than 3 tokens": 2}


def test_an_too_long_pair_is_cut_and_counted_on_request() -> None:
    pairs = [("a bb ccc dddd", "a bb ccc dddd"), ("a bb ccc", "a"), ("a", "a bb ccc dddd eeeee")]
    kept, report = run(pairs, CleaningRules(max_pieces=3, too_long="cut"))
    assert kept == [
        EncodedPair([1, 2, 3], [1, 2, 3], 1),
        EncodedPair([1, 2, 3], [1], 2),
        EncodedPair([1], [1, 2, 3], 3),
    ]
    assert report.dropped == {}
    assert report.cut == {"source longer than 3 tokens": 1, "target longer than 3 tokens": 2}
    assert report.examples["target longer than 3 tokens"] == [1, 3]


@pytest.mark.parametrize("too_long", ["drop", "cut"])
def test_no_limit_keeps_every_length(too_long: str) -> None:
    long = " ".join("a" * 1000)
    kept, report = run(
        [(long, "b")],
        CleaningRules(max_pieces=None, too_long=too_long),  # type: ignore[arg-type]
    )
    assert len(kept[0].source_ids) == 1000
    assert (report.dropped, report.cut) == ({}, {})


def test_a_ratio_at_the_limit_is_kept_and_above_it_dropped_either_way() -> None:
    pairs = [("a b c d", "a b"), ("a b c d e", "a b"), ("a b", "a b c d e"), ("a b", "a b c d")]
    kept, report = run(pairs, CleaningRules(max_ratio=2.0))
    assert [pair.line for pair in kept] == [1, 4]
    assert report.dropped == {"length ratio above 2": 2}


def test_the_ratio_is_measured_before_cutting() -> None:
    _, report = run(
        [("a b c d e", "a"), ("a", "a")],
        CleaningRules(max_pieces=2, too_long="cut", max_ratio=3.0),
    )
    assert report.dropped == {"length ratio above 3": 1}
    assert report.cut == {}


def test_only_the_first_of_equal_pairs_stays() -> None:
    pairs = [("a ", "b"), ("a", "c"), (" a", "b"), ("a", "b"), ("b", "a")]
    kept, report = run(pairs, CleaningRules(drop_duplicates=True))
    assert [pair.line for pair in kept] == [1, 2, 5]
    assert report.dropped == {"duplicate": 2}
    assert len(run(pairs, CleaningRules())[0]) == 5


def test_a_pair_with_one_text_on_both_sides_is_dropped_on_request() -> None:
    pairs = [("OK", "OK "), ("OK", "ok")]
    kept, report = run(pairs, CleaningRules(drop_identical=True))
    assert [pair.line for pair in kept] == [2]
    assert report.dropped == {"source identical to target": 1}
    assert len(run(pairs, CleaningRules())[0]) == 2


def test_every_pair_is_kept_or_counted_once() -> None:
    pairs = [("", "b"), ("a a a a", "b"), ("x", "x"), ("a", "b"), ("a", "b"), ("a a a", "b")]
    rules = CleaningRules(max_pieces=3, max_ratio=2, drop_duplicates=True, drop_identical=True)
    kept, report = run(pairs, rules)
    assert report.total == len(pairs)
    assert report.kept == len(kept) == 1
    assert report.kept + sum(report.dropped.values()) == report.total
    assert set(report.dropped.values()) == {1}


def test_lines_stay_true_beyond_one_chunk_of_encoding() -> None:
    pairs = [("a", "b")] * 10_001 + [("", "b"), ("cc", "ddd")]
    kept, report = run(pairs, CleaningRules())
    assert kept[-1] == EncodedPair([2], [3], 10_003)
    assert report.examples == {"empty source": [10_002]}


def test_a_duplicate_is_one_of_a_pair_that_is_kept_and_no_reason_where_there_is_another() -> None:
    pairs = [("a a a", "b"), ("a a a", "b"), ("a", "b"), ("", "b"), ("", "b"), ("a", "b")]
    kept, report = run(pairs, CleaningRules(drop_duplicates=True, max_pieces=2))
    assert [pair.line for pair in kept] == [3]
    assert report.dropped == {"longer than 2 tokens": 2, "empty source": 2, "duplicate": 1}


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_found_depends_neither_on_chunks_nor_on_processes(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    words = ["a", "bb", "ccc", "", "x\x07", "½", "d d d d d"]
    pairs = [Pair(*(" ".join(rng.choices(words, k=2)) for _ in range(2))) for _ in range(300)]
    rules = CleaningRules(
        max_pieces=6, too_long="cut", max_ratio=3, drop_duplicates=True, drop_identical=True
    )

    def cleaned() -> tuple[list[EncodedPair], list[Pair], CleaningReport]:
        examiner = Examiner(rules, encode, encode, lambda text: text.replace("½", "1/2"))
        cleaning = Cleaning(examiner, processes=processes)
        some = list(cleaning.cleaned(enumerate(pairs, start=5)))
        found = [pair for chunk in some for pair in chunk.tolist()]
        return found, [text for chunk in some for text in chunk.texts], cleaning.report

    expected = cleaned()
    monkeypatch.setattr("headway.data.cleaning._CHUNK", 7)
    assert cleaned() == expected

    found, texts, report = expected
    assert [pair.line - 5 for pair in found] != list(range(len(found)))
    assert texts == [pairs[pair.line - 5] for pair in found]
    assert {*report.dropped} > {"duplicate", "source identical to target", "empty source"}
    assert {*report.notes, *report.cut} > {CONTROL}
    assert report.kept + sum(report.dropped.values()) == report.total == 300


def test_control_characters_are_noted_and_the_pair_is_kept() -> None:
    pairs = [
        ("a\x07b", "c"),
        ("a\tb", "c"),
        ("a\u2028b\u200bc", "c"),
        ("a", "c\rd"),
        ("a", "\x85c"),
    ]
    pairs.append(("a\r", "e\r"))  # lines that ended in \r\n
    kept, report = run(pairs, CleaningRules())
    assert len(kept) == 6
    assert report.notes == {CONTROL: 3}
    assert report.examples[CONTROL] == [1, 4, 5]


def test_a_pair_that_is_dropped_is_not_said_to_be_kept() -> None:
    kept, report = run([("a\x07", ""), ("a\x07", "b"), ("a", "c")], CleaningRules())
    assert len(kept) == 2
    assert report.examples[CONTROL] == [2]
    assert report.dropped == {"empty target": 1}


def test_targets_that_normalization_changes_visibly_are_noted() -> None:
    apart = unicodedata.normalize("NFD", "저는")
    targets = ["so … what", "½ cup", "  two   spaces ", apart, "plain"]
    pairs = [Pair("a", target) for target in targets]

    kept, report = clean(
        pairs,
        encode,
        encode,
        rules=CleaningRules(),
        normalize_target=lambda text: " ".join(unicodedata.normalize("NFKC", text).split()),
    )

    assert len(kept) == 5
    note = "target rewritten by tokenizer.normalization, pair kept"
    assert report.notes == {note: 2, DECOMPOSED_NOTE: 1}
    assert report.examples[note] == [1, 2]


@pytest.mark.parametrize("keeps", [True, False])
def test_line_ends_of_windows_are_noted_where_they_stay_in_the_text(keeps: bool) -> None:
    pairs = [Pair("a\r", "b"), Pair("a", "b\r"), Pair("a", "b")]
    normalize = str if keeps else str.strip
    _, report = clean(
        pairs, encode, encode, rules=CleaningRules(), normalize_target=lambda t: normalize(t)
    )
    note = r"lines end in \r\n, and the \r is kept as text: convert the file"
    assert report.notes == ({note: 2} if keeps else {})


def test_what_is_cleaned_is_named_if_nothing_is_left() -> None:
    with pytest.raises(DataError, match=r"^Validation text: No pair is left"):
        clean([Pair("", "")], encode, encode, rules=CleaningRules(), name="Validation text: ")


def test_the_summary_counts_reasons_and_names_their_lines() -> None:
    pairs = [("a", "b")] * 1_200 + [("", "b")] * 7 + [("a a a", "b"), ("\x00", "b")]
    _, report = run(pairs, CleaningRules(max_pieces=2))
    assert report.lines() == [
        "1,209 pairs read, 1,201 kept; dropped 8: "
        "empty source 7 (lines 1,201, 1,202, 1,203, 1,204, 1,205, …), "
        "longer than 2 tokens 1 (line 1,208)",
        f"note: {CONTROL} 1 (line 1,209)",
    ]
    assert report.summary() == "; ".join(report.lines())


def test_the_summary_tells_what_was_cut() -> None:
    _, report = run([("a b c", "d")], CleaningRules(max_pieces=2, too_long="cut"))
    assert report.lines()[1] == "cut: source longer than 2 tokens 1 (line 1)"


def test_the_report_survives_json() -> None:
    _, report = run([("a", "b"), ("", "b"), ("a\x01", "b b b")], CleaningRules())
    assert json.loads(json.dumps(asdict(report))) == {
        "total": 3,
        "kept": 2,
        "dropped": {"empty source": 1},
        "cut": {},
        "notes": {CONTROL: 1},
        "examples": {"empty source": [2], CONTROL: [3]},
    }


def test_nothing_left_is_an_error_that_says_why() -> None:
    with pytest.raises(DataError, match="2 pairs read, 0 kept; dropped 2: empty source 2"):
        run([("", "a"), ("", "b")], CleaningRules())


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ({"max_pieces": 0}, "max_pieces is 0"),
        ({"max_ratio": 1.0}, "max_ratio is 1.0"),
        ({"max_ratio": float("nan")}, "max_ratio is nan"),
        ({"too_long": "keep"}, "too_long is 'keep'"),
    ],
)
def test_rules_that_cannot_work_are_refused(rules: dict[str, object], name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        CleaningRules(**rules)  # type: ignore[arg-type]


def characters(texts: list[str]) -> list[list[int]]:
    return [[4 + ord(character) % 90 for character in text if character != " "] for text in texts]


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("Hello, World!", "hello world", False),
        ("ＡＢＣ 1", "abc1.", False),
        ("2019 - 2020", "2019 – 2020", True),
        ("Paris", "Paris.", False),
        ("Paris", "In Paris", True),
    ],
)
def test_copies_are_dropped_by_their_words(source: str, target: str, kept: bool) -> None:
    pairs = [Pair("a word", "ein Wort"), Pair(source, target)]
    rules = CleaningRules(drop_copies=True)

    found, report = clean(pairs, characters, characters, rules=rules)

    assert (len(found) == 2) == kept
    assert report.dropped == ({} if kept else {"target copies source": 1})


@pytest.mark.parametrize(
    ("rule", "reason", "lines"),
    [
        ("drop_number_mismatch", "other numbers on one side", [2, 4]),
        ("drop_url_mismatch", "other addresses on one side", [3, 4]),
        ("drop_markup_mismatch", "other markup on one side", [2, 5]),
    ],
)
def test_pairs_are_dropped_for_other_numbers_addresses_and_markup(
    rule: str, reason: str, lines: list[int]
) -> None:
    pairs = [
        Pair("in 1,998 cases", "in 1.998 Fällen"),
        Pair("in <i>1998</i>", "im Jahr 1989"),
        Pair("see https://a.org/1", "siehe https://a.org/2"),
        Pair("44 at a.org, www.a.org", "55 bei a.org"),
        Pair("three", "&lt;b&gt;3"),
    ]

    kept, report = clean(pairs, characters, characters, rules=CleaningRules(**{rule: True}))

    assert [pair.line for pair in kept] == [n for n in range(1, 6) if n not in lines]
    assert report.dropped == {reason: 2}
    assert report.examples == {reason: lines}
    assert not clean(pairs, characters, characters, rules=CleaningRules())[1].dropped


def test_a_side_in_another_script_is_dropped_and_one_without_letters_is_not() -> None:
    pairs = [
        Pair("나는 학생입니다.", "I am a student."),
        Pair("I am a student.", "I am a student, too."),
        Pair("그는 Python을 씁니다.", "그는 파이썬을 씁니다."),
        Pair("1 + 1", "2"),
        Pair("東京に行く", "I go to Tokyo."),
        Pair("abc 학생들", "as many letters of each"),
    ]
    rules = CleaningRules(source_script="Hangul", target_script="latin")

    found, report = clean(pairs, characters, characters, rules=rules)

    assert [pair.line for pair in found] == [1, 4, 6]
    assert report.dropped == {
        "source not in Hangul letters": 2,
        "target not in Latin letters": 1,
    }
    assert report.examples["target not in Latin letters"] == [3]


def test_a_script_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no script 'hangeul'.*Did you mean 'hangul'\?"):
        CleaningRules(source_script="hangeul")
    with pytest.raises(ConfigError, match=r"no script 'korean'\. Their names are .* hangul"):
        CleaningRules(source_script="korean")
    CleaningRules(source_script="hiragana", target_script="CJK")


def test_one_pair_is_counted_as_one() -> None:
    assert CleaningReport(total=1, kept=1).summary() == "1 pair read, 1 kept"
    assert CleaningReport(total=2, kept=1).summary() == "2 pairs read, 1 kept"


def test_rules_ignore_the_unicode_form_and_decomposed_text_is_noted() -> None:
    pairs = [
        ("a", "ü"),
        ("a", "u\u0308"),
        ("u\u0308", "ü"),
        ("3", "\u1109\u1161\u11b7"),
        ("b", "c"),
    ]
    rules = CleaningRules(drop_duplicates=True, drop_identical=True)
    kept, report = run(pairs, rules)
    assert [pair.line for pair in kept] == [1, 4, 5]
    assert report.dropped == {"source identical to target": 1, "duplicate": 1}
    assert report.notes == {DECOMPOSED_NOTE: 1}
    assert report.examples[DECOMPOSED_NOTE] == [4]
