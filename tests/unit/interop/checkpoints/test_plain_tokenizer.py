"""Tokenizers of plain words and characters look up one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import UNK_ID
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer

WORDS = ["a", "ab", "b,", "é"]
texts = st.text("ab,é ", max_size=12)


@given(texts, st.booleans())
def test_words(text: str, trimmed: bool) -> None:
    tokenizer = plain_tokenizer(WORDS, "word", trimmed=trimmed)
    words = text.split() if trimmed else text.split(" ") if text else []
    ids = [4 + WORDS.index(word) if word in WORDS else UNK_ID for word in words]
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode_batch([text, "a"]) == [ids, [4]]
    assert [piece.decode() for piece in tokenizer.written(text)] == [f"▁{word}" for word in words]
    assert tokenizer.unknown_texts(text) == [word or "▁" for word in words if word not in WORDS]
    stretches = tokenizer.stretches(text)
    assert [stretch.strip(" ") for stretch in stretches] == words
    assert "".join(stretches) == (text.strip(" ") if trimmed else text)


@given(texts)
def test_characters(text: str) -> None:
    tokenizer = plain_tokenizer(["a", "▁", "é"], "char")
    known = {"a": 4, " ": 5, "é": 6}
    assert tokenizer.encode(text) == [known.get(character, UNK_ID) for character in text]
    assert tokenizer.stretches(text) == list(text)


def test_pieces_that_are_not_text() -> None:
    tokenizer = plain_tokenizer(["a", "b", "the 9"], "word", unwritten={"b", "the 9"})
    assert tokenizer.encode("a b the 9") == [4, UNK_ID, UNK_ID, UNK_ID]
    assert tokenizer.decode([4, 5, 6]) == "a"
    assert tokenizer.pieces([5, 6]) == ["b", "the 9"]


@pytest.mark.parametrize("kind", ["word", "char"])
def test_the_file_keeps_what_is_apart(kind: str) -> None:
    tokenizer = plain_tokenizer(["a"], kind)  # type: ignore[arg-type]
    assert type(tokenizer).from_bytes(tokenizer.to_bytes()).encode("x x")[:2] == [UNK_ID, UNK_ID]
