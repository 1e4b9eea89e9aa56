"""A long sentence is cut where it hurts least."""

import pytest

from headway.decoding import splitting as module
from headway.decoding.splitting import leading_tag, sentence_starts, split_long
from headway.errors import ConfigError


def cut(pieces: list[str], max_pieces: int) -> list[str]:
    parts = split_long(range(len(pieces)), pieces, max_pieces)
    return ["".join(pieces[i] for i in part) for part in parts]


def test_the_last_sentence_end_of_a_part_is_the_best_place() -> None:
    pieces = ["▁a", ".", "▁b", "c", ".", "▁d", "▁e", "f", "."]

    assert cut(pieces, 7) == ["▁a.▁bc.", "▁d▁ef."]


def test_without_a_sentence_end_a_word_stays_whole() -> None:
    assert cut(["▁a", "b", "▁c", "▁d", "e", "f"], 5) == ["▁ab▁c", "▁def"]


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    assert cut(["▁a", "b", "c", "d", "e", "f", "g"], 3) == ["▁abc", "def", "g"]


def test_a_full_stop_inside_a_number_is_no_end() -> None:
    assert cut(["▁x", "▁3", ".", "1", "4", "▁y"], 5) == ["▁x▁3.14", "▁y"]


def test_chinese_and_japanese_sentences_end_without_a_space() -> None:
    assert cut(["▁我", "们", "。", "你", "们", "好"], 5) == ["▁我们。", "你们好"]


@pytest.mark.parametrize(
    ("pieces", "parts"),
    [
        (
            ["▁She", "▁went", "▁home.”", "▁Then", "▁he", "▁came"],
            ["▁She▁went▁home.”", "▁Then▁he▁came"],
        ),
        (["▁Il", "▁est", "▁là.", "▁»", "▁Puis", "▁il"], ["▁Il▁est▁là.▁»", "▁Puis▁il"]),
        (["▁वह", "▁घर", "▁गया।", "▁मैं", "▁यहाँ", "▁हूँ"], ["▁वह▁घर▁गया।", "▁मैं▁यहाँ▁हूँ"]),
        (["▁هل", "▁أنت", "▁هنا؟", "▁نعم", "▁أنا", "▁هنا"], ["▁هل▁أنت▁هنا؟", "▁نعم▁أنا▁هنا"]),
        (["▁میں", "▁گھر", "▁گیا۔", "▁وہ", "▁یہاں", "▁ہے"], ["▁میں▁گھر▁گیا۔", "▁وہ▁یہاں▁ہے"]),
        (["▁他", "走", "了", "。）", "我", "留", "下"], ["▁他走了。）", "我留下"]),
        (["▁He", "▁met", "▁Dr.", "▁Smith", "▁and", "▁left"], ["▁He▁met▁Dr.▁Smith▁and", "▁left"]),
    ],
)
def test_sentences_end_before_closing_marks_and_in_other_scripts(
    pieces: list[str], parts: list[str]
) -> None:
    assert cut(pieces, 5) == parts


def test_sentences_begin_with_their_first_piece() -> None:
    pieces = ["▁Go.", "▁", "▁I", "▁went.", "▁He", "▁did", "▁not."]
    assert sentence_starts(pieces, "en") == {1, 4}


def test_sentences_of_a_long_text_are_added_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class CountedList(list[str]):
        taken = 0

        def __getitem__(self, place):
            stretch = super().__getitem__(place)
            self.taken += len(stretch)
            return stretch

    sentences = CountedList([" Go. ", *["Go. "] * 39])
    monkeypatch.setattr(module, "split_sentences", lambda *_: sentences)

    assert len(sentence_starts(["▁Go."] * 40, "en")) == 39
    assert sentences.taken < 80


def test_a_place_in_the_first_half_is_not_taken() -> None:
    assert cut(["▁a", ".", "▁b", "c", "d", "e", "f"], 6) == ["▁a.▁bcde", "f"]


def test_nothing_gives_no_parts() -> None:
    assert split_long([], [], 5) == []


def test_parts_of_no_pieces_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_pieces is 0, but must be at least 1"):
        split_long([1], ["▁a"], 0)


@pytest.mark.parametrize(
    ("pieces", "length"),
    [
        (["▁", "<2ko>", "▁a"], 2),
        (["▁<2ko>", "▁a"], 1),
        (["▁", "<2ko>", "▁", "<formal>", "▁a"], 4),
        (["▁a", "▁", "<2ko>"], 0),
        (["▁", "a"], 0),
        (["<>", "▁a"], 0),
        (["▁", "<unk>", "▁a"], 0),
        (["▁", "<0xF0>", "<0x9F>", "▁a"], 0),
        (["▁<2ko>", "▁", "<0xF0>"], 1),
        ([], 0),
    ],
)
def test_a_tag_stands_first_and_in_angle_brackets(pieces: list[str], length: int) -> None:
    assert leading_tag(pieces) == length
