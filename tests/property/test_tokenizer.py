"""Laws of encoding and decoding over any text."""

import functools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import (
    END_ID,
    PAD_ID,
    START_ID,
    UNK_ID,
    Kind,
    Normalization,
    Tokenizer,
    train_tokenizer,
)

SENTENCES = [
    "나는 학생입니다.",
    "너는 학교에 갑니다, 그리고 나는 학교에 안 갑니다!",
    "I am a student.",
    "You go to school, and I do not go to school!",
    "a < b > c / d ▅ e \u2028 f <s> </s> <unk> <pad>",
]
WORDS = sorted({word for sentence in SENTENCES[:4] for word in sentence.split()})
CHARACTERS = "".join(sorted(set("".join(SENTENCES)) - {"▅", "\u2028"}))
SPECIAL_IDS = {PAD_ID, START_ID, END_ID}

known_text = st.one_of(
    st.text(alphabet=CHARACTERS, max_size=40),
    st.lists(st.sampled_from([*WORDS, "<s>", "</s>", "<pad>", "<unk>", " "])).map(" ".join),
)
any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)


@functools.cache
def trained(
    kind: Kind, byte_fallback: bool = False, normalization: Normalization = "nmt_nfkc"
) -> Tokenizer:
    size = 50 + 256 * byte_fallback if kind in ("unigram", "bpe") else 1000
    return train_tokenizer(
        SENTENCES,
        kind=kind,
        vocabulary_size=size,
        byte_fallback=byte_fallback,
        normalization=normalization,
    )


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nfkc_cf", "identity"])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@given(text=known_text)
def test_decoding_gives_known_text_back(
    kind: Kind, normalization: Normalization, text: str
) -> None:
    tokenizer = trained(kind, normalization=normalization)
    ids = tokenizer.encode(text)
    assert tokenizer.unknown_count(ids) == 0
    assert tokenizer.decode(ids) == tokenizer.normalize(text)


@given(st.lists(st.sampled_from(WORDS)).map("  ".join))
def test_decoding_gives_known_words_back(text: str) -> None:
    tokenizer = trained("word")
    ids = tokenizer.encode(text)
    assert len(ids) == len(text.split())
    assert tokenizer.unknown_count(ids) == 0
    assert tokenizer.decode(ids) == " ".join(text.split())


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "identity"])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@given(text=any_text)
def test_bytes_give_any_text_back(kind: Kind, normalization: Normalization, text: str) -> None:
    tokenizer = trained(kind, byte_fallback=True, normalization=normalization)
    ids = tokenizer.encode(text)
    assert UNK_ID not in ids
    assert tokenizer.decode(ids) == tokenizer.normalize(text)


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@given(text=st.one_of(known_text, any_text))
def test_text_never_becomes_a_control_symbol(kind: Kind, byte_fallback: bool, text: str) -> None:
    assert SPECIAL_IDS.isdisjoint(trained(kind, byte_fallback).encode(text))


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@given(data=st.data())
def test_decoding_any_ids_is_one_line_without_special_pieces(
    kind: Kind, data: st.DataObject
) -> None:
    tokenizer = trained(kind, byte_fallback=True)
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=30))
    text = tokenizer.decode(ids)
    assert "\n" not in text
    assert text == tokenizer.decode([i for i in ids if i not in SPECIAL_IDS])


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@given(texts=st.lists(any_text, max_size=5))
def test_a_batch_encodes_as_its_texts_one_by_one(kind: Kind, texts: list[str]) -> None:
    tokenizer = trained(kind)
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@given(text=st.text(alphabet="나는학생입니다가각 ", max_size=20))
def test_decomposed_hangul_encodes_like_composed(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    assert tokenizer.encode(unicodedata.normalize("NFD", text)) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
@given(text=any_text)
def test_pieces_and_ids_name_each_other(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    ids = tokenizer.encode(text)
    assert [tokenizer.id(piece) for piece in tokenizer.pieces(ids)] == ids
