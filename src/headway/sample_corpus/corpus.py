"""Generate the built-in Korean-English corpus and split it, all from one seed.

A fixed part of all pairings is held out: (verb, object), (adjective, noun) and (pattern, word). A
checksum of their names decides, whatever the seed. No sentence with a held-out pairing is in train,
valid or test_unseen; every sentence of test_compositional has at least one, of word forms that all
occur in train. The phrases that are
learned by heart, such as greetings and single nouns, are all in train.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

from headway.sample_corpus import (
    patterns_amounts,
    patterns_clauses,
    patterns_daily,
    patterns_events,
    patterns_places,
    patterns_talk,
    patterns_things,
)
from headway.sample_corpus.by_heart import PHRASE, by_heart
from headway.sample_corpus.grammar import Draw, Sentence
from headway.sample_corpus.lexicon import Entry, all_words, kind_of
from headway.sample_corpus.pattern_registry import PATTERNS

# Importing the pattern modules fills the registry; naming them here uses the imports.
_MODULES = (
    patterns_events, patterns_things, patterns_amounts, patterns_places, patterns_clauses,
    patterns_talk, patterns_daily,
)  # fmt: skip

TRAIN, VALID, UNSEEN, COMPOSITIONAL = 36_000, 500, 500, 500
# One pairing in this many is held out: of a verb or adjective with a noun, and of a pattern with a
# word. A sentence has more of the latter, so each kind is about half of the test.
_HELD_OUT_COLLOCATIONS = 12
_HELD_OUT_USES = 48


class SamplePair(NamedTuple):
    """One sentence in both languages and the name of its pattern."""

    korean: str
    english: str
    pattern: str


@dataclass(frozen=True, slots=True)
class SampleCorpus:
    """The four splits; no sentence of one split is in another."""

    train: tuple[SamplePair, ...]
    valid: tuple[SamplePair, ...]
    test_unseen: tuple[SamplePair, ...]
    test_compositional: tuple[SamplePair, ...]


@dataclass(frozen=True, slots=True)
class Splits:
    """The splits with the words and pairings of each sentence, to check the claims above."""

    train: tuple[Sentence, ...]
    valid: tuple[Sentence, ...]
    test_unseen: tuple[Sentence, ...]
    test_compositional: tuple[Sentence, ...]


@cache
def is_held_out(pairing: tuple[str, str]) -> bool:
    """Return True if a pairing is kept out of train, by a checksum independent of the seed."""
    share = _HELD_OUT_USES if pairing[0] in PATTERNS else _HELD_OUT_COLLOCATIONS
    return zlib.crc32("+".join(pairing).encode()) % share == 0


def sentences(seed: int) -> Iterator[Sentence]:
    """Generate endless sentences, one per pattern in turn, with possible repeats."""
    rng = random.Random(seed)
    draws = {name: Draw(name, random.Random(rng.random())) for name in PATTERNS}
    while True:
        for name, build in PATTERNS.items():
            draw = draws[name]
            draw.start()
            yield build(draw)


def word_forms(korean: str) -> list[str]:
    """Return the words of a sentence with their particles and endings, without marks."""
    return [word.strip(".,?!") for word in korean.split()]


def build_splits(seed: int = 1) -> Splits:
    """Generate and split the corpus, with the words and pairings of each sentence."""
    plain: list[Sentence] = []
    held: list[Sentence] = []
    phrases = list(by_heart())
    seen = {phrase.korean for phrase in phrases}
    learned = TRAIN - len(phrases)
    wanted = learned + VALID + UNSEEN
    for sentence in sentences(seed):
        if sentence.korean in seen:
            continue
        if len(plain) == wanted:
            break
        seen.add(sentence.korean)
        novel = any(map(is_held_out, sentence.pairings))
        (held if novel else plain).append(sentence)
    rng = random.Random(seed)
    rng.shuffle(plain)
    train = [*phrases, *plain[:learned]]
    rng.shuffle(train)
    known = {form for sentence in train for form in word_forms(sentence.korean)}
    composed = (sentence for sentence in held if known.issuperset(word_forms(sentence.korean)))
    return Splits(
        tuple(train),
        tuple(plain[learned : learned + VALID]),
        tuple(plain[learned + VALID :]),
        tuple(islice(composed, COMPOSITIONAL)),
    )


def more_sentences(seed: int) -> Iterator[SamplePair]:
    """Generate endless pairs, which may be in the corpus, too."""
    return (SamplePair(s.korean, s.english, s.pattern) for s in sentences(seed))


def _pairs(split: tuple[Sentence, ...]) -> tuple[SamplePair, ...]:
    return tuple(SamplePair(s.korean, s.english, s.pattern) for s in split)


def build_sample_corpus(seed: int = 1) -> SampleCorpus:
    """Build the built-in corpus; the same seed gives the same corpus everywhere."""
    splits = build_splits(seed)
    return SampleCorpus(
        _pairs(splits.train),
        _pairs(splits.valid),
        _pairs(splits.test_unseen),
        _pairs(splits.test_compositional),
    )


def patterns() -> tuple[str, ...]:
    """Return the names of all sentence patterns."""
    return (*PATTERNS, PHRASE)


def words() -> tuple[Entry, ...]:
    """Return all dictionary entries of the sentences."""
    return tuple(Entry(word.korean, word.english, kind_of(word)) for word in all_words())
