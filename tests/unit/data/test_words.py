"""Pieces know their word: what stands between spaces, whatever a tokenizer makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import Kind, Tokenizer, train_tokenizer
from headway.data.words import number_words, words_of

TEXT = ["나는 학생입니다.", "너는 학교에 갑니다.", "I am a student.", "the cat sat on the mat"]
BYTES = 256


@pytest.fixture(scope="module", params=["unigram", "bpe", "word", "char"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(scope="module", params=[False, True], ids=["unknown", "bytes"])
def tokenizer(request: pytest.FixtureRequest, kind: Kind) -> Tokenizer:
    more = BYTES if request.param else 0
    size = {"unigram": 32, "bpe": 55, "word": 60, "char": 60}[kind]
    return train_tokenizer(
        TEXT, kind=kind, vocabulary_size=size + more, byte_fallback=request.param
    )


texts = st.text(alphabet="aI 너나는.x龍▁<0E>é\n", max_size=14)


@given(text=texts)
def test_every_word_of_a_text_is_counted_and_all_pieces_together_write_it(
    tokenizer: Tokenizer, text: str
) -> None:
    numbers = number_words(tokenizer, text)

    words = tokenizer.normalize(text).split(" ")
    written = [word for word in words if word]
    known = [number for number in numbers if number is not None]
    assert len(numbers) == len(tokenizer.encode(text))
    assert known == sorted(known)
    assert all(0 <= number < len(written) for number in known)
    assert b"".join(tokenizer.written(text)).decode() == tokenizer.marked(text)
    # One unknown piece may stand for several words; no other may.
    if not tokenizer.unknown_count(tokenizer.encode(text)):
        assert set(known) == set(range(len(written)))


@given(data=st.data())
def test_ids_have_the_words_of_the_text_that_they_spell(
    tokenizer: Tokenizer, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(4, len(tokenizer) - 1), max_size=9))
    numbers = number_words(tokenizer, ids)
    words = [word for word in tokenizer.decode(ids).split(" ") if word]
    assert {n for n in numbers if n is not None} <= set(range(len(words)))
    assert max((n for n in numbers if n is not None), default=-1) == len(words) - 1


def test_by_hand() -> None:
    chars = train_tokenizer(TEXT, kind="char", vocabulary_size=60)
    assert number_words(chars, "I am") == [0, 0, 1, 1, 1]  # ▁ I ▁ a m
    ids = [*chars.encode("I am"), chars.id("▁")]
    assert number_words(chars, ids) == [0, 0, 1, 1, 1, None]
    words = train_tokenizer(TEXT, kind="word", vocabulary_size=60)
    # 龍 and 虎 are one unknown piece; the second of them is not to be lost.
    assert words.pieces(words.encode("the 龍 虎 cat")) == ["▁the", "<unk>", "▁cat"]
    assert number_words(words, "the 龍 虎 cat") == [0, 1, 3]


def test_bytes_may_spell_the_space_between_two_words() -> None:
    chars = train_tokenizer(TEXT, kind="char", vocabulary_size=60 + BYTES, byte_fallback=True)
    for between in (["<0x0A>"], ["<0x20>"], ["<0xE2>", "<0x96>", "<0x81>"]):
        ids = [chars.id(piece) for piece in ("a", *between, "m", "<0xE9>")]
        assert len(chars.decode(ids).split(" ")) == 2
        assert number_words(chars, ids) == [0, *[1] * len(between), 1, 1]


def test_an_unknown_piece_is_shown_and_its_name_in_the_text_is_not() -> None:
    chars = train_tokenizer([*TEXT, "<unk>"], kind="char", vocabulary_size=60)
    assert words_of(chars, chars.encode("a <unk> 龍")) == ["a", "<unk>", "⁇"]
    assert words_of(chars, "a <unk> 龍") == ["a", "<unk>", "龍"]
