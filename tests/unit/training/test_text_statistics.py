"""Pieces are counted with their end symbols, by hand."""

import math
import random

import pytest

from headway.config.run import RunConfig, parse_run_config
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.store import PairStore
from headway.data.tokenizer import UNK_ID
from headway.training.text_check import Looked
from headway.training.text_statistics import (
    frequency_loss,
    piece_counts,
    suspicious_findings,
    unknown_findings,
)


def test_the_loss_of_frequencies_is_that_of_counts_plus_one() -> None:
    train = [EncodedPair([4], [5, 5, 6], 1), EncodedPair([4], [5], 2)]
    valid = [EncodedPair([4], [5, 7], 1)]

    # Of 9 pieces: 5 three times, 6 once, the end twice; 7 was never seen.
    expected = -(math.log(4 / 15) + math.log(1 / 15) + math.log(3 / 15)) / 3
    assert frequency_loss(train, valid, 9) == pytest.approx(expected)
    stores = PairStore.of(train), PairStore.of(valid)
    assert frequency_loss(*stores, 9) == pytest.approx(expected)


def test_pieces_are_counted_in_lists_and_in_stores() -> None:
    pairs = [EncodedPair([4, 9], [5, 5, 6], 1), EncodedPair([4], [8], 2)]

    for kept in (pairs, PairStore.of(pairs)):
        assert piece_counts(kept, "target", 7).tolist() == [0, 0, 0, 0, 0, 2, 1, 0, 1]
        assert piece_counts(kept, "source", 11).tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0]


def test_each_side_of_each_text_is_looked_at() -> None:
    known = [EncodedPair([4] * 50, [5] * 50, line) for line in range(1, 4)]
    broken = [EncodedPair([4] * 49 + [UNK_ID], [UNK_ID, 5], 1)]

    found = list(unknown_findings({"training": known, "validation": broken}, RunConfig()))

    assert [finding.problem for finding in found] == [
        "unknown pieces, validation source",
        "unknown pieces, validation target",
    ]
    assert "2.0% of the pieces of the validation text's source (1 of 50)" in found[0].message


def test_stretches_of_each_text_that_are_moved_are_named() -> None:
    def pairs(seed: int) -> list[Pair]:
        words = [random.Random(1000 * seed + n).randint(1, 40) for n in range(400)]
        return [Pair("wort " * count, "word " * count) for count in words]

    def moved(right: list[Pair], *starts: int) -> list[Pair]:
        wrong = list(right)
        for start in starts:
            for line in range(start, start + 40):
                wrong[line] = Pair(right[line].source, right[line + 2].target)
        return wrong

    right = pairs(1)
    assert list(suspicious_findings([Looked("training", "", right), Looked("test", "", [])])) == []
    once, often = moved(right, 100), moved(pairs(2), 0, 90, 180, 270, 350)
    looked = [Looked("training, corpus 2", "", once), Looked("test", "", often)]
    first, second = suspicious_findings(looked)
    assert first.problem == "misaligned text, training, corpus 2"
    assert first.message.startswith(
        "Training, corpus 2 text: targets seem to stand 2 lines too early: "
    )
    assert "more" not in first.message
    assert ", and 2 more. " in second.message


def test_sides_that_are_exchanged_are_named() -> None:
    right = [Pair("하나 둘", "one two")] * 9
    wrong = [Pair(pair.target, pair.source) for pair in right]
    texts = [
        Looked("training, corpus 1", "<2en>", right),
        Looked("training, corpus 2", "<2ko>", wrong),
        Looked("training, corpus 3", "<2ko>", [*right[:3], *wrong]),
        Looked("validation", "<2ko>", wrong),
    ]
    assert list(suspicious_findings(texts)) == []

    exchanged = Looked("validation", "<2ko>", right)
    (found,) = suspicious_findings([*texts[:3], exchanged])

    assert found.problem == "other script, validation"
    assert found.message.startswith(
        "Validation text: source in Hangul letters, in training text Latin: 9 (lines 1, 2, 3, 4, "
        "5, …); target in Latin letters, in training text Hangul: 9 ("
    )


@pytest.mark.parametrize(
    ("settings", "named", "unnamed"),
    [
        ({"tokenizer": {}}, ["byte_fallback"], ["coverage", "new_pieces", "size"]),
        (
            {"tokenizer": {"kind": "word", "character_coverage": 0.99, "byte_fallback": True}},
            ["coverage", "size"],
            ["fallback"],
        ),
        ({"training": {"start_from": "runs/ko-en"}}, ["new_pieces"], ["coverage", "fallback"]),
        ({"tokenizer": {"source_model": "a.model"}}, ["new_pieces"], ["coverage", "fallback"]),
        ({"tokenizer": {"byte_fallback": True}}, ["clean the text"], ["fallback", "coverage"]),
    ],
    ids=str,
)
def test_the_remedy_is_one_that_is_left(
    settings: dict[str, dict[str, object]], named: list[str], unnamed: list[str]
) -> None:
    broken = [EncodedPair([UNK_ID], [5], 1)]

    (found,) = unknown_findings({"training": broken}, parse_run_config(settings))

    assert all(word in found.message for word in named)
    assert not any(word in found.message for word in unnamed)
