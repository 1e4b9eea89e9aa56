"""A banned text is not written, whatever pieces could write it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.banned import BannedTexts
from headway.decoding.request import Request
from headway.decoding.rules import Past
from headway.errors import ConfigError

TEXT = ["the cat sat on the mat", "a category of cats", "concatenate the mats"] * 3
TOKENIZER = train_tokenizer(TEXT, kind="bpe", vocabulary_size=60)
BYTES = train_tokenizer(TEXT, kind="bpe", vocabulary_size=300, byte_fallback=True)


def text_of(tokenizer: Tokenizer, ids: list[int]) -> str:
    return "".join(tokenizer.pieces(ids)).replace("▁", " ")


@settings(max_examples=60)
@given(
    past=st.lists(st.integers(4, len(TOKENIZER) - 1), max_size=6),
    banned=st.sampled_from(["cat", " cat", "the mat", "at", " a", "s"]),
)
def test_a_piece_is_forbidden_exactly_when_it_would_complete_the_text(
    past: list[int], banned: str
) -> None:
    # The beginning of a translation is the beginning of a word.
    if banned in f" {text_of(TOKENIZER, past)}":
        return
    logits = torch.zeros(1, len(TOKENIZER))

    BannedTexts([banned], TOKENIZER).apply(logits, [Past(Request([4, 3], 9), past)])

    for piece in range(4, len(TOKENIZER)):
        completes = banned in f" {text_of(TOKENIZER, [*past, piece])}"
        assert (logits[0, piece] == -math.inf) == completes, TOKENIZER.pieces([piece])
    assert (logits[0, :4] == 0).all()


def test_bytes_cannot_spell_a_banned_text() -> None:
    spelled = [BYTES.id(f"<0x{byte:02X}>") for byte in b"cat"]
    logits = torch.zeros(1, len(BYTES))

    BannedTexts(["cat"], BYTES).apply(logits, [Past(Request([4, 3], 9), spelled[:2])])

    assert logits[0, spelled[2]] == -math.inf
    assert logits[0, BYTES.id("t")] == -math.inf
    assert logits[0, spelled[1]] == 0


@pytest.mark.parametrize("blank", [0x20, 0x0A], ids=hex)
def test_bytes_that_come_out_as_a_space_count_as_one(blank: int) -> None:
    written = [BYTES.id("▁the"), BYTES.id(f"<0x{blank:02X}>")]
    m, cat = BYTES.id("m"), [BYTES.id("c"), BYTES.id("a")]
    assert BYTES.decode([*written, m]) == "the m"
    logits = torch.zeros(2, len(BYTES))

    rule = BannedTexts(["the m", " cat"], BYTES)
    request = Request([4, 3], 9)
    rule.apply(logits, [Past(request, written), Past(request, [*written, *cat])])

    assert logits[0, m] == -math.inf
    assert logits[1, BYTES.id("t")] == -math.inf
    assert rule.occur_in([*written, m])
    assert not rule.occur_in([written[0], m])


def test_several_texts_are_forbidden_as_each_would_be() -> None:
    texts = ["cat", " a", "the mat", "s", " con"]
    pasts = [TOKENIZER.encode(text) for text in ("the ca", "the m", "", "a", "the cats on")]
    one_by_one, together = torch.zeros(2, len(pasts), len(TOKENIZER))
    rows = [Past(Request([4, 3], 9), ids) for ids in pasts]

    for text in texts:
        BannedTexts([text], TOKENIZER).apply(one_by_one, rows)
    BannedTexts(texts, TOKENIZER).apply(together, rows)

    assert torch.equal(one_by_one, together)
    assert (together == -math.inf).any(dim=1).all()


def test_a_word_is_banned_at_the_beginning_of_a_translation_too() -> None:
    rule = BannedTexts([" a"], TOKENIZER)
    logits = torch.zeros(1, len(TOKENIZER))
    rule.apply(logits, [Past(Request([4, 3], 9), [])])
    assert logits[0, TOKENIZER.id("a")] == logits[0, TOKENIZER.id("▁a")] == -math.inf
    assert rule.occur_in([TOKENIZER.id("a")])
    assert not rule.occur_in([TOKENIZER.id("c"), TOKENIZER.id("a")])


@pytest.mark.parametrize("text", ["", "  ", "\n"], ids=ascii)
def test_nothing_cannot_be_banned(text: str) -> None:
    with pytest.raises(ConfigError, match="contains no text that can be written"):
        BannedTexts([text], TOKENIZER)


def test_each_piece_that_begins_with_what_is_left_is_forbidden() -> None:
    pieces = BYTES.pieces(range(len(BYTES)))
    rule = BannedTexts(["cat"], BYTES)

    for done in (b"c", b"ca"):
        left = b"cat"[len(done) :].decode()
        spelled = {f"<0x{ord(left[0]):02X}>"} if len(left) == 1 else set()
        expected = [i for i, p in enumerate(pieces) if p.startswith(left) or p in spelled]
        assert sorted(rule._after[done]) == expected
