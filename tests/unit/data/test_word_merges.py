"""Merges of subword-nmt: the definition of the paper, and what a tokenizer makes of them."""

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.encodable import encodable
from headway.data.sampling import build_sampler
from headway.data.tokenizer import UNK_ID, Tokenizer
from headway.data.vocabulary import add_pieces
from headway.data.word_merges import JOINED, WordMerges, joined
from headway.data.words import number_words, words_of
from headway.decoding.familiarity import pairs_within_words
from headway.errors import ConfigError, TokenizerError
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer

CODES = b"#version: 0.2\nl o\nlo w</w>\ne r</w>\nw er</w>\nlo w\n"
TOKENS = ["lo@@", "w", "l@@", "o@@", "er", "w@@", "low", "e@@", "wer", "low@@"]
SYMBOLS = ["a", "b", "ab", "a</w>", "b</w>", "ab</w>", "ba", "aab"]
PAIRS = st.lists(st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(SYMBOLS)), max_size=8)


def one_by_one(pairs: list[tuple[str, str]], word: str) -> list[str]:
    """Return the parts of a word by the definition: pair after pair, from the left."""
    symbols = [*word[:-1], word[-1] + "</w>"]
    while True:
        found = [(pairs.index(p), p) for p in pairwise(symbols) if p in pairs]
        if not found:
            return [s.removesuffix("</w>") for s in symbols]
        best = min(found)[1]
        at = 0
        while at < len(symbols) - 1:
            if (symbols[at], symbols[at + 1]) == best:
                symbols[at : at + 2] = ["".join(best)]
            at += 1


@given(PAIRS, st.text("ab", min_size=1, max_size=40))
def test_a_word_is_merged_as_defined(pairs: list[tuple[str, str]], word: str) -> None:
    *parts, last = one_by_one(pairs, word)
    assert list(WordMerges(pairs).cut(word)) == [*(part + JOINED for part in parts), last]


@given(PAIRS, st.text("ab é한▁  ", max_size=30), st.sets(st.sampled_from(["a@@", "b", "ab@@"])))
def test_tokens_join_to_the_words(
    pairs: list[tuple[str, str]], text: str, vocabulary: set[str]
) -> None:
    tokens = WordMerges(pairs, vocabulary).cut(text)
    assert joined(" ".join(tokens)) == " ".join(word for word in text.split(" ") if word)


def test_a_merge_whose_token_is_not_in_the_vocabulary_is_undone() -> None:
    merges = WordMerges.read(CODES, {"lo@@", "w", "er", "w@@"})

    assert list(merges.cut("low lower")) == ["lo@@", "w", "lo@@", "w@@", "er"]
    assert list(WordMerges.read(CODES).cut("low lower")) == ["low", "lo@@", "wer"]


@pytest.mark.parametrize(
    "codes",
    [
        CODES,
        b"l o 9\nlo w</w> 8\ne r</w> 7\nw er</w> 2\nlo w 1\n",
        CODES.replace(b"\n", b"\r\n"),
    ],
    ids=["nmt", "fastBPE", "Windows"],
)
def test_both_files_are_read_and_written(codes: bytes) -> None:
    merges = WordMerges.read(codes)

    assert merges.to_bytes() == CODES
    assert list(merges.cut(" lower  low lo ")) == ["lo@@", "wer", "low", "l@@", "o"]


@pytest.mark.parametrize("symbol", ["\u2028", "\x85", "\x1c"])
def test_codes_may_have_characters_that_end_lines_elsewhere(symbol: str) -> None:
    codes = f"#version: 0.2\na {symbol}\n".encode()
    merges = WordMerges.read(codes)

    assert merges.to_bytes() == codes
    assert list(merges.cut(f"a{symbol}b")) == [f"a{symbol}@@", "b"]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (b"", "empty"),
        (b"#version: 0.2\n", "empty"),
        (b"#version: 0.1\na b\n", "version: 0.1"),
        (b"#version: 0.2\na b 3\n", "Line 2"),
        (b"a b\n", "Line 1"),
        (b"a b c\n", "Line 1"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_other_files_are_refused(codes: bytes, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        WordMerges.read(codes)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return plain_tokenizer(TOKENS, "word", trimmed=True, merges=WordMerges.read(CODES))


def test_text_is_cut_and_joined(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("low lower  lw")

    assert tokenizer.pieces(ids) == ["▁low", "▁lo@@", "▁wer", "▁l@@", "▁w"]
    assert tokenizer.decode(ids) == tokenizer.normalize("low lower  lw") == "low lower lw"
    assert tokenizer.encode_batch(["low lower  lw", ""]) == [ids, []]
    assert tokenizer.kind == "bpe"
    assert tokenizer.has_word_merges


def test_the_places_of_words_are_known(tokenizer: Tokenizer) -> None:
    text = "low lower  lw"
    ids = tokenizer.encode(text)

    assert tokenizer.spelled(ids) == ["▁low", "▁lo", "wer", "▁l", "w"]
    assert tokenizer.stretches(text) == ["low", " lo", "wer", "  l", "w"]
    assert number_words(tokenizer, text) == number_words(tokenizer, ids) == [0, 1, 1, 2, 2]
    assert words_of(tokenizer, ids) == ["low", "lower", "lw"]
    assert list(pairs_within_words(tokenizer, ids)) == [(ids[1], ids[2]), (ids[3], ids[4])]


@given(st.text(max_size=20))
def test_any_text_has_its_tokens(tokenizer: Tokenizer, text: str) -> None:
    ids, stretches = tokenizer.encode(text), tokenizer.stretches(text)

    assert len(ids) == len(stretches) == len(tokenizer.written(text))
    assert "".join(stretches) == encodable(text).rstrip(" ")
    assert len(tokenizer.unknown_texts(text)) == ids.count(UNK_ID)


def test_the_merges_are_in_the_file(tokenizer: Tokenizer) -> None:
    for again in (
        Tokenizer.from_bytes(tokenizer.to_bytes()),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert again == tokenizer
        assert again.encode("lower") == tokenizer.encode("lower")


def test_limited_merges_stay_limited_in_the_file() -> None:
    tokenizer = plain_tokenizer(
        ["lo@@", "w", "er"], "word", merges=WordMerges.read(CODES), limited=True
    )
    again = Tokenizer.from_bytes(tokenizer.to_bytes())
    assert again.pieces(again.encode("low")) == ["▁lo@@", "▁w"]


def test_what_needs_sentencepiece_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ConfigError, match="cannot be sampled"):
        build_sampler(tokenizer, 0.1)
    with pytest.raises(ConfigError, match="cannot get new tokens"):
        add_pieces(tokenizer, ["<2de>"])
