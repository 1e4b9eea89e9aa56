"""Pieces are counted with their end symbols, by hand."""

import math

import pytest

from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.store import PairStore
from headway.training.text_statistics import (
    describe_sources,
    frequency_loss,
    piece_counts,
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


def test_the_share_of_sources_with_several_sentences_is_that_of_a_sample() -> None:
    def share(corpora: list[list[Pair]], language: str) -> float:
        return describe_sources(corpora, language)["several_sentences"]

    one, two = Pair("One sentence.", "x"), Pair("Dr. Smith left. He was tired.", "x. y.")
    assert share([], "English") == 0.0
    assert share([[]], "English") == 0.0
    assert share([[one, two, one, one]], "en") == 0.25
    assert share([[one] * 3, [two] * 2], "English") == 0.4
    # Of 6,000 every third: the share is that of these, the same each time.
    assert share([[two, one, one] * 2000], "English") == 1.0
    korean = [Pair("오늘은 2020. 5. 3. 일요일이다.", "x"), Pair("갔습니다.그리고 왔습니다.", "x")]
    assert share([korean], "Korean") == 0.5


@pytest.mark.parametrize(("longest", "usual"), [(0, 1), (1, 1), (2, 4), (20, 4)])
def test_the_usual_number_of_sentences_is_not_that_of_rare_long_lines(
    longest: int, usual: int
) -> None:
    four = Pair("It rained. We left. He sat. She ran.", "x")
    corpus = [Pair("One sentence.", "x")] * (20 - longest) + [four] * longest

    assert describe_sources([corpus], "en")["usual_sentences"] == usual
    assert describe_sources([], "en")["usual_sentences"] == 1


def test_the_script_of_nine_in_ten_lines_of_a_side_is_recorded() -> None:
    def script(*sources: str) -> str:
        described = describe_sources([[Pair(source, "x") for source in sources]], "source")
        turned = describe_sources([[Pair("x", source) for source in sources]], "source")
        assert turned["target_script"] == described["source_script"]
        assert described["target_script"] == turned["source_script"] == ("LATIN" if sources else "")
        return described["source_script"]

    korean = ["저는 간다"] * 9
    assert script(*korean, "I go") == "HANGUL"
    assert script(*korean, "I go", "12", "", "…") == "HANGUL"  # no letters, so no script
    assert script(*korean, "I go", "you go") == ""
    assert script("저는 간다", "I go") == script("1") == script() == ""
