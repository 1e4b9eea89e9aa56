"""Sampling draws from the right distribution, reproducibly, and its limit is `encode`."""

import math
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.merges import BPESampler
from headway.data.sampling import build_sampler
from headway.data.segmentations import UnigramSampler
from headway.data.tokenizer import UNK_ID, Tokenizer, train_tokenizer
from headway.errors import ConfigError

RNG = random.Random(3)
WORDS = ["".join(RNG.choices("abcdé가나", k=RNG.randint(1, 6))) for _ in range(60)]
TEXTS = [" ".join(RNG.choices(WORDS, k=7)) for _ in range(200)]
words = st.text(alphabet="abcdé가나 xX½…<2>ko\t", max_size=25)


def make(kind: str, *, byte_fallback: bool = False, symbols: tuple[str, ...] = ()) -> Tokenizer:
    size = 44 + 256 * byte_fallback
    return train_tokenizer(
        TEXTS, kind=kind, vocabulary_size=size, byte_fallback=byte_fallback, symbols=symbols
    )  # pyright: ignore[reportArgumentType]


TOKENIZERS = {
    (kind, fallback): make(kind, byte_fallback=fallback, symbols=("<2ko>", "<2k>"))
    for kind in ("unigram", "bpe")
    for fallback in (False, True)
}


@pytest.mark.parametrize("fallback", [False, True])
@given(text=words)
def test_without_dropout_bpe_is_encode(fallback: bool, text: str) -> None:
    tokenizer = TOKENIZERS["bpe", fallback]
    assert BPESampler(tokenizer, 0.0).sample([text], 1).tolist() == [tokenizer.encode(text)]


@pytest.mark.parametrize("fallback", [False, True])
@given(text=words)
def test_a_sharp_unigram_is_as_probable_as_encode(fallback: bool, text: str) -> None:
    tokenizer = TOKENIZERS["unigram", fallback]
    sampler = UnigramSampler(tokenizer, 1e4)
    (sampled,), best = sampler.sample([text], 1).tolist(), tokenizer.encode(text)

    def score(ids: list[int]) -> float:
        return sum(sampler.scores[i] for i in ids if i in set(sampler.ids.values()))

    assert score(sampled) == pytest.approx(score(best), abs=1e-3)  # ties may fall differently
    assert tokenizer.decode(sampled) == tokenizer.decode(best)


@pytest.mark.parametrize(("kind", "fallback"), TOKENIZERS)
@given(text=words, seed=st.integers(0, 2**32 - 1))
def test_whatever_is_drawn_spells_the_same_text(
    kind: str, fallback: bool, text: str, seed: int
) -> None:
    tokenizer = TOKENIZERS[kind, fallback]
    sampler = build_sampler(tokenizer, 0.3)
    (ids,) = sampler.sample([text], seed).tolist()

    assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text))
    assert (UNK_ID in ids) == (UNK_ID in tokenizer.encode(text))
    assert [ids] == sampler.sample([text], seed).tolist()


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_each_segmentation_comes_with_its_probability(alpha: float) -> None:
    tokenizer = make("unigram")
    sampler = UnigramSampler(tokenizer, alpha)
    word = next(
        word for word in map(sampler.tokenizer.marked, WORDS)
        if 4 <= len(segmentations(sampler, word)) <= 9
    )  # fmt: skip
    weights = {
        tuple(ids): math.exp(alpha * sum(sampler.scores[i] for i in ids))
        for ids in segmentations(sampler, word)
    }
    draws = 20_000

    counts = Counter(map(tuple, sampler.sample([word.replace("▁", "")] * draws, 5).tolist()))

    assert set(counts) <= set(weights)
    for ids, weight in weights.items():
        share = weight / sum(weights.values())
        assert counts[ids] / draws == pytest.approx(share, abs=5 * math.sqrt(share / draws) + 1e-4)


