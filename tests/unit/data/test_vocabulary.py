"""New pieces are never cut, and nothing else changes: not an id, not a cut of other text."""

import io
from typing import Any

import pytest
import sentencepiece

from headway.data.tokenizer import Kind, Tokenizer, train_tokenizer
from headway.data.vocabulary import add_pieces, check_pieces
from headway.errors import ConfigError

KINDS: list[Kind] = ["unigram", "bpe", "word", "char"]
SENTENCES = [
    "the cat sat on the mat.",
    "the dog, 12 years old, sat on the cat",
    "a cat-like animal (a dog?) ate the mat",
    "나는 학생입니다. 너는 학교에 갑니다.",
]
NEW = ["<2ko>", "코로나19", "a,b", 'say"so']


def trained(kind: Kind, **options: Any) -> Tokenizer:
    size = 46 + 256 * options.get("byte_fallback", False)
    size = size if kind in ("unigram", "bpe") else 1000
    return train_tokenizer(SENTENCES, kind=kind, vocabulary_size=size, **options)


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the pieces without the marks of spaces, which may stand alone or not."""
    cut = tokenizer.pieces(tokenizer.encode(text))
    return [piece.removeprefix("▁") for piece in cut if piece != "▁"]


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_old_pieces_keep_their_ids_and_old_text_its_cut(kind: Kind, byte_fallback: bool) -> None:
    old = trained(kind, byte_fallback=byte_fallback)

    new = add_pieces(old, NEW).tokenizer

    assert len(new) == len(old) + len(NEW)
    assert new.kind == kind
    assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
    for text in [*SENTENCES, "unheard-of Words, ＦＵＬＬ width", "a b", "<2k o>", "코로나 19", ""]:
        assert new.encode(text) == old.encode(text)
        assert new.normalize(text) == old.normalize(text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_piece_is_never_cut(kind: Kind) -> None:
    new = add_pieces(trained(kind), NEW).tokenizer

    assert pieces(new, "<2ko> the cat")[0] == "<2ko>"
    for text in NEW:
        ids = new.encode(f"the {text} sat")
        assert pieces(new, f"the {text} sat").count(text) == 1
        assert new.decode(ids) == f"the {text} sat"
    if kind != "word":
        assert pieces(new, "the코로나19는")[-2] == "코로나19"


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_symbols_of_training_are_never_cut(kind: Kind) -> None:
    new = trained(kind, symbols=NEW)

    assert new.pieces(range(4, 4 + len(NEW))) == NEW
    for text in NEW:
        assert pieces(new, f"{text} the cat")[0] == text
    assert add_pieces(new, NEW).known == NEW


def test_the_old_pieces_of_a_new_one_are_told_in_the_order_of_the_ids() -> None:
    old = trained("bpe")

    enlarged = add_pieces(old, ["catdog", "the", "mat<"])

    assert enlarged.known == []  # "▁the" is a piece, "the" is not
    assert enlarged.cuts == [old.encode("catdog"), old.encode("the"), old.encode("mat<")]
    assert enlarged.tokenizer.pieces(range(46, 49)) == ["catdog", "the", "mat<"]


def test_what_is_a_piece_already_stays_as_it_is() -> None:
    once = add_pieces(trained("char"), ["<2ko>", "t"])
    twice = add_pieces(once.tokenizer, ["<2ko>", "<2en>"])

    assert (once.known, twice.known) == (["t"], ["<2ko>"])
    assert twice.tokenizer.vocabulary_size == once.tokenizer.vocabulary_size + 1
    nothing = add_pieces(once.tokenizer, ["t"])
    assert nothing.tokenizer == once.tokenizer


def test_a_new_word_is_one_as_the_text_is_normalized() -> None:
    old = trained("word", normalization="nmt_nfkc_cf")
    new = add_pieces(old, ["COVID"])
    assert pieces(new.tokenizer, "the covid Covid") == ["the", "covid", "covid"]
    assert add_pieces(old, ["The", "ＣＯＶＩＤ", "covid"]).known == ["The", "covid"]


def test_sentencepiece_itself_reads_the_file() -> None:
    old = trained("unigram")
    data = add_pieces(old, ["x" * 200, "<2ko>"]).tokenizer.to_bytes()
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert processor.get_piece_size() == 48  # lengths above 127 take two bytes
    assert processor.id_to_piece([46, 47]) == ["x" * 200, "<2ko>"]
    again = sentencepiece.SentencePieceProcessor(model_proto=processor.serialized_model_proto())
    assert again.encode("<2ko> the cat") == processor.encode("<2ko> the cat")
    assert io.BytesIO(data).read(len(old.to_bytes())) == old.to_bytes()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["ok", ""], "'', which is empty"),
        (["New York"], "'New York', which holds ' '"),
        (["▁x"], "holds '▁'"),
        (["<2ko>", "<2ko>"], "'<2ko>', which is there twice"),
        (["</s>"], "'</s>', which is a special token"),
        (["<0x0A>"], "'<0x0A>', which is a special token"),
        (["\ud800"], "holds '.ud800'"),
    ],
)
def test_what_cannot_be_a_piece_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check_pieces(texts)
    assert "<2ko>" in caught.value.remedy
    with pytest.raises(ConfigError):
        add_pieces(trained("char"), texts)


def test_what_normalization_removes_is_refused() -> None:
    with pytest.raises(ConfigError, match="leaves nothing"):
        add_pieces(trained("char"), ["<2ko>", "\x7f"])
