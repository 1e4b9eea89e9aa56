"""Cuts text by chance into other pieces each time, reproducibly (subword regularization).

SentencePiece samples too, but from version 0.2.3 on its draws differ from process to process
whatever the seed, so that no run could be repeated or continued. Here the draws come from a
generator of ours, over the pieces and scores of its model: no piece spans two words, so words are
cut independently, and what there is to choose from is remembered for each word.
"""

import math
import random
import re
from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from headway.data.tokenizer import UNK_ID, USER_DEFINED, Tokenizer
from headway.errors import ConfigError

_SPACE = "▁"
_NORMAL, _BYTE = 1, 6
_UNKNOWN_PENALTY = 10.0  # SentencePiece's, below the lowest score of a piece
_REMEMBERED = 1 << 17  # words
_LONGEST_REMEMBERED = 20  # characters

Cut = list[int]


class Sampler(ABC):
    """Cuts words of one tokenizer by chance."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Read pieces and scores from the model."""
        table = list(tokenizer.table())
        self.tokenizer = tokenizer
        self.ids = {text: i for i, (text, _, kind) in enumerate(table) if kind == _NORMAL}
        self.scores = [score for _, score, _ in table]
        self.bytes = [i for i, (_, _, kind) in enumerate(table) if kind == _BYTE]
        self.longest = max(map(len, self.ids), default=1)
        if any(_SPACE in text[1:] for text in self.ids):
            raise ConfigError(
                "This tokenizer has pieces of several words, which cannot be sampled.",
                "Leave tokenizer.sampling out, or train a tokenizer with Headway.",
            )
        self.symbols = {t: i for i, (t, _, kind) in enumerate(table) if kind == USER_DEFINED}
        longest_first = sorted(self.symbols, key=len, reverse=True)
        self._cuts = re.compile(
            "|".join([*map(re.escape, longest_first), f"(?={_SPACE})"])
            if self.symbols
            else f"(?={_SPACE})"
        )

    def sample(self, texts: Sequence[str], seed: int) -> list[Cut]:
        """Return the piece ids of some texts; equal arguments give equal pieces, everywhere."""
        rng = random.Random(seed)
        return [self._sample(text, rng) for text in texts]

    def _sample(self, text: str, rng: random.Random) -> Cut:
        ids: Cut = []
        for word, symbol in self._words(self.tokenizer.marked(text)):
            for i in self.cut(word, rng) if word else ():
                if not (i == UNK_ID and ids and ids[-1] == UNK_ID):  # side by side they are one
                    ids.append(i)
            if symbol:
                ids.append(self.symbols[symbol])
        return ids

    def _words(self, text: str) -> list[tuple[str, str]]:
        """Return each word with the user-defined symbol that ends it, if one does."""
        found, start = [], 0
        for match in self._cuts.finditer(text):
            if match.start() > start or match[0]:
                found.append((text[start : match.start()], match[0]))
                start = match.end()
        return [*found, (text[start:], "")]

    def unknown(self, character: str) -> Cut:
        """Return the ids of a character that has no piece: of its bytes, or the unknown id."""
        return [self.bytes[value] for value in character.encode()] if self.bytes else [UNK_ID]

    @abstractmethod
    def cut(self, word: str, rng: random.Random) -> Cut:
        """Return the ids of one word, drawn by chance."""


class UnigramSampler(Sampler):
    """Draws among all segmentations, each with its probability to the power alpha.

    Kudo, "Subword Regularization" (2018), with all segmentations: forward filtering, backward
    sampling.
    """

    def __init__(self, tokenizer: Tokenizer, alpha: float) -> None:
        """Prepare to draw; a large alpha always finds the most probable segmentation."""
        super().__init__(tokenizer)
        self.alpha = alpha
        normal = [self.scores[i] for i in self.ids.values()]
        self._unknown_score = min(normal, default=0.0) - _UNKNOWN_PENALTY
        self._choices = lru_cache(_REMEMBERED)(self._prepare)

    def cut(self, word: str, rng: random.Random) -> Cut:
        """Walk back from the end of the word, one piece at a time."""
        # Where no spaces stand, whole sentences are words, and none comes twice.
        prepare = self._choices if len(word) <= _LONGEST_REMEMBERED else self._prepare
        choices = prepare(word)
        end, pieces = len(word), []
        while end > 0:
            starts, ids, weights = choices[end]
            chosen = bisect(weights, rng.random()) if len(ids) > 1 else 0
            pieces.append(ids[chosen])
            end = starts[chosen]
        return [i for piece in reversed(pieces) for i in piece]

    def _prepare(self, word: str) -> list[tuple[list[int], list[Cut], list[float]]]:
        """Return, for each place, the pieces that may end there: start, ids, summed weights."""
        forward = [0.0]  # logarithm of the summed weights of all ways to each place
        choices: list[tuple[list[int], list[Cut], list[float]]] = [([], [], [])]
        for end in range(1, len(word) + 1):
            starts, ids, logs = [], [], []
            for start in range(max(0, end - self.longest), end):
                if (i := self.ids.get(word[start:end])) is not None:
                    starts.append(start)
                    ids.append([i])
                    logs.append(forward[start] + self.alpha * self.scores[i])
            if word[end - 1] not in self.ids:
                starts.append(end - 1)
                ids.append(self.unknown(word[end - 1]))
                logs.append(forward[end - 1] + self.alpha * self._unknown_score)
            most = max(logs)
            weights = list(accumulate(math.exp(log - most) for log in logs))
            forward.append(most + math.log(weights[-1]))
            choices.append((starts, ids, [weight / weights[-1] for weight in weights[:-1]]))
        return choices


class BPESampler(Sampler):
    """Leaves out each merge with a certain probability.

    Provilkov et al., "BPE-Dropout" (2020). With probability 0 the pieces are those of `encode`.
    """

    def __init__(self, tokenizer: Tokenizer, dropout: float) -> None:
        """Prepare to draw."""
        super().__init__(tokenizer)
        self.dropout = dropout

    def cut(self, word: str, rng: random.Random) -> Cut:
        """Merge the best pair that is not left out, until none is left."""
        pieces = list(word)
        while True:
            best, place = -math.inf, -1
            for i, (left, right) in enumerate(pairwise(pieces)):
                merged = self.ids.get(left + right)
                if merged is None or self.scores[merged] <= best:
                    continue
                if self.dropout and rng.random() < self.dropout:
                    continue
                best, place = self.scores[merged], i
            if place < 0:
                break
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        known = ([self.ids[p]] if p in self.ids else self.unknown(p) for p in pieces)
        return [i for ids in known for i in ids]


def build_sampler(tokenizer: Tokenizer, alpha: float) -> Sampler:
    """Return what samples the pieces of a tokenizer: unigram by segmentation, bpe by merge.

    Raises ConfigError for a kind that has one way only to cut a text.
    """
    if tokenizer.kind == "unigram":
        return UnigramSampler(tokenizer, alpha)
    if tokenizer.kind == "bpe":
        return BPESampler(tokenizer, alpha)
    raise ConfigError(
        f"A {tokenizer.kind} tokenizer has one way only to cut a text.",
        "Leave tokenizer.sampling out, or let tokenizer.kind be unigram or bpe.",
    )
