"""Pieces get Headway's numbers, and text is cut as before."""

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import SPECIAL_PIECES
from headway.errors import BundleError
from headway.interop.marian.pieces import read_pieces, written_pieces

from .conftest import marian_pieces


@given(text=st.text(alphabet="abcdefghijkz ▁é\n", max_size=20))
def test_ids_are_the_same_up_to_their_order(text: str) -> None:
    ours = read_pieces(marian_pieces(), "x.spm")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=marian_pieces())

    assert ours.old_ids[ours.tokenizer.encode(text)].tolist() == theirs.encode(text)
    assert ours.new_ids[theirs.encode(text)].tolist() == ours.tokenizer.encode(text)


def test_special_pieces_come_first_and_all_others_follow() -> None:
    ours = read_pieces(marian_pieces(), "x.spm")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=marian_pieces())

    assert ours.tokenizer.pieces(range(4)) == list(SPECIAL_PIECES)
    assert ours.tokenizer.pieces(range(4, 42)) == theirs.id_to_piece(list(range(2, 40)))
    assert ours.old_ids[:5].tolist() == [-1, 1, -1, 0, 2]
    assert ours.new_ids[:3].tolist() == [3, 1, 4]


def test_the_original_comes_back() -> None:
    ours = read_pieces(marian_pieces(), "x.spm").tokenizer
    back = sentencepiece.SentencePieceProcessor(model_proto=written_pieces(ours))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=marian_pieces())

    assert back.get_piece_size() == theirs.get_piece_size()
    for i in range(40):
        assert back.id_to_piece(i) == theirs.id_to_piece(i)
        assert back.get_score(i) == theirs.get_score(i)
    assert (back.eos_id(), back.unk_id(), back.bos_id(), back.pad_id()) == (0, 1, -1, -1)
    assert back.encode("abcade hij z") == theirs.encode("abcade hij z")
    assert read_pieces(written_pieces(ours), "x.spm").tokenizer.encode("ab") == ours.encode("ab")


@pytest.mark.parametrize("data", [b"", b"no model", marian_pieces()[:-7], bytes(90)])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match=r"x\.spm"):
        read_pieces(data, "x.spm")


def test_a_model_of_headways_own_is_refused_by_the_name_of_its_piece() -> None:
    ours = read_pieces(marian_pieces(), "x.spm").tokenizer
    with pytest.raises(BundleError, match=r"x\.spm has the token '<pad>', which Headway adds"):
        read_pieces(ours.to_bytes(), "x.spm")
