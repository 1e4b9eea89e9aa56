"""Another program's ids: text is cut as before, and only the numbers change."""

import pickle
import random

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from headway.data.renumbered import renumbered
from headway.data.tokenizer import SPECIAL_PIECES, UNK_ID, Tokenizer, train_tokenizer
from headway.data.vocabulary import add_pieces
from headway.errors import TokenizerError

LINES = ["the cat sat on the mat", "a dog ran far away", "the dogs and the cats sat there"] * 4
MODEL = train_tokenizer(LINES, kind="unigram", vocabulary_size=27).to_bytes()
PIECES = [text for text, _, _ in Tokenizer(MODEL).table()][len(SPECIAL_PIECES) :]
ORIGINAL = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
WITHOUT_ID = ["▁the", "t"]
FOREIGN = ["▁Katze", "Hund", ">>deu<<", "▁ca", "xyz", "ü", "&ü"]
"""Pieces that the model lacks."""


def _shuffled() -> list[str]:
    pieces = [piece for piece in PIECES if piece not in WITHOUT_ID] + FOREIGN
    random.Random(3).shuffle(pieces)
    return pieces


LISTED = _shuffled()
TOKENIZER = renumbered(MODEL, LISTED, leading_tags=True)
IDS = {piece: i for i, piece in enumerate([*SPECIAL_PIECES, *LISTED])}


@given(st.text("the catsdogr nfwyKxzü&▁ü"))
def test_text_is_cut_as_before(text: str) -> None:
    expected = [IDS.get(piece, UNK_ID) for piece in ORIGINAL.encode_as_pieces(text)]
    assert TOKENIZER.encode(text) == expected
    assert TOKENIZER.encode_batch([text, "", text]) == [expected, [], expected]
    assert TOKENIZER.unknown_count(expected) == expected.count(UNK_ID)
    assert len(TOKENIZER.written(text)) == len(TOKENIZER.stretches(text)) == len(expected)


def test_each_id_is_a_piece_of_the_list_and_written_as_such() -> None:
    assert len(TOKENIZER) == len(IDS) == len(list(TOKENIZER.table()))
    assert TOKENIZER.pieces(range(len(TOKENIZER))) == list(IDS)
    for piece, i in IDS.items():
        if i >= len(SPECIAL_PIECES):
            assert TOKENIZER.id(piece) == i
            assert TOKENIZER.decode([i]) == piece.replace("▁", " ").removeprefix(" ")
    assert TOKENIZER.id(WITHOUT_ID[0]) == UNK_ID
    with pytest.raises(TokenizerError, match=f"There is no token {len(IDS)}"):
        TOKENIZER.decode([len(IDS)])


def test_what_has_no_id_is_reported_as_unknown() -> None:
    assert TOKENIZER.encode("the dog")[0] == UNK_ID
    assert TOKENIZER.unknown_texts("the dog") == list("the")


def test_the_vocabulary_may_know_what_the_model_does_not() -> None:
    assert TOKENIZER.pieces(TOKENIZER.encode("s&üs")) == ["▁", "s", "&ü", "s"]
    assert TOKENIZER.pieces(TOKENIZER.encode("s ü")) == ["▁", "s", "▁", "ü"]
    assert TOKENIZER.pieces(TOKENIZER.encode("sü&üs")) == ["▁", "s", "<unk>", "s"]


def test_a_tag_is_one_piece_at_the_beginning_only() -> None:
    tag = IDS[">>deu<<"]
    dog = TOKENIZER.encode("dog")
    for text in (">>deu<< dog", ">>deu<<dog"):
        assert TOKENIZER.encode(text) == [tag, *dog]
        assert TOKENIZER.encode_batch([text, "dog"]) == [[tag, *dog], dog]
    assert TOKENIZER.decode([tag, *dog]) == ">>deu<< dog" == TOKENIZER.normalize(">>deu<<  dog")
    assert TOKENIZER.stretches(">>deu<< dog")[0] == ">>deu<<"
    assert TOKENIZER.written(">>deu<< dog")[0] == b">>deu<<"
    assert TOKENIZER.encode(">>fra<< dog") == [UNK_ID, *dog]
    assert tag not in TOKENIZER.encode("dog >>deu<<")
    assert tag not in TOKENIZER.encode(" >>deu<< dog")
    assert tag not in renumbered(MODEL, LISTED).encode(">>deu<< dog")
    # What merely stands between such brackets is text.
    assert UNK_ID != TOKENIZER.encode(">>a dog<< dog")[-1] == dog[-1]


def test_the_file_holds_it_all() -> None:
    for copy in (Tokenizer(TOKENIZER.to_bytes()), pickle.loads(pickle.dumps(TOKENIZER))):
        assert copy == TOKENIZER
        assert copy.encode(">>deu<< the dog") == TOKENIZER.encode(">>deu<< the dog")
    assert Tokenizer(MODEL).encode(">>deu<<") != [UNK_ID]


def test_new_pieces_come_after_those_with_an_id() -> None:
    enlarged = add_pieces(TOKENIZER, ["<new>", "t", ">>deu<<"])
    assert enlarged.new == ["<new>", "t"]
    assert enlarged.known == [">>deu<<"]
    grown = enlarged.tokenizer
    assert len(grown) == len(TOKENIZER) + 2
    assert grown.encode("<new>")[-1] == len(TOKENIZER)
    assert grown.id("t") == len(TOKENIZER) + 1
    assert grown.id("▁the") == UNK_ID
    assert grown.encode("a dog ran") == TOKENIZER.encode("a dog ran")


def test_lists_that_cannot_be_a_vocabulary() -> None:
    for wrong, message in (
        ([*PIECES, ""], "has the token '' among its text"),
        ([*PIECES, "<s>"], "has the token '<s>' among its text"),
        ([*PIECES, "\ud800"], "among its text"),
        ([*PIECES, "a\0b"], "among its text"),
        ([*PIECES, "x", "x"], "a token twice"),
    ):
        with pytest.raises(TokenizerError, match=message):
            renumbered(MODEL, wrong)
    with pytest.raises(TokenizerError, match="not a SentencePiece model"):
        renumbered(b"no model", PIECES)


def test_two_models_with_one_list_have_the_same_ids() -> None:
    lines = ["eine Katze", "der Hund lief fort", "Hunde und Katzen"] * 4
    other = train_tokenizer(lines, kind="unigram", vocabulary_size=24).to_bytes()
    german = renumbered(other, LISTED)
    assert german != TOKENIZER
    assert german.has_ids_of(TOKENIZER)
    assert not german.has_ids_of(renumbered(other, LISTED[::-1]))
    assert not german.has_ids_of(renumbered(other, LISTED[1:]))


def test_merges_take_no_strange_pieces() -> None:
    data = train_tokenizer(LINES, kind="bpe", vocabulary_size=30).to_bytes()
    pieces = [text for text, _, _ in Tokenizer(data).table()][4:]
    assert renumbered(data, pieces[::-1]).pieces(range(4, 30)) == pieces[::-1]
    with pytest.raises(TokenizerError, match="'Hund', which this SentencePiece model of the kind"):
        renumbered(data, [*pieces, "Hund"])
