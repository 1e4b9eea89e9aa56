"""Every row of a table has a name of its own."""

from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.interop.ctranslate2.vocabulary import token_list


def test_tokens_are_the_pieces_in_the_order_of_ids(tokenizer: Tokenizer) -> None:
    tokens = token_list(tokenizer, len(tokenizer))
    assert tokens == tokenizer.pieces(range(23))
    assert tokens[:5] == ["<pad>", "<unk>", "<s>", "</s>", "a"]


def test_rows_without_a_piece_get_names_that_no_piece_has() -> None:
    tokenizer = train_tokenizer(
        ["abc"], kind="char", vocabulary_size=30, symbols=["<unused1>", "<unused3>"]
    )
    tokens = token_list(tokenizer, len(tokenizer) + 3)
    assert tokens[: len(tokenizer)] == tokenizer.pieces(range(len(tokenizer)))
    assert tokens[len(tokenizer) :] == ["<unused0>", "<unused2>", "<unused4>"]