def segmentations(sampler: UnigramSampler, word: str) -> list[list[int]]:
    """Return all ways to cut a word into known pieces."""
    if not word:
        return [[]]
    return [
        [sampler.ids[word[:end]], *rest]
        for end in range(1, len(word) + 1)
        if word[:end] in sampler.ids
        for rest in segmentations(sampler, word[end:])
    ]


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.95, 1.0])
def test_merges_are_left_out_as_in_a_plain_loop(dropout: float) -> None:
    sampler = BPESampler(make("bpe"), dropout)
    word = max(WORDS, key=lambda word: (len(sampler.sample([word], 1).row(0)) < 4, len(word)))
    draws, rng = 20_000, random.Random(5)

    counts = Counter(map(tuple, sampler.sample([word] * draws, 5).tolist()))
    expected = Counter(tuple(plain_merges(sampler, f"▁{word}", rng)) for _ in range(draws))

    assert len(expected) > 1 or dropout == 1.0
    for ids in {*counts, *expected}:
        spread = math.sqrt((counts[ids] + expected[ids]) / draws**2)
        assert counts[ids] / draws == pytest.approx(expected[ids] / draws, abs=5 * spread)


def plain_merges(sampler: BPESampler, word: str, rng: random.Random) -> list[int]:
    """Algorithm 1 of Provilkov et al. 2020, pair by pair."""
    pieces = list(word)
    while True:
        offered = [
            (sampler.scores[sampler.ids[left + right]], -place)
            for place, (left, right) in enumerate(pairwise(pieces))
            if left + right in sampler.ids and rng.random() >= sampler.dropout
        ]
        if not offered:
            return [sampler.ids[piece] for piece in pieces]
        place = -max(offered)[1]
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_words_are_drawn_each_by_itself(kind: str) -> None:
    sampler = build_sampler(TOKENIZERS[kind, False], 0.3)
    word = max(WORDS, key=len)

    twice = Counter(
        ids[: len(ids) // 2] == ids[len(ids) // 2 :]
        for ids in sampler.sample([f"{word} {word}"] * 300, 3).tolist()
    )

    assert 0 < twice[True] < 300


@pytest.mark.parametrize(("kind", "fallback"), TOKENIZERS)
@given(texts=st.lists(words, max_size=9), seed=st.integers(0, 99))
def test_each_text_has_its_own_row(kind: str, fallback: bool, texts: list[str], seed: int) -> None:
    tokenizer = TOKENIZERS[kind, fallback]
    rows = build_sampler(tokenizer, 0.3).sample(texts, seed)

    spelled = [tokenizer.decode(ids) for ids in rows.tolist()]
    assert spelled == [tokenizer.decode(tokenizer.encode(text)) for text in texts]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_more_text_than_is_cut_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = TOKENIZERS[kind, False]
    monkeypatch.setattr("headway.data.sampler._PORTION", 30)

    rows = build_sampler(tokenizer, 0.3).sample([*TEXTS[:20], "", "abcd" * 20, "ab"], 1)

    spelled = [tokenizer.decode(ids) for ids in rows.tolist()]
    assert spelled == [*TEXTS[:20], "", "abcd" * 20, "ab"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_another_process_draws_the_same(kind: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[kind, False]
    (tmp_path / "model").write_bytes(tokenizer.to_bytes())
    code = (
        "from headway.data.sampling import build_sampler; "
        "from headway.data.tokenizer import Tokenizer; import sys; "
        "sampler = build_sampler(Tokenizer.from_file(sys.argv[1]), 0.2); "
        "print(sampler.sample(sys.argv[2:], 7).tolist())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model"), *TEXTS[:9]]

    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == str(build_sampler(tokenizer, 0.2).sample(TEXTS[:9], 7).tolist())


@pytest.mark.parametrize("kind", ["word", "char"])
def test_one_way_to_cut_leaves_nothing_to_draw(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"A {kind} tokenizer has only one way"):
        build_sampler(make(kind), 0.1)
